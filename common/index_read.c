/* SPDX-License-Identifier: ISC */
/*
 * index_read.c - look-ups in the index, for processes that are not ours.
 *
 * Order of one look-up, and why:
 *   1. lstat of the directory: who may replace the file. Its parent belongs to root, so it cannot
 *      be swapped between this step and the next.
 *   2. open, fstat: all that is said of the file is said of the descriptor that is read.
 *   3. one read of the header. A file whose size is not the one it was written with, or not the one
 *      that its counts make, is refused whole, before anything in it is believed. So positions
 *      below the counts are inside the file.
 *   4. by id: one read, of the entry. By name: one of a few slots and one of the entry, for the
 *      slot has half of the hash in it; more only where many names meet.
 * A read that comes back short (the file was cut meanwhile) is -EBADMSG.
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

#define INDEX_PATH_MAX 256u
/* One read of slots: half of them are empty, so it nearly always ends the search. */
#define SLOTS_BATCH 16u
/* One read of a listing, which has to get over ids that are not in use. */
#define ENTRIES_BATCH 32u

#define ENTRIES_AT sizeof(struct index_header)

static uint64_t slots_at(const struct index *ix)
{
    return ENTRIES_AT + (uint64_t)ix->entry_count * sizeof(struct index_entry);
}

static uint64_t gids_at(const struct index *ix)
{
    return slots_at(ix) + (uint64_t)ix->slot_count * sizeof(uint32_t);
}

/* Exactly @n bytes at @pos, or nothing. */
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
    if (st.st_size < (off_t)sizeof(struct index_header) || st.st_size > (off_t)INDEX_SIZE_MAX)
        return -EBADMSG;
    ix->size_bytes = (uint32_t)st.st_size;
    ix->fd = fd_take(&fd);
    return 0;
}

/* Each count in its limits, and all of them together the size of the file. */
static bool counts_are_right(const struct index *ix)
{
    if (ix->entry_count > INDEX_ENTRIES_MAX || ix->gid_count < 1 ||
        ix->gid_count > INDEX_GIDS_MAX || ix->slot_count < INDEX_SLOTS_MIN ||
        ix->slot_count > INDEX_SLOTS_MAX || (ix->slot_count & (ix->slot_count - 1)) != 0)
        return false;
    if (!id_is_allocatable(ix->id_first) || ix->entry_count > ID_ALLOC_MAX + 1 - ix->id_first)
        return false;
    return gids_at(ix) + (uint64_t)ix->gid_count * sizeof(uint32_t) == ix->size_bytes;
}

static int header_read(struct index *ix)
{
    struct index_header head;
    int r;

    r = bytes_read(ix, 0, &head, sizeof(head));
    if (r < 0)
        return r;
    if (memcmp(head.magic, INDEX_MAGIC, sizeof(head.magic)) != 0)
        return -EBADMSG;
    if (le32toh(head.version) != INDEX_VERSION)
        return -EPROTONOSUPPORT;
    if (le32toh(head.size_bytes) != ix->size_bytes)
        return -EBADMSG;
    ix->generation = le64toh(head.generation);
    ix->id_first = le32toh(head.id_first);
    ix->entry_count = le32toh(head.entry_count);
    ix->slot_count = le32toh(head.slot_count);
    ix->gid_count = le32toh(head.gid_count);
    return counts_are_right(ix) ? 0 : -EBADMSG;
}

