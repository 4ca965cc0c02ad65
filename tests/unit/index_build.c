/* SPDX-License-Identifier: ISC */
/* index_build.c - index files for tests, written without the code that writes the real ones. */
#include "tests/unit/index_build.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

#define PATH_BYTES 512

/* The parts of the file, but for the header, as they will be in it. */
struct out {
    uint32_t first, count;
    struct index_entry *entries;
    uint32_t *slots, slot_count;
    uint32_t *gids, gid_count;
};

/* --- offsets ------------------------------------------------------------------------------- */

uint32_t header_get(const unsigned char *file, size_t field)
{
    uint32_t value;

    memcpy(&value, file + field, sizeof(value));
    return le32toh(value);
}

void header_set(unsigned char *file, size_t field, uint32_t value)
{
    value = htole32(value);
    memcpy(file + field, &value, sizeof(value));
}

size_t entry_offset(const unsigned char *file, uint32_t id)
{
    return 64 + (size_t)40 * (id - HEADER_GET(file, id_first));
}

size_t slots_offset(const unsigned char *file)
{
    return 64 + (size_t)40 * HEADER_GET(file, entry_count);
}

size_t gids_offset(const unsigned char *file)
{
    return slots_offset(file) + (size_t)4 * HEADER_GET(file, slot_count);
}

/* --- the file ------------------------------------------------------------------------------ */

/* Lowest and highest id that is in use; none is 10000, 9999. */
static void range_find(const struct index_content *c, uint32_t *ret_first, uint32_t *ret_last)
{
    uint32_t first = ~0u, last = 0;

    for (size_t i = 0; i < c->user_count; i++) {
        first = c->users[i].uid < first ? c->users[i].uid : first;
        last = c->users[i].uid > last ? c->users[i].uid : last;
    }
    for (size_t i = 0; i < c->group_count; i++) {
        first = c->groups[i].gid < first ? c->groups[i].gid : first;
        last = c->groups[i].gid > last ? c->groups[i].gid : last;
    }
    *ret_first = last == 0 ? 10000 : first;
    *ret_last = last == 0 ? 9999 : last;
}

static uint32_t list_add(struct out *o, const struct index_members *m)
{
    uint32_t at = o->gid_count;

    /* An equal list is found at its first place. */
    for (uint32_t k = 1; k < o->gid_count; k += 1 + le32toh(o->gids[k])) {
        uint32_t n = le32toh(o->gids[k]), same = n == m->gid_count;

        for (uint32_t i = 0; same && i < n; i++)
            same = le32toh(o->gids[k + 1 + i]) == m->gids[i];
        if (same)
            return k;
    }
    o->gids[o->gid_count++] = htole32((uint32_t)m->gid_count);
    for (size_t i = 0; i < m->gid_count; i++)
        o->gids[o->gid_count++] = htole32(m->gids[i]);
    return at;
}

static void slot_add(struct out *o, const char *name, uint32_t number)
{
    uint32_t hash = index_hash(name), slot = hash % o->slot_count;

    while (o->slots[slot] != 0)
        slot = (slot + 1) % o->slot_count;
    o->slots[slot] = htole32((hash & 0xffff0000u) + number + 1);
}

static void users_put(struct out *o, const struct index_content *c)
{
    for (size_t i = 0; i < c->user_count; i++) {
        const struct index_user *u = &c->users[i];
        struct index_entry *e = &o->entries[u->uid - o->first];

        e->kind = INDEX_KIND_USER;
        e->shell = (uint8_t)u->shell;
        memcpy(e->name, u->name, sizeof(e->name));
        for (size_t k = 0; k < c->member_count; k++) {
            if (strcmp(c->members[k].name, u->name) == 0 && c->members[k].gid_count > 0)
                e->gids_at = htole32(list_add(o, &c->members[k]));
        }
    }
}

static void groups_put(struct out *o, const struct index_content *c)
{
    for (size_t i = 0; i < c->group_count; i++) {
        struct index_entry *e = &o->entries[c->groups[i].gid - o->first];

        if (e->kind != INDEX_KIND_NONE)
            continue; /* private */
        e->kind = INDEX_KIND_GROUP;
        memcpy(e->name, c->groups[i].name, sizeof(e->name));
    }
}

static int out_write(const struct out *o, const struct index_content *c, int fd)
{
    const size_t entries = o->count * sizeof(*o->entries), slots = o->slot_count * 4u,
                 gids = o->gid_count * 4u;
    struct index_header head = {
        .version = htole32(c->version ? c->version : INDEX_VERSION),
        .size_bytes = htole32((uint32_t)(sizeof(head) + entries + slots + gids)),
        .generation = htole64(c->generation),
        .id_first = htole32(o->first),
        .entry_count = htole32(o->count),
        .slot_count = htole32(o->slot_count),
        .gid_count = htole32(o->gid_count),
    };
    int r;

    memcpy(head.magic, INDEX_MAGIC, sizeof(head.magic));
    r = fd_write_full(fd, &head, sizeof(head));
    if (r == 0)
        r = fd_write_full(fd, o->entries, entries);
    if (r == 0)
        r = fd_write_full(fd, o->slots, slots);
    return r < 0 ? r : fd_write_full(fd, o->gids, gids);
}

static int content_write(const struct index_content *c, int fd)
{
    struct out o = {.gid_count = 1, .slot_count = 16};
    uint32_t last, names = 0, gids = 1;
    int r = -ENOMEM;

    range_find(c, &o.first, &last);
    o.count = last + 1 - o.first;
    for (size_t i = 0; i < c->member_count; i++)
        gids += 1 + (uint32_t)c->members[i].gid_count;
    o.entries = calloc(o.count + 1, sizeof(*o.entries));
    o.gids = calloc(gids, sizeof(*o.gids));
    if (o.entries && o.gids) {
        users_put(&o, c);
        groups_put(&o, c);
        for (uint32_t i = 0; i < o.count; i++)
            names += o.entries[i].kind != INDEX_KIND_NONE;
        while (o.slot_count < 2 * names)
            o.slot_count *= 2;
        o.slots = calloc(o.slot_count, sizeof(*o.slots));
    }
    if (o.slots) {
        for (uint32_t i = 0; i < o.count; i++) {
            if (o.entries[i].kind != INDEX_KIND_NONE)
                slot_add(&o, o.entries[i].name, i);
        }
        r = out_write(&o, c, fd);
    }
    free(o.entries);
    free(o.slots);
    free(o.gids);
    return r;
}

static int file_make(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0)
        return -errno;
    if (fchmod(fd, 0644) < 0) {
        (void)close(fd);
        return -errno;
    }
    return fd;
}

int index_build(const char *path, const struct index_content *content)
{
    char temp[PATH_BYTES];
    cleanup_close int fd = -1;
    int r;

    if (snprintf(temp, sizeof(temp), "%s.tmp", path) >= PATH_BYTES)
        return -ENAMETOOLONG;
    (void)unlink(temp);
    fd = file_make(temp);
    if (fd < 0)
        return fd;
    r = content_write(content, fd);
    if (r == 0 && rename(temp, path) < 0)
        r = -errno;
    return r;
}

unsigned char *file_load(const char *path, size_t *ret_size)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    unsigned char *bytes;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return NULL;
    bytes = malloc((size_t)st.st_size + 1);
    if (bytes && fd_read_full(fd, bytes, (size_t)st.st_size, ret_size) < 0) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

int file_store(const char *path, const void *bytes, size_t size)
{
    cleanup_close int fd = -1;

    (void)unlink(path);
    fd = file_make(path);
    return fd < 0 ? fd : fd_write_full(fd, bytes, size);
}
