/* SPDX-License-Identifier: ISC */
/* programs.h - the programs of e2fsprogs, with arguments of ours and no environment. */
#ifndef ATELIER_DISK_PROGRAMS_H
#define ATELIER_DISK_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * programs_make() - Make a file system in a file
 * @path:  Of numbers and words of ours
 * @files: As many at least
 *
 * Return: 0, -ENOENT (no mke2fs), or -EIO (it has said why).
 */
int programs_make(const char *path, uint32_t uid, uint64_t files);

/**
 * programs_check() - Look after a file system that nothing uses, and mend what is safe to mend
 * @is_forced: All of it, even if it was left clean
 *
 * Return: 0, -ENOENT (no e2fsck), or -EUCLEAN: somebody has to look at it.
 */
int programs_check(const char *path, bool is_forced);

/* Make it as large as its file. Return: 0 or a negative errno. */
int programs_grow(const char *path);

#endif
