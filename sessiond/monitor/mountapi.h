/* SPDX-License-Identifier: ISC */
/*
 * mountapi.h - the calls of the mount API that glibc 2.36 has no or late wrappers for.
 *
 * Source: open_tree(2), mount_setattr(2), move_mount(2), openat2(2); linux/mount.h,
 * linux/openat2.h.
 */
#ifndef ATELIER_MOUNTAPI_H
#define ATELIER_MOUNTAPI_H

#include <stdint.h>

/**
 * mount_clone() - Detached, private copy of the mount at a path or descriptor
 * @dirfd:     As of open_tree(2)
 * @path:      "" for @dirfd itself
 * @recursive: With all mounts below it
 * @attr_set:  MOUNT_ATTR_* to set on every one of them
 *
 * The mount must belong to the caller's own mount namespace.
 *
 * Return: descriptor, or a negative errno.
 */
int mount_clone(int dirfd, const char *path, int recursive, uint64_t attr_set);

/* Attach a detached mount at @target. Return: 0 or a negative errno. */
int mount_attach(int tree_fd, const char *target);

/* Set attributes of the one mount at @target. Return: 0 or a negative errno. */
int mount_restrict(const char *target, uint64_t attr_set);

/* open(2) that follows no symbolic link anywhere in @path. Return: descriptor or negative errno. */
int open_plain(const char *path, int flags);

/**
 * open_beneath() - openat2(2) that follows no link and crosses no mount
 * @flags: As of open(2); O_CLOEXEC is added
 *
 * Return: descriptor, or a negative errno.
 */
int open_beneath(int dirfd, const char *path, int flags);

/* The same of what may be mounted there, by root. */
int open_mounted(int dirfd, const char *path, int flags);

#endif
