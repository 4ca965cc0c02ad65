/* SPDX-License-Identifier: ISC */
/* home_size.h - what a home that is a directory would take of an image. */
#ifndef ATELIER_CTL_HOME_SIZE_H
#define ATELIER_CTL_HOME_SIZE_H

#include <stdint.h>

struct home_size {
    uint64_t bytes; /* in blocks, holes left out */
    uint64_t holes; /* bytes in the files that take no blocks */
    uint64_t files; /* of all kinds, with the home itself; one with several names once */
};

/**
 * home_size() - Look at all that is in a directory
 * @path:    Absolute
 * @ret_why: On failure a sentence, heap
 *
 * Both are estimates: what file systems take for themselves differs, and who has a file open may
 * write to it.
 *
 * Return: 0; -EBUSY: something is mounted below it; or another negative errno.
 */
int home_size(const char *path, struct home_size *ret, char **ret_why);

/*
 * Holes take no room, but when the copy is compared tar(1) reads them, as so many zeros: a minute
 * for 20 to 60 GiB, and who makes them needs no room of his own. Meanwhile the home is held.
 */
#define HOME_HOLES_MAX ((uint64_t)64 << 30)

/* Would it fit, and be copied within a time? Return: 0, or -ENOSPC or -EFBIG with a sentence in
 * @ret_why, heap. */
int home_size_fits(const struct home_size *have, uint64_t bytes, uint64_t files, char **ret_why);

/**
 * home_size_has_room() - Has the file system of a directory room for as much besides?
 * @path: Of a directory, or of one that is still to be made
 *
 * Return: 0, or a negative errno with a sentence in @ret_why, heap.
 */
int home_size_has_room(const struct home_size *have, const char *path, char **ret_why);

#endif
