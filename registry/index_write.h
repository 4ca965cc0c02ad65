/* SPDX-License-Identifier: ISC */
/*
 * index_write.h - write the index file of NSS (common/index_format.h).
 *
 * Three steps, so that a COMMIT fits between them: index_write() leaves a complete, fsynced
 * temporary file; index_rename() makes it the index; index_sweep() removes it instead. @dir_fd is
 * the directory of the index, owned by the effective user.
 */
#ifndef ATELIER_INDEX_WRITE_H
#define ATELIER_INDEX_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/index_format.h"

#define INDEX_TMP_NAME ".index.cdb.tmp"
#define INDEX_MODE     0644

struct index_member {
    uint32_t uid;
    uint32_t gid;
};

/* What the index says. All numbers in host byte order. */
struct index_rows {
    uint64_t generation;
    struct index_user *users; /* ascending uid */
    size_t user_count;
    struct index_group *groups; /* ascending gid; private groups are among them */
    size_t group_count;
    struct index_member *members; /* ascending uid, then gid; each uid is among the users */
    size_t member_count;
};

/**
 * index_write() - Write INDEX_TMP_NAME, mode 0644, and fsync it
 * @rows: Borrowed
 *
 * An older temporary file is replaced.
 *
 * Return: 0; -EBADMSG if the rows are out of order, out of range or badly named; -E2BIG if there
 * are too many; or a negative errno. After a failure the temporary file is gone.
 */
int index_write(int dir_fd, const struct index_rows *rows);

/* Rename INDEX_TMP_NAME to INDEX_FILE_NAME and fsync the directory. Return: 0 or -errno. */
int index_rename(int dir_fd);

/* Remove INDEX_TMP_NAME if it is there. Return: 0 or a negative errno. */
int index_sweep(int dir_fd);

/**
 * index_is_current() - Could NSS read this index, and is it of this generation?
 *
 * Looks at type, owner, mode and size of the file and at the meta record.
 *
 * Return: false also if the file is missing or cannot be read.
 */
bool index_is_current(int dir_fd, uint64_t generation);

#endif
