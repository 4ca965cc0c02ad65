/* SPDX-License-Identifier: ISC */
/*
 * index_format.h - the file that NSS reads: layout, version, keys.
 *
 * The index is a cdb file (https://cr.yp.to/cdb/cdb.txt): a table of 256 pairs, records, hash
 * tables; all numbers little-endian, 32 bits. registry/index_write.c writes it with TinyCDB,
 * common/index_read.c reads it in every process of the host. On top of plain cdb we ask:
 *
 *   - The FIRST record, at byte 2048, is the meta record: key "@", data struct index_meta. So the
 *     reader checks version and size without a hash look-up, and a torn file is refused whole.
 *   - Then all user records in ascending uid, then all group records in ascending gid, then the
 *     rest. A listing is a walk over the records, and its cursor is an id, not a position.
 *
 *   key                    data                     for
 *   '@'                    struct index_meta        version, generation, size
 *   'u' + uid  (4 bytes)   struct index_user        getpwuid, getpwent
 *   'n' + name             struct index_user        getpwnam
 *   'g' + gid  (4 bytes)   struct index_group       getgrgid, getgrent
 *   'G' + name             struct index_group       getgrnam
 *   'm' + name             gid (4 bytes) ...        initgroups: supplementary gids, ascending,
 *                                                   without the primary one
 *
 * A user's private group (gid == uid, same name) is a group record of its own. Groups have no
 * member list: membership is answered by initgroups alone. The home is not stored: it is
 * ATELIER_HOMES_DIR/NAME; the shell is a code. So no index, however forged, can name another
 * path, or an account outside ID_OUTER_MIN..ID_OUTER_MAX.
 *
 * The name is ATELIER_INDEX_PATH below a directory owned by the user `atelier`; it is only ever
 * replaced by rename(2), never written in place.
 */
#ifndef ATELIER_INDEX_FORMAT_H
#define ATELIER_INDEX_FORMAT_H

#include <stdint.h>

#include "common/str.h"

#define INDEX_DIR_NAME  "nss"
#define INDEX_FILE_NAME "index.cdb"

#define INDEX_META_OFFSET 2048u
#define INDEX_MAGIC       "ATELIDX1"
#define INDEX_VERSION     1u
/* Room for 50,000 users with private groups and 16 further groups each, several times over. */
#define INDEX_SIZE_MAX   (64u << 20)
#define INDEX_GROUPS_MAX 64u

/* All multi-byte fields are little-endian; the structs have no padding. */
struct index_meta {
    char magic[8];       /* INDEX_MAGIC, no NUL */
    uint32_t version;    /* INDEX_VERSION; a reader that knows another answers UNAVAIL */
    uint32_t size_bytes; /* size of the whole file */
    uint64_t generation; /* equals meta.generation in registry.db */
    uint32_t user_count;
    uint32_t group_count;
};

enum index_shell {
    INDEX_SHELL_ATELIER = 0, /* ATELIER_PROGRAMS_DIR/shell */
    INDEX_SHELL_NOLOGIN = 1, /* /usr/sbin/nologin */
};

struct index_user {
    uint32_t uid;
    uint32_t gid;
    uint32_t shell; /* enum index_shell; unknown codes read as NOLOGIN */
    char name[NAME_SIZE];
};

struct index_group {
    uint32_t gid;
    char name[NAME_SIZE];
};

_Static_assert(sizeof(struct index_meta) == 32, "index_meta has no padding");
_Static_assert(sizeof(struct index_user) == 44, "index_user has no padding");
_Static_assert(sizeof(struct index_group) == 36, "index_group has no padding");

#endif
