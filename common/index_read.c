/* SPDX-License-Identifier: ISC */
/*
 * index_read.c - look-ups in the index, for processes that are not ours.
 *
 * Order of one look-up, and why:
 *   1. lstat of the directory: who may replace the file. Its parent belongs to root, so it cannot
 *      be swapped between this step and the next.
 *   2. open, fstat: all that is said of the file is said of the descriptor that is read.
 *   3. one read of hash table positions and meta record (they are neighbours). A file whose size
 *      is not the one it was written with is refused whole, before anything in it is believed.
 *   4. one read of slots, one of the record; more only on collisions.
 * Positions and lengths from the file are checked in 64 bits against the size from fstat before
 * use; a read that comes back short (the file was cut meanwhile) is -EBADMSG.
 */
#include "common/index_read.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"

#include "common/banned.h"

/* A cdb record: length of key, length of data, key, data. A slot: hash, position of the record. */
#define HEAD_BYTES     8u
#define SLOT_BYTES     8u
#define ID_KEY_BYTES   5u
#define KEY_MAX        (1u + NAME_MAX_LEN)
#define DATA_MAX       (INDEX_GROUPS_MAX * 4u)
#define META_END       (INDEX_META_OFFSET + HEAD_BYTES + 1u + sizeof(struct index_meta))
#define INDEX_PATH_MAX 256u
/* One read of slots; our tables are half empty, so it nearly always ends the search. */
#define SLOTS_BATCH 8u
/*
 * An honest chain is a few slots long, some dozens at the worst (cdb's tables are half empty). The
 * limit keeps a forged table of millions of slots from holding up every process of the host.
 */
#define PROBES_MAX 4096u

_Static_assert(sizeof(struct index_user) <= DATA_MAX, "DATA_MAX is the largest data");
_Static_assert(sizeof(struct index_group) <= DATA_MAX, "DATA_MAX is the largest data");

static uint32_t u32_get(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

static void u32_put(unsigned char *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof(v));
}

/* Exactly @n bytes at @pos, inside the size that fstat gave, or nothing. */
static int bytes_read(const struct index *ix, uint64_t pos, void *buf, size_t n)
{
    ssize_t got;

    if (pos > ix->size_bytes || n > ix->size_bytes - pos)
        return -EBADMSG;
    got = pread(ix->fd, buf, n, (off_t)pos);
    if (got < 0)
        return -errno;
    return (size_t)got == n ? 0 : -EBADMSG;
}

/* --- open ---------------------------------------------------------------------------------- */