int index_open(const char *dir, struct index *ret_ix)
{
    struct index ix = {.fd = -1};
    int r;

    r = file_open(dir, &ix);
    if (r < 0)
        return r;
    r = header_read(&ix);
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

/* --- entries ------------------------------------------------------------------------------- */

/* A few entries, the first of them number @i. The caller has compared with entry_count. */
static int entries_read(const struct index *ix, uint32_t i, struct index_entry *entries, size_t n)
{
    return bytes_read(ix, ENTRIES_AT + (uint64_t)i * sizeof(*entries), entries,
                      n * sizeof(*entries));
}

/* Return: 0 with a user or group, -ENOENT if the id is not in use, -EBADMSG, -errno of pread(2). */
static int entry_by_id(const struct index *ix, uint32_t id, struct index_entry *ret_entry)
{
    int r;

    if (!id_is_allocatable(id) || id < ix->id_first || id - ix->id_first >= ix->entry_count)
        return -ENOENT;
    r = entries_read(ix, id - ix->id_first, ret_entry, 1);
    if (r < 0)
        return r;
    return ret_entry->kind == INDEX_KIND_NONE ? -ENOENT : 0;
}

/* Return: 0 with number and entry, -ENOENT, -EBADMSG, -errno of pread(2). */
static int entry_by_name(const struct index *ix, const char *name, uint32_t *ret_id,
                         struct index_entry *ret_entry)
{
    uint32_t slots[SLOTS_BATCH], hash, slot, probes, n;
    char field[NAME_SIZE];
    int r;

    if (!name_is_valid(name) || str_copy(field, sizeof(field), name) < 0)
        return -ENOENT;
    hash = index_hash(name);
    slot = hash & (ix->slot_count - 1);
    /* Each slot is looked at once: a table without an empty slot ends the search, too. */
    for (probes = 0; probes < ix->slot_count && probes < INDEX_PROBES_MAX; probes += n) {
        n = ix->slot_count - slot < SLOTS_BATCH ? ix->slot_count - slot : SLOTS_BATCH;
        r = bytes_read(ix, slots_at(ix) + (uint64_t)slot * sizeof(*slots), slots,
                       n * sizeof(*slots));
        for (uint32_t i = 0; r == 0 && i < n; i++) {
            uint32_t value = le32toh(slots[i]), entry = (value & 0xffff) - 1;

            if (value == 0)
                return -ENOENT;
            if (value != index_slot(hash, entry))
                continue;
            if (entry >= ix->entry_count)
                return -EBADMSG;
            r = entries_read(ix, entry, ret_entry, 1);
            if (r == 0 && memcmp(ret_entry->name, field, sizeof(field)) == 0) {
                *ret_id = ix->id_first + entry;
                return 0;
            }
        }
        if (r < 0)
            return r;
        slot = (slot + n) & (ix->slot_count - 1);
    }
    return probes >= ix->slot_count ? -ENOENT : -EBADMSG;
}

/* --- what comes out ------------------------------------------------------------------------ */

/*
 * The only ways for a user or group out of this file. Nothing that fails here is handed on.
 * Return: 0, -ENOENT if the entry is of another kind, -EBADMSG if it cannot be.
 */
static int user_take(uint32_t id, const struct index_entry *e, struct index_user *ret_user)
{
    if (e->kind == INDEX_KIND_GROUP)
        return -ENOENT;
    if (e->kind != INDEX_KIND_USER || !id_is_allocatable(id) ||
        !name_is_valid_n(e->name, sizeof(e->name)))
        return -EBADMSG;
    ret_user->uid = ret_user->gid = id;
    ret_user->shell = e->shell;
    memcpy(ret_user->name, e->name, sizeof(ret_user->name));
    return 0;
}

static int group_take(uint32_t id, const struct index_entry *e, struct index_group *ret_group)
{
    if ((e->kind != INDEX_KIND_USER && e->kind != INDEX_KIND_GROUP) || !id_is_allocatable(id) ||
        !name_is_valid_n(e->name, sizeof(e->name)))
        return -EBADMSG;
    ret_group->gid = id;
    memcpy(ret_group->name, e->name, sizeof(ret_group->name));
    return 0;
}

int index_user_by_uid(const struct index *ix, uint32_t uid, struct index_user *ret_user)
{
    struct index_entry entry;
    int r = entry_by_id(ix, uid, &entry);

    return r < 0 ? r : user_take(uid, &entry, ret_user);
}

int index_user_by_name(const struct index *ix, const char *name, struct index_user *ret_user)
{
    struct index_entry entry;
    uint32_t id;
    int r = entry_by_name(ix, name, &id, &entry);

    return r < 0 ? r : user_take(id, &entry, ret_user);
}

int index_group_by_gid(const struct index *ix, uint32_t gid, struct index_group *ret_group)
{
    struct index_entry entry;
    int r = entry_by_id(ix, gid, &entry);

    return r < 0 ? r : group_take(gid, &entry, ret_group);
}

int index_group_by_name(const struct index *ix, const char *name, struct index_group *ret_group)
{
    struct index_entry entry;
    uint32_t id;
    int r = entry_by_name(ix, name, &id, &entry);

    return r < 0 ? r : group_take(id, &entry, ret_group);
}

/* The list at @at, which is not 0, into @list: the count and so many gids, as they are stored. */
static int list_read(const struct index *ix, uint32_t at, uint32_t list[1 + INDEX_GROUPS_MAX])
{
    uint32_t n = 1 + INDEX_GROUPS_MAX;
    int r;

    if (at >= ix->gid_count)
        return -EBADMSG;
    if (n > ix->gid_count - at)
        n = ix->gid_count - at;
    r = bytes_read(ix, gids_at(ix) + (uint64_t)at * sizeof(*list), list, n * sizeof(*list));
    if (r < 0)
        return r;
    return le32toh(list[0]) < n ? 0 : -EBADMSG;
}

int index_groups_of(const struct index *ix, const char *name, uint32_t ret_gids[INDEX_GROUPS_MAX],
                    size_t *ret_n)
{
    uint32_t list[1 + INDEX_GROUPS_MAX] = {0}, id, n;
    struct index_entry entry;
    struct index_user user;
    int r;

    r = entry_by_name(ix, name, &id, &entry);
    if (r == 0)
        r = user_take(id, &entry, &user);
    if (r == 0 && entry.gids_at != 0)
        r = list_read(ix, le32toh(entry.gids_at), list);
    if (r < 0)
        return r;
    n = le32toh(list[0]);
    /* All or nothing: one bad gid spoils the list. */
    for (uint32_t i = 1; i <= n; i++) {
        if (!id_is_allocatable(le32toh(list[i])))
            return -EBADMSG;
    }
    for (uint32_t i = 1; i <= n; i++)
        ret_gids[i - 1] = le32toh(list[i]);
    *ret_n = n;
    return 0;
}

/* --- listing ------------------------------------------------------------------------------- */

/* The first entry above @after that is of @kind or, for INDEX_KIND_NONE, in use at all. */
static int entry_next(const struct index *ix, uint32_t after, enum index_kind kind,
                      uint32_t *ret_id, struct index_entry *ret_entry)
{
    struct index_entry entries[ENTRIES_BATCH];
    uint32_t i = after < ix->id_first ? 0 : after - ix->id_first + 1, n;

    for (; i < ix->entry_count; i += n) {
        int r;

        n = ix->entry_count - i < ENTRIES_BATCH ? ix->entry_count - i : ENTRIES_BATCH;
        r = entries_read(ix, i, entries, n);
        if (r < 0)
            return r;
        for (uint32_t k = 0; k < n; k++) {
            if (entries[k].kind == INDEX_KIND_NONE ||
                (entries[k].kind == INDEX_KIND_GROUP && kind == INDEX_KIND_USER))
                continue;
            *ret_id = ix->id_first + i + k;
            *ret_entry = entries[k];
            return 0;
        }
    }
    return -ENOENT;
}

int index_user_next(const struct index *ix, uint32_t after, struct index_user *ret_user)
{
    struct index_entry entry;
    uint32_t id;
    int r = entry_next(ix, after, INDEX_KIND_USER, &id, &entry);

    return r < 0 ? r : user_take(id, &entry, ret_user);
}

int index_group_next(const struct index *ix, uint32_t after, struct index_group *ret_group)
{
    struct index_entry entry;
    uint32_t id;
    int r = entry_next(ix, after, INDEX_KIND_NONE, &id, &entry);

    return r < 0 ? r : group_take(id, &entry, ret_group);
}
