/* SPDX-License-Identifier: ISC */
/* index_write.c - write the index file of NSS with TinyCDB. */
#include "registry/index_write.h"

#include <cdb.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"

#include "common/banned.h"

#define CDB_RECORD_HEAD 8u  /* lengths of key and data (cdb.txt) */
#define CDB_RECORD_SLOT 16u /* two slots of 8 bytes per record in the hash tables (cdb.txt) */
#define KEY_SIZE        (1u + NAME_SIZE)

/* One cdb under construction: the first errno is kept, and what follows it does nothing. */
struct writer {
    struct cdb_make cdb;
    int err;
};

static void record_add(struct writer *w, const void *key, size_t key_size, const void *data,
                       size_t data_size)
{
    if (w->err != 0)
        return;
    errno = 0;
    if (cdb_make_add(&w->cdb, key, (unsigned)key_size, data, (unsigned)data_size) != 0)
        w->err = errno > 0 ? -errno : -EIO;
}

static void record_add_by_id(struct writer *w, char kind, uint32_t id, const void *data,
                             size_t data_size)
{
    unsigned char key[1 + sizeof(uint32_t)] = {(unsigned char)kind};
    uint32_t le = htole32(id);

    memcpy(key + 1, &le, sizeof(le));
    record_add(w, key, sizeof(key), data, data_size);
}

static void record_add_by_name(struct writer *w, char kind, const char *name, const void *data,
                               size_t data_size)
{
    char key[KEY_SIZE] = {kind};
    size_t len = strnlen(name, NAME_MAX_LEN);

    memcpy(key + 1, name, len);
    record_add(w, key, 1 + len, data, data_size);
}

static size_t record_size(size_t key_size, size_t data_size)
{
    return CDB_RECORD_HEAD + key_size + data_size + CDB_RECORD_SLOT;
}

/* How many of @members from @from on are of one user. */
static size_t members_of(const struct index_rows *rows, size_t from)
{
    size_t n = 0;

    while (from + n < rows->member_count && rows->members[from + n].uid == rows->members[from].uid)
        n++;
    return n;
}

