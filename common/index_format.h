/* SPDX-License-Identifier: ISC */
/*
 * index_format.h - the file that NSS reads: layout, version, hash.
 *
 * One file of four parts, one after the other; all numbers little-endian:
 *
 *   header    struct index_header
 *   entries   struct index_entry, entry_count of them: one for each id from id_first on. The id is
 *             the position, so a file cannot say anything of an id outside the range
 *   slots     uint32_t, slot_count of them, a power of two and at least twice as many as there are
 *             names: hash table of the names, open addressing, linear probing from index_hash() on.
 *             0 is the end of a chain; else the upper half is that of the hash, the lower half the
 *             number of the entry + 1. Filled in ascending id
 *   gids      uint32_t, gid_count of them: lists of supplementary gids without the primary one, the
 *             count first, ascending. The first list is the empty one; equal lists are there once,
 *             in the order in which the entries name them
 *
 * So the same rows give the same bytes, and size_bytes follows from the counts.
 *
 * Users and groups share their names. A user's private group (gid == uid, same name) is the user's
 * own entry. Groups have no member list: membership is answered by initgroups alone. The home is
 * not stored: it is ATELIER_HOMES_DIR/NAME; the shell is a code. So no index, however forged, can
 * name another path, or an account outside ID_ALLOC_MIN..ID_ALLOC_MAX.
 *
 * A reader of version N looks at magic and version alone in a file of another version.
 *
 * The name is ATELIER_STATE_DIR/nss/index, in a directory owned by the user `atelier`; the file is
 * only ever replaced by rename(2), never written in place.
 */
#ifndef ATELIER_INDEX_FORMAT_H
#define ATELIER_INDEX_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "common/ids.h"
#include "common/str.h"

#define INDEX_DIR_NAME  "nss"
#define INDEX_FILE_NAME "index"
/* Of version 1, a cdb file. Removed at start, for a program with the old module would believe it.
 */
#define INDEX_OLD_NAME     "index.cdb"
#define INDEX_OLD_TMP_NAME ".index.cdb.tmp"

#define INDEX_MAGIC   "ATELIDX2"
#define INDEX_VERSION 2u

#define INDEX_ENTRIES_MAX (ID_ALLOC_MAX - ID_ALLOC_MIN + 1)
#define INDEX_SLOTS_MIN   16u
#define INDEX_SLOTS_MAX   (1u << 17)
#define INDEX_GROUPS_MAX  64u
#define INDEX_GIDS_MAX    (1u + INDEX_ENTRIES_MAX * (1u + INDEX_GROUPS_MAX))
/*
 * An honest chain is a few slots long, some dozens at the worst (half of the slots are empty). No
 * name is further from its first slot than this; a forged table holds nobody up for longer.
 */
#define INDEX_PROBES_MAX 1024u

/* The structs have no padding. */
struct index_header {
    char magic[8];       /* INDEX_MAGIC, no NUL */
    uint32_t version;    /* INDEX_VERSION; a reader that knows another answers UNAVAIL */
    uint32_t size_bytes; /* size of the whole file */
    uint64_t generation; /* equals meta.generation in registry.db */
    uint32_t id_first;
    uint32_t entry_count;
    uint32_t slot_count;
    uint32_t gid_count;
    unsigned char zero[24];
};

enum index_kind {
    INDEX_KIND_NONE = 0, /* no such id; the whole entry is zero */
    INDEX_KIND_USER = 1,
    INDEX_KIND_GROUP = 2,
};

enum index_shell {
    INDEX_SHELL_ATELIER = 0, /* ATELIER_PROGRAMS_DIR/shell */
    INDEX_SHELL_NOLOGIN = 1, /* /usr/sbin/nologin */
};

struct index_entry {
    uint8_t kind;  /* enum index_kind */
    uint8_t shell; /* enum index_shell; unknown codes read as NOLOGIN */
    uint8_t zero[2];
    uint32_t gids_at; /* where in the gids the list of this user begins; 0: none */
    char name[NAME_SIZE];
};

_Static_assert(sizeof(struct index_header) == 64, "index_header has no padding");
_Static_assert(sizeof(struct index_entry) == 40, "index_entry has no padding");
_Static_assert(INDEX_ENTRIES_MAX <= 0xffff, "the number of an entry + 1 is half a slot");
_Static_assert(INDEX_SLOTS_MAX >= 2 * INDEX_ENTRIES_MAX, "half of the slots are empty");

#define INDEX_SIZE_MAX                                                                             \
    (sizeof(struct index_header) + (size_t)INDEX_ENTRIES_MAX * sizeof(struct index_entry) +        \
     (size_t)INDEX_SLOTS_MAX * sizeof(uint32_t) + (size_t)INDEX_GIDS_MAX * sizeof(uint32_t))

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), the upper bits folded into the lower. */
static inline uint32_t index_hash(const char *name)
{
    uint32_t h = 2166136261u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h ^ h >> 15;
}

static inline uint32_t index_slot(uint32_t hash, uint32_t entry)
{
    return (hash & 0xffff0000u) | (entry + 1);
}

/* What the reader hands out, and the writer takes in. Host byte order. */
struct index_user {
    uint32_t uid;
    uint32_t gid;
    uint32_t shell; /* enum index_shell, or a code that is not known */
    char name[NAME_SIZE];
};

struct index_group {
    uint32_t gid;
    char name[NAME_SIZE];
};

#endif
