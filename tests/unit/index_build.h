/* SPDX-License-Identifier: ISC */
/* index_build.h - index files for tests, written by the book of index_format.h. */
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

/* What goes in; ids in host byte order. */
struct index_content {
    const struct index_user *users; /* ascending */
    size_t user_count;
    const struct index_group *groups; /* private ones need not, but may be among them */
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

/* Where the parts of a file begin, by its header. */
size_t entry_offset(const unsigned char *file, uint32_t id);
size_t slots_offset(const unsigned char *file);
size_t gids_offset(const unsigned char *file);

/* A field of the header, in host byte order. */
uint32_t header_get(const unsigned char *file, size_t field);
void header_set(unsigned char *file, size_t field, uint32_t value);
#define HEADER_GET(file, field)        header_get(file, offsetof(struct index_header, field))
#define HEADER_SET(file, field, value) header_set(file, offsetof(struct index_header, field), value)

/* Whole file into heap memory of the caller's; NULL on failure. */
unsigned char *file_load(const char *path, size_t *ret_size);

/*
 * A new file with these bytes, mode 0644. Not by rename: some file systems then write to the disk
 * at once, which thousands of files in a test would wait for. Return: 0 or a negative errno.
 */
int file_store(const char *path, const void *bytes, size_t size);

#endif
