/* SPDX-License-Identifier: ISC */
/*
 * skill_tree.h - a directory of scripts: copied, hashed, removed.
 *
 * The hash is BLAKE2b of 32 bytes over "atelier skill 1\n" and, for each name in the order of
 * strcmp(3), directories before what is in them:
 *
 *   'd', 'f' or 'x' (a file that is executed), the path below the directory and a NUL,
 *   of files also the size as 8 bytes, the least significant first, and their bytes.
 *
 * Owner, times and all of the mode but the bit of execution do not count, and are not kept.
 */
#ifndef ATELIER_CTL_SKILL_TREE_H
#define ATELIER_CTL_SKILL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/skill.h"

#define SKILL_ENTRIES_MAX 4096u
#define SKILL_BYTES_MAX   (64ull << 20)
#define SKILL_DEPTH_MAX   16u

struct skill_tree {
    char hash[SKILL_HASH_SIZE];
    uint32_t files;
    uint64_t bytes; /* of files */
};

/**
 * skill_tree_take() - Hash a directory, and copy it if wanted
 * @from:  Directory
 * @to:    Empty directory of root that gets the copy, synced; -1: nothing is copied
 * @title: Path of @from, for messages, borrowed
 *
 * Regular files and directories of one file system only: no links, no devices, no set-id bits. A
 * copy has root as its owner and the modes 0755, 0555 and 0444. With @to -1 these are asked for: it
 * is a copy that is looked at.
 *
 * What is hashed is what was copied.
 *
 * Return: 0, -EINVAL (it cannot be a skill, and why has been said), or another negative errno, also
 * said.
 */
int skill_tree_take(int from, int to, const char *title, struct skill_tree *ret_tree);

/* Remove directory @name and what is in it. Return: 0 or a negative errno. */
int skill_tree_remove(int dir, const char *name);

#endif
