/* SPDX-License-Identifier: ISC */
/*
 * index_read.h - look-ups in the index (common/index_format.h), for processes that are not ours.
 *
 * Open, ask, close, within one call of the host's: nothing is kept between calls, nothing is
 * allocated, locked, logged or configured. The file is read with pread(2), not mapped: its owner
 * may be unprivileged, and a mapped file that its owner cuts short raises SIGBUS in root's
 * processes. Every answer is checked again after reading, so a forged file can swap our own users
 * among each other and cannot bring out an id outside ID_ALLOC_MIN..ID_ALLOC_MAX or a name that is
 * none of ours.
 */
#ifndef ATELIER_INDEX_READ_H
#define ATELIER_INDEX_READ_H

#include <stddef.h>
#include <stdint.h>

#include "common/index_format.h"

/* An open index. Plain memory of the caller's; only index_close() has to follow. */
struct index {
    int fd;
    uint32_t size_bytes;
    uint32_t id_first;
    uint32_t entry_count;
    uint32_t slot_count;
    uint32_t gid_count;
    uint64_t generation; /* equals meta.generation in registry.db */
};

/**
 * index_open() - Open the index of a directory, if it can be trusted
 * @dir:    Directory that holds INDEX_FILE_NAME, borrowed
 * @ret_ix: Owned by the caller, index_close()
 *
 * Asks of the directory: a directory, no symlink, not writable by group or others. Of the file: a
 * regular file with no second link, not writable by group or others, owned by root or by the owner
 * of the directory; the right magic, version and size. Never waits (a FIFO, or a lease that the
 * file's owner holds, is a failure and not a hang).
 *
 * Return: 0; -ENOENT if there is no index; -EPERM if kind, owner, mode or links are not as above;
 * -EPROTONOSUPPORT for another version; -EBADMSG for a torn or forged file; -ENAMETOOLONG; or the
 * errno of lstat(2), open(2), fstat(2) or pread(2).
 */
int index_open(const char *dir, struct index *ret_ix);

void index_close(struct index *ix);

/**
 * index_user_by_uid() - Find a user
 * @ret_user: Numbers in host byte order; name is a valid name
 *
 * Return: 0; -ENOENT if there is none, and without any read if the key could not be one of ours;
 * -EBADMSG if what was found cannot be, or the file is torn; -errno of
 * pread(2). All look-ups below return the same.
 */
int index_user_by_uid(const struct index *ix, uint32_t uid, struct index_user *ret_user);
int index_user_by_name(const struct index *ix, const char *name, struct index_user *ret_user);
int index_group_by_gid(const struct index *ix, uint32_t gid, struct index_group *ret_group);
int index_group_by_name(const struct index *ix, const char *name, struct index_group *ret_group);

/**
 * index_groups_of() - Supplementary groups of a user
 * @name:     User name, borrowed
 * @ret_gids: Room for INDEX_GROUPS_MAX ids
 * @ret_n:    How many there are, 0 for a user without any
 *
 * Return: as above; -ENOENT if the index has no such user.
 */
int index_groups_of(const struct index *ix, const char *name, uint32_t ret_gids[INDEX_GROUPS_MAX],
                    size_t *ret_n);

/**
 * index_user_next() - Listing: the user with the smallest uid above @after
 * @after: Last uid seen, 0 to begin
 *
 * The cursor is the id, so an index that is replaced between two calls neither repeats nor skips
 * anybody who is in both.
 *
 * Return: as above; -ENOENT at the end.
 */
int index_user_next(const struct index *ix, uint32_t after, struct index_user *ret_user);
int index_group_next(const struct index *ix, uint32_t after, struct index_group *ret_group);

#endif
