/* SPDX-License-Identifier: ISC */
/* index_build.h - index files for tests, written with TinyCDB by the book of index_format.h. */
#ifndef ATELIER_TEST_INDEX_BUILD_H
#define ATELIER_TEST_INDEX_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "common/index_format.h"

struct index_members {
    const char *name;
    const uint32_t *gids;
    size_t gid_count;
};

/* What goes in; ids in host byte order and ascending. */
struct index_content {
    const struct index_user *users;
    size_t user_count;
    const struct index_group *groups;
    size_t group_count;
    const struct index_members *members;
    size_t member_count;
    uint64_t generation;
    uint32_t version; /* 0: INDEX_VERSION */
};

/**
 * index_build() - Write @content to @path.tmp, mode 0644, and rename it over @path
 *
 * Return: 0 or a negative errno.
 */
int index_build(const char *path, const struct index_content *content);

/* Whole file into heap memory of the caller's; NULL on failure. */
unsigned char *file_load(const char *path, size_t *ret_size);

/*
 * A new file with these bytes, mode 0644. Not by rename: some file systems then write to the disk
 * at once, which thousands of files in a test would wait for. Return: 0 or a negative errno.
 */
int file_store(const char *path, const void *bytes, size_t size);

#endif
