/* SPDX-License-Identifier: ISC */
/*
 * quota.h - the user quota of a file system, asked and set by a descriptor in it.
 *
 * Source: quotactl(2), with quotactl_fd of 5.14; linux/quota.h, linux/dqblk_xfs.h. What the kernel
 * answers counts, not the name of the file system or its options.
 */
#ifndef ATELIER_QUOTA_H
#define ATELIER_QUOTA_H

#include <stdint.h>

struct quota {
    uint64_t limit_bytes; /* hard; 0: none */
    uint64_t limit_files;
    uint64_t used_bytes;
    uint64_t used_files;
};

/**
 * quota_check() - Does the file system hold users to limits?
 * @fd: Anything on it that is open for reading
 *
 * Both is asked for: that use is counted, and that limits are enforced (ext4 with the feature
 * `quota` alone counts, and lets everybody pass).
 *
 * Return: 0, -EOPNOTSUPP (no), or another negative errno (could not find out).
 */
int quota_check(int fd);

/* Limits and use of a user. Return: 0 or a negative errno. */
int quota_get(int fd, uint32_t uid, struct quota *ret_quota);

/**
 * quota_set() - Give a user hard limits; the soft ones are taken away
 * @bytes: Rounded up to whole KiB
 *
 * Needs CAP_SYS_ADMIN. A limit below what is used takes nothing away.
 *
 * Return: 0 or a negative errno.
 */
int quota_set(int fd, uint32_t uid, uint64_t bytes, uint64_t files);

#endif