static bool is_closed_to_others(const struct stat *st)
{
    return (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int file_open(const char *dir, struct index *ix)
{
    char path[INDEX_PATH_MAX];
    size_t len = strlen(dir);
    struct stat dir_st, st;
    cleanup_close int fd = -1;

    if (len > sizeof(path) - sizeof("/" INDEX_FILE_NAME))
        return -ENAMETOOLONG;
    memcpy(path, dir, len);
    memcpy(path + len, "/" INDEX_FILE_NAME, sizeof("/" INDEX_FILE_NAME));

    if (lstat(dir, &dir_st) < 0)
        return -errno;
    if (!S_ISDIR(dir_st.st_mode) || !is_closed_to_others(&dir_st))
        return -EPERM;
    /* O_NONBLOCK: neither a FIFO nor a lease of the file's owner (fcntl(2)) can make us wait. */
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ELOOP ? -EPERM : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    /*
     * A second link would let the directory's owner put a file of root's in here. No link is right:
     * the index was replaced between open and fstat, which happens at every publication.
     */
    if (!S_ISREG(st.st_mode) || st.st_nlink > 1 || !is_closed_to_others(&st) ||
        (st.st_uid != 0 && st.st_uid != dir_st.st_uid))
        return -EPERM;
    if (st.st_size < (off_t)META_END || st.st_size > (off_t)INDEX_SIZE_MAX)
        return -EBADMSG;
    ix->size_bytes = (uint32_t)st.st_size;
    ix->fd = fd_take(&fd);
    return 0;
}

/* Room that the records of a listing take; they have one size each and stand side by side. */
#define USERS_AT           ((uint64_t)META_END)
#define USER_RECORD_BYTES  (HEAD_BYTES + ID_KEY_BYTES + sizeof(struct index_user))
#define GROUP_RECORD_BYTES (HEAD_BYTES + ID_KEY_BYTES + sizeof(struct index_group))

static uint64_t groups_at(const struct index *ix)
{
    return USERS_AT + (uint64_t)ix->user_count * USER_RECORD_BYTES;
}

static int head_read(struct index *ix)
{
    unsigned char head[META_END];
    const unsigned char *rec = head + INDEX_META_OFFSET;
    struct index_meta meta;
    int r;

    r = bytes_read(ix, 0, head, sizeof(head));
    if (r < 0)
        return r;
    if (u32_get(rec) != 1 || u32_get(rec + 4) != sizeof(meta) || rec[HEAD_BYTES] != '@')
        return -EBADMSG;
    memcpy(&meta, rec + HEAD_BYTES + 1, sizeof(meta));
    if (memcmp(meta.magic, INDEX_MAGIC, sizeof(meta.magic)) != 0)
        return -EBADMSG;
    if (le32toh(meta.version) != INDEX_VERSION)
        return -EPROTONOSUPPORT;
    if (le32toh(meta.size_bytes) != ix->size_bytes)
        return -EBADMSG;
    ix->generation = le64toh(meta.generation);
    ix->user_count = le32toh(meta.user_count);
    ix->group_count = le32toh(meta.group_count);
    if (groups_at(ix) + (uint64_t)ix->group_count * GROUP_RECORD_BYTES > ix->size_bytes)
        return -EBADMSG;
    memcpy(ix->tables, head, sizeof(ix->tables));
    return 0;
}

int index_open(const char *dir, struct index *ret_ix)
{
    struct index ix = {.fd = -1};
    int r;

    r = file_open(dir, &ix);
    if (r < 0)
        return r;
    r = head_read(&ix);
    if (r < 0) {
        index_close(&ix);
        return r;
    }
    *ret_ix = ix;
    return 0;
}

void index_close(struct index *ix)
{
    if (ix->fd >= 0)
        (void)close(ix->fd);
    ix->fd = -1;
}

/* --- hash look-up -------------------------------------------------------------------------- */

/* The hash of cdb (https://cr.yp.to/cdb/cdb.txt). */
static uint32_t key_hash(const unsigned char *key, size_t n)
{
    uint32_t h = 5381;

    for (size_t i = 0; i < n; i++)
        h = ((h << 5) + h) ^ key[i];
    return h;
}

/* Return: 0 with the data, -ENOENT if the record has another key, -EBADMSG. */
static int record_read(const struct index *ix, uint32_t pos, const unsigned char *key, size_t key_n,
                       unsigned char data[DATA_MAX], size_t *ret_n)
{
    unsigned char rec[HEAD_BYTES + KEY_MAX + DATA_MAX];
    size_t want = HEAD_BYTES + key_n + DATA_MAX;
    uint32_t data_n;
    int r;

    if (pos < INDEX_META_OFFSET || pos > ix->size_bytes - HEAD_BYTES)
        return -EBADMSG;
    if (want > ix->size_bytes - pos)
        want = ix->size_bytes - pos;
    r = bytes_read(ix, pos, rec, want);
    if (r < 0)
        return r;
    if (u32_get(rec) != key_n)
        return -ENOENT;
    data_n = u32_get(rec + 4);
    if (data_n > DATA_MAX || want < HEAD_BYTES + key_n || want - HEAD_BYTES - key_n < data_n)
        return -EBADMSG;
    if (memcmp(rec + HEAD_BYTES, key, key_n) != 0)
        return -ENOENT;
    memcpy(data, rec + HEAD_BYTES + key_n, data_n);
    *ret_n = data_n;
    return 0;
}

/* @key_n is at most KEY_MAX. Return: 0, -ENOENT, -EBADMSG, -errno of pread(2). */
static int record_find(const struct index *ix, const unsigned char *key, size_t key_n,
                       unsigned char data[DATA_MAX], size_t *ret_n)
{
    unsigned char slots[SLOTS_BATCH * SLOT_BYTES];
    uint32_t hash = key_hash(key, key_n);
    const unsigned char *table = ix->tables + (size_t)(hash & 255) * 8;
    uint32_t table_at = u32_get(table), count = u32_get(table + 4), slot, probes;
    int r;

    if (count == 0)
        return -ENOENT;
    if (table_at > ix->size_bytes || count > (ix->size_bytes - table_at) / SLOT_BYTES)
        return -EBADMSG;
    slot = (hash >> 8) % count;
    /* Each slot is looked at once: a table without an empty slot ends the search, too. */
    for (probes = 0; probes < count && probes < PROBES_MAX;) {
        uint32_t n = count - slot < SLOTS_BATCH ? count - slot : SLOTS_BATCH;

        r = bytes_read(ix, table_at + (uint64_t)slot * SLOT_BYTES, slots, n * SLOT_BYTES);
        if (r < 0)
            return r;
        for (uint32_t i = 0; i < n && probes < count; i++, probes++) {
            uint32_t pos = u32_get(slots + i * SLOT_BYTES + 4);

            if (pos == 0)
                return -ENOENT;
            if (u32_get(slots + i * SLOT_BYTES) != hash)
                continue;
            r = record_read(ix, pos, key, key_n, data, ret_n);
            if (r != -ENOENT)
                return r;
        }
        slot = (slot + n) % count;
    }
    return probes == count ? -ENOENT : -EBADMSG;
}

static int find_by_id(const struct index *ix, unsigned char tag, uint32_t id,
                      unsigned char data[DATA_MAX], size_t *ret_n)
{
    unsigned char key[ID_KEY_BYTES];

    if (!id_is_allocatable(id))
        return -ENOENT;
    key[0] = tag;
    u32_put(key + 1, id);
    return record_find(ix, key, sizeof(key), data, ret_n);
}

static int find_by_name(const struct index *ix, unsigned char tag, const char *name,
                        unsigned char data[DATA_MAX], size_t *ret_n)
{
    unsigned char key[KEY_MAX];
    size_t len;

    if (!name_is_valid(name))
        return -ENOENT;
    len = strlen(name);
    key[0] = tag;
    memcpy(key + 1, name, len);
    return record_find(ix, key, 1 + len, data, ret_n);
}

/* --- what comes out ------------------------------------------------------------------------ */

/* The only ways for a user or group out of this file. Nothing that fails here is handed on. */
static int user_take(const unsigned char *data, size_t n, struct index_user *ret_user)
{
    struct index_user user;

    if (n != sizeof(user))
        return -EBADMSG;
    memcpy(&user, data, sizeof(user));
    user.uid = le32toh(user.uid);
    user.gid = le32toh(user.gid);
    user.shell = le32toh(user.shell);
    if (!id_is_allocatable(user.uid) || !id_is_outer(user.gid) ||
        !name_is_valid_n(user.name, sizeof(user.name)))
        return -EBADMSG;
    *ret_user = user;
    return 0;
}

static int group_take(const unsigned char *data, size_t n, struct index_group *ret_group)
{
    struct index_group group;

    if (n != sizeof(group))
        return -EBADMSG;
    memcpy(&group, data, sizeof(group));
    group.gid = le32toh(group.gid);
    if (!id_is_allocatable(group.gid) || !name_is_valid_n(group.name, sizeof(group.name)))
        return -EBADMSG;
    *ret_group = group;
    return 0;
}

int index_user_by_uid(const struct index *ix, uint32_t uid, struct index_user *ret_user)
{
    unsigned char data[DATA_MAX];
    struct index_user user;
    size_t n;
    int r;

    r = find_by_id(ix, 'u', uid, data, &n);
    if (r == 0)
        r = user_take(data, n, &user);
    if (r < 0)
        return r;
    if (user.uid != uid)
        return -EBADMSG;
    *ret_user = user;
    return 0;
}

int index_user_by_name(const struct index *ix, const char *name, struct index_user *ret_user)
{
    unsigned char data[DATA_MAX];
    struct index_user user;
    size_t n;
    int r;

    r = find_by_name(ix, 'n', name, data, &n);
    if (r == 0)
        r = user_take(data, n, &user);
    if (r < 0)
        return r;
    if (strcmp(user.name, name) != 0)
        return -EBADMSG;
    *ret_user = user;
    return 0;
}

int index_group_by_gid(const struct index *ix, uint32_t gid, struct index_group *ret_group)
{
    unsigned char data[DATA_MAX];
    struct index_group group;
    size_t n;
    int r;

    r = find_by_id(ix, 'g', gid, data, &n);
    if (r == 0)
        r = group_take(data, n, &group);
    if (r < 0)
        return r;
    if (group.gid != gid)
        return -EBADMSG;
    *ret_group = group;
    return 0;
}

int index_group_by_name(const struct index *ix, const char *name, struct index_group *ret_group)
{
    unsigned char data[DATA_MAX];
    struct index_group group;
    size_t n;
    int r;

    r = find_by_name(ix, 'G', name, data, &n);
    if (r == 0)
        r = group_take(data, n, &group);
    if (r < 0)
        return r;
    if (strcmp(group.name, name) != 0)
        return -EBADMSG;
    *ret_group = group;
    return 0;
}

int index_groups_of(const struct index *ix, const char *name, uint32_t ret_gids[INDEX_GROUPS_MAX],
                    size_t *ret_n)
{
    unsigned char data[DATA_MAX];
    struct index_user user;
    size_t n;
    int r;

    r = index_user_by_name(ix, name, &user);
    if (r < 0)
        return r;
    r = find_by_name(ix, 'm', name, data, &n);
    if (r == -ENOENT) {
        *ret_n = 0;
        return 0;
    }
    if (r < 0)
        return r;
    if (n % 4 != 0)
        return -EBADMSG;
    /* All or nothing: one bad gid spoils the list. */
    for (size_t i = 0; i < n / 4; i++) {
        if (!id_is_allocatable(u32_get(data + i * 4)))
            return -EBADMSG;
    }
    for (size_t i = 0; i < n / 4; i++)
        ret_gids[i] = u32_get(data + i * 4);
    *ret_n = n / 4;
    return 0;
}

/* --- listing ------------------------------------------------------------------------------- */

/* Records of one kind: equal sizes, side by side, ascending ids. */
struct listing {
    uint64_t at;
    uint32_t count;
    uint32_t data_bytes;
    unsigned char tag;
};

/* Record number @i. Return: 0 with its data and the id in its key, -EBADMSG, -errno of pread(2). */
static int listing_read(const struct index *ix, const struct listing *l, uint32_t i,
                        unsigned char data[DATA_MAX], uint32_t *ret_id)
{
    unsigned char rec[HEAD_BYTES + ID_KEY_BYTES + DATA_MAX];
    size_t size = HEAD_BYTES + ID_KEY_BYTES + l->data_bytes;
    int r;

    r = bytes_read(ix, l->at + (uint64_t)i * size, rec, size);
    if (r < 0)
        return r;
    if (u32_get(rec) != ID_KEY_BYTES || u32_get(rec + 4) != l->data_bytes ||
        rec[HEAD_BYTES] != l->tag)
        return -EBADMSG;
    memcpy(data, rec + HEAD_BYTES + ID_KEY_BYTES, l->data_bytes);
    *ret_id = u32_get(rec + HEAD_BYTES + 1);
    return 0;
}

/* Does the record at @place, or the end, follow right after @after? The hint, put to the proof. */
static int place_prove(const struct index *ix, const struct listing *l, uint32_t after,
                       uint32_t place, bool *ret_is_right)
{
    unsigned char data[DATA_MAX];
    uint32_t id;
    int r;

    *ret_is_right = false;
    if (place > l->count)
        return 0;
    if (place > 0) {
        r = listing_read(ix, l, place - 1, data, &id);
        if (r < 0)
            return r;
        if (id > after)
            return 0;
    }
    if (place < l->count) {
        r = listing_read(ix, l, place, data, &id);
        if (r < 0)
            return r;
        if (id <= after)
            return 0;
    }
    *ret_is_right = true;
    return 0;
}

static int place_search(const struct index *ix, const struct listing *l, uint32_t after,
                        uint32_t *ret_place)
{
    unsigned char data[DATA_MAX];
    uint32_t low = 0, high = l->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2, id;
        int r = listing_read(ix, l, middle, data, &id);

        if (r < 0)
            return r;
        if (id > after)
            high = middle;
        else
            low = middle + 1;
    }
    *ret_place = low;
    return 0;
}

static int listing_next(const struct index *ix, const struct listing *l, uint32_t after,
                        uint32_t *place, unsigned char data[DATA_MAX], uint32_t *ret_id)
{
    bool is_right;
    int r;

    r = place_prove(ix, l, after, *place, &is_right);
    if (r == 0 && !is_right)
        r = place_search(ix, l, after, place);
    if (r < 0)
        return r;
    if (*place == l->count)
        return -ENOENT;
    r = listing_read(ix, l, *place, data, ret_id);
    if (r < 0)
        return r;
    /* Strictly upwards, even if the file was changed since the place was found: listings end. */
    return *ret_id > after ? 0 : -EBADMSG;
}

int index_user_next(const struct index *ix, uint32_t after, uint32_t place,
                    struct index_user *ret_user, uint32_t *ret_place)
{
    const struct listing l = {USERS_AT, ix->user_count, sizeof(*ret_user), 'u'};
    unsigned char data[DATA_MAX];
    struct index_user user;
    uint32_t id;
    int r;

    r = listing_next(ix, &l, after, &place, data, &id);
    if (r == 0)
        r = user_take(data, sizeof(user), &user);
    if (r < 0)
        return r;
    if (user.uid != id)
        return -EBADMSG;
    *ret_user = user;
    *ret_place = place + 1;
    return 0;
}

int index_group_next(const struct index *ix, uint32_t after, uint32_t place,
                     struct index_group *ret_group, uint32_t *ret_place)
{
    const struct listing l = {groups_at(ix), ix->group_count, sizeof(*ret_group), 'g'};
    unsigned char data[DATA_MAX];
    struct index_group group;
    uint32_t id;
    int r;

    r = listing_next(ix, &l, after, &place, data, &id);
    if (r == 0)
        r = group_take(data, sizeof(group), &group);
    if (r < 0)
        return r;
    if (group.gid != id)
        return -EBADMSG;
    *ret_group = group;
    *ret_place = place + 1;
    return 0;
}
