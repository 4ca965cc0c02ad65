/* SPDX-License-Identifier: ISC */
/* tar.h - start tar(1) on trees that others may have filled. */
#ifndef ATELIER_TAR_H
#define ATELIER_TAR_H

#include <spawn.h>

#define TAR "/usr/bin/tar"

/**
 * tar_start() - Start it, with an environment of our own
 * @argv:    TAR and its arguments, NULL at the end; borrowed
 * @actions: What becomes of its descriptors, borrowed
 *
 * It goes down a tree by recursion, and whoever filled the tree chose its depth: the usual 8 MiB of
 * stack end before 30,000 levels. It also keeps a path for each level, and must not take all of the
 * host's memory for that. Changes this process's limit of the stack for a moment.
 *
 * Return: 0 or a negative errno.
 */
int tar_start(const char *const *argv, const posix_spawn_file_actions_t *actions, pid_t *ret_pid);

/* Wait for its end. Return: its exit code, 128 + signal, or a negative errno. */
int tar_wait(pid_t pid);

#endif