static const struct index_user *user_find(const struct index_rows *rows, uint32_t uid)
{
    size_t low = 0, high = rows->user_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (rows->users[mid].uid == uid)
            return &rows->users[mid];
        if (rows->users[mid].uid < uid)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* The registry is trusted, its file might be damaged: nothing goes to NSS unchecked. */
static int rows_check(const struct index_rows *rows)
{
    for (size_t i = 0; i < rows->user_count; i++) {
        const struct index_user *u = &rows->users[i];

        if (!id_is_outer(u->uid) || u->gid != u->uid ||
            !name_is_valid_n(u->name, sizeof(u->name)) || (i > 0 && u->uid <= u[-1].uid))
            return -EBADMSG;
    }
    for (size_t i = 0; i < rows->group_count; i++) {
        const struct index_group *g = &rows->groups[i];

        if (!id_is_outer(g->gid) || !name_is_valid_n(g->name, sizeof(g->name)) ||
            (i > 0 && g->gid <= g[-1].gid))
            return -EBADMSG;
    }
    for (size_t i = 0; i < rows->member_count; i++) {
        const struct index_member *m = &rows->members[i];

        if (!id_is_outer(m->gid) || !user_find(rows, m->uid) ||
            (i > 0 && (m->uid < m[-1].uid || (m->uid == m[-1].uid && m->gid <= m[-1].gid))))
            return -EBADMSG;
        if (i >= INDEX_GROUPS_MAX && m[-(ptrdiff_t)INDEX_GROUPS_MAX].uid == m->uid)
            return -E2BIG;
    }
    return 0;
}

/* Size of the finished file: known beforehand, because the first record holds it. */
static int rows_measure(const struct index_rows *rows, uint32_t *ret_bytes)
{
    const size_t id_key = 1 + sizeof(uint32_t);
    size_t bytes = INDEX_META_OFFSET + record_size(1, sizeof(struct index_meta));

    for (size_t i = 0; i < rows->user_count; i++)
        bytes += record_size(id_key, sizeof(struct index_user)) +
                 record_size(1 + strlen(rows->users[i].name), sizeof(struct index_user));
    for (size_t i = 0; i < rows->group_count; i++)
        bytes += record_size(id_key, sizeof(struct index_group)) +
                 record_size(1 + strlen(rows->groups[i].name), sizeof(struct index_group));
    for (size_t i = 0, n; i < rows->member_count; i += n) {
        const struct index_user *u = user_find(rows, rows->members[i].uid);

        n = members_of(rows, i);
        bytes += record_size(1 + (u ? strlen(u->name) : 0), n * sizeof(uint32_t));
    }
    if (bytes > INDEX_SIZE_MAX)
        return -E2BIG;
    *ret_bytes = (uint32_t)bytes;
    return 0;
}

static struct index_user user_to_le(const struct index_user *u)
{
    struct index_user le = *u;

    le.uid = htole32(u->uid);
    le.gid = htole32(u->gid);
    le.shell = htole32(u->shell);
    return le;
}

static struct index_group group_to_le(const struct index_group *g)
{
    struct index_group le = *g;

    le.gid = htole32(g->gid);
    return le;
}

static void members_add(struct writer *w, const struct index_rows *rows)
{
    for (size_t i = 0, n; i < rows->member_count; i += n) {
        const struct index_user *u = user_find(rows, rows->members[i].uid);
        uint32_t gids[INDEX_GROUPS_MAX];

        n = members_of(rows, i);
        for (size_t k = 0; k < n && k < INDEX_GROUPS_MAX; k++)
            gids[k] = htole32(rows->members[i + k].gid);
        if (u)
            record_add_by_name(w, 'm', u->name, gids, n * sizeof(gids[0]));
    }
}

/* All records, in the order that index_format.h promises. */
static void rows_add(struct writer *w, const struct index_rows *rows, uint32_t size_bytes)
{
    struct index_meta meta = {
        .version = htole32(INDEX_VERSION),
        .size_bytes = htole32(size_bytes),
        .generation = htole64(rows->generation),
        .user_count = htole32((uint32_t)rows->user_count),
        .group_count = htole32((uint32_t)rows->group_count),
    };

    memcpy(meta.magic, INDEX_MAGIC, sizeof(meta.magic));
    record_add(w, "@", 1, &meta, sizeof(meta));
    for (size_t i = 0; i < rows->user_count; i++) {
        struct index_user le = user_to_le(&rows->users[i]);

        record_add_by_id(w, 'u', rows->users[i].uid, &le, sizeof(le));
    }
    for (size_t i = 0; i < rows->group_count; i++) {
        struct index_group le = group_to_le(&rows->groups[i]);

        record_add_by_id(w, 'g', rows->groups[i].gid, &le, sizeof(le));
    }
    for (size_t i = 0; i < rows->user_count; i++) {
        struct index_user le = user_to_le(&rows->users[i]);

        record_add_by_name(w, 'n', le.name, &le, sizeof(le));
    }
    for (size_t i = 0; i < rows->group_count; i++) {
        struct index_group le = group_to_le(&rows->groups[i]);

        record_add_by_name(w, 'G', le.name, &le, sizeof(le));
    }
    members_add(w, rows);
}

static int file_fill(int fd, const struct index_rows *rows, uint32_t size_bytes)
{
    struct writer w = {0};
    struct stat st;

    errno = 0;
    if (cdb_make_start(&w.cdb, fd) != 0)
        w.err = errno > 0 ? -errno : -EIO;
    rows_add(&w, rows, size_bytes);
    /* Also after a failure: it frees what the records took. */
    errno = 0;
    if (cdb_make_finish(&w.cdb) != 0 && w.err == 0)
        w.err = errno > 0 ? -errno : -EIO;
    if (w.err != 0)
        return w.err;
    if (fchmod(fd, INDEX_MODE) < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size != (off_t)size_bytes)
        return -EIO;
    return fsync(fd) < 0 ? -errno : 0;
}

int index_write(int dir_fd, const struct index_rows *rows)
{
    cleanup_close int fd = -1;
    uint32_t size_bytes = 0;
    int r;

    r = index_sweep(dir_fd);
    if (r == 0)
        r = rows_check(rows);
    if (r == 0)
        r = rows_measure(rows, &size_bytes);
    if (r < 0)
        return r;
    fd = openat(dir_fd, INDEX_TMP_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = file_fill(fd, rows, size_bytes);
    if (r < 0)
        (void)index_sweep(dir_fd);
    return r;
}

int index_rename(int dir_fd)
{
    if (renameat(dir_fd, INDEX_TMP_NAME, dir_fd, INDEX_FILE_NAME) < 0)
        return -errno;
    return fsync(dir_fd) < 0 ? -errno : 0;
}

int index_sweep(int dir_fd)
{
    if (unlinkat(dir_fd, INDEX_TMP_NAME, 0) < 0 && errno != ENOENT)
        return -errno;
    return 0;
}

static bool file_is_ours(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & 07777) == INDEX_MODE &&
           st->st_nlink == 1;
}

bool index_is_current(int dir_fd, uint64_t generation)
{
    struct {
        unsigned char lengths[CDB_RECORD_HEAD];
        unsigned char key;
        unsigned char meta[sizeof(struct index_meta)];
    } first;
    cleanup_close int fd = -1;
    struct index_meta meta;
    struct stat st;

    _Static_assert(sizeof(first) == CDB_RECORD_HEAD + 1 + sizeof(meta), "no padding");
    fd = openat(dir_fd, INDEX_FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !file_is_ours(&st))
        return false;
    if (pread(fd, &first, sizeof(first), INDEX_META_OFFSET) != (ssize_t)sizeof(first))
        return false;
    memcpy(&meta, first.meta, sizeof(meta));
    return cdb_unpack(first.lengths) == 1 && cdb_unpack(first.lengths + 4) == sizeof(meta) &&
           first.key == '@' && memcmp(meta.magic, INDEX_MAGIC, sizeof(meta.magic)) == 0 &&
           le32toh(meta.version) == INDEX_VERSION &&
           (off_t)le32toh(meta.size_bytes) == st.st_size && le64toh(meta.generation) == generation;
}
