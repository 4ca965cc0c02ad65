/* SPDX-License-Identifier: ISC */
/*
 * index_image.c - the bytes of the index, made from rows.
 *
 * With every publication the whole file is made anew: 50,000 users are two and a half megabytes,
 * which are written in about a millisecond. What would take long, reading the rows, is done before.
 */
#include "registry/index_image.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/banned.h"

/* An image under construction. */
struct builder {
    const struct index_row *rows; /* of the entries: @rows[0] is that of @id_first */
    uint32_t id_first;
    uint32_t entry_count;
    uint32_t slot_count;
    uint32_t gid_count;  /* so far */
    uint32_t *gids;      /* room for those of all lists, were no two of them equal */
    uint32_t *lists;     /* hash table of the lists in @gids by their place; 0 is free */
    uint32_t list_slots; /* a power of two */
    uint32_t *gids_at;   /* of each entry */
};

static void builder_done(struct builder *b)
{
    free(b->gids);
    free(b->lists);
    free(b->gids_at);
}

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t n = INDEX_SLOTS_MIN;

    while (n < at_least)
        n *= 2;
    return n;
}

static int builder_init(struct builder *b, const struct index_rows *rows)
{
    size_t low = rows->low, high = rows->high, names = 0, gids = 1;

    while (low < high && rows->v[low].kind == INDEX_KIND_NONE)
        low++;
    while (low < high && rows->v[high - 1].kind == INDEX_KIND_NONE)
        high--;
    *b = (struct builder){.rows = rows->v ? rows->v + low : NULL, .gid_count = 1};
    b->entry_count = (uint32_t)(high - low);
    b->id_first = ID_ALLOC_MIN + (b->entry_count > 0 ? (uint32_t)low : 0);
    for (size_t i = 0; i < b->entry_count; i++) {
        names += b->rows[i].kind != INDEX_KIND_NONE;
        gids += b->rows[i].gids ? 1u + b->rows[i].gid_count : 0;
    }
    b->slot_count = power_of_two((uint32_t)(2 * names));
    b->list_slots = b->slot_count;
    b->gids = calloc(gids, sizeof(*b->gids));
    b->lists = calloc(b->list_slots, sizeof(*b->lists));
    b->gids_at = calloc(b->entry_count + 1, sizeof(*b->gids_at));
    return b->gids && b->lists && b->gids_at ? 0 : -ENOMEM;
}

/* --- lists --------------------------------------------------------------------------------- */

static uint32_t list_hash(const uint32_t *gids, size_t n)
{
    uint32_t h = (uint32_t)n;

    for (size_t i = 0; i < n; i++)
        h = (h ^ gids[i]) * 2654435761u;
    return h ^ h >> 15;
}

static bool list_is(const uint32_t *stored, const uint32_t *gids, size_t n)
{
    if (le32toh(stored[0]) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (le32toh(stored[1 + i]) != gids[i])
            return false;
    }
    return true;
}

/* Where the list of a row is among the gids; it is added if it is new. */
static uint32_t list_place(struct builder *b, const struct index_row *row)
{
    uint32_t slot, at;

    if (!row->gids)
        return 0;
    slot = list_hash(row->gids, row->gid_count) & (b->list_slots - 1);
    while (b->lists[slot] != 0) {
        if (list_is(b->gids + b->lists[slot], row->gids, row->gid_count))
            return b->lists[slot];
        slot = (slot + 1) & (b->list_slots - 1);
    }
    at = b->lists[slot] = b->gid_count;
    b->gids[b->gid_count++] = htole32(row->gid_count);
    for (size_t i = 0; i < row->gid_count; i++)
        b->gids[b->gid_count++] = htole32(row->gids[i]);
    return at;
}

static void lists_make(struct builder *b)
{
    for (uint32_t i = 0; i < b->entry_count; i++)
        b->gids_at[i] = list_place(b, &b->rows[i]);
}

/* --- the parts of the file ----------------------------------------------------------------- */

static unsigned char *header_put(const struct builder *b, uint64_t generation, size_t size,
                                 unsigned char *at)
{
    struct index_header head = {
        .version = htole32(INDEX_VERSION),
        .size_bytes = htole32((uint32_t)size),
        .generation = htole64(generation),
        .id_first = htole32(b->id_first),
        .entry_count = htole32(b->entry_count),
        .slot_count = htole32(b->slot_count),
        .gid_count = htole32(b->gid_count),
    };

    memcpy(head.magic, INDEX_MAGIC, sizeof(head.magic));
    memcpy(at, &head, sizeof(head));
    return at + sizeof(head);
}

static unsigned char *entries_put(const struct builder *b, unsigned char *at)
{
    /* The header is 64 bytes long, and malloc(3) aligns the whole. */
    struct index_entry *entries = (struct index_entry *)(void *)at;

    for (uint32_t i = 0; i < b->entry_count; i++) {
        entries[i].kind = b->rows[i].kind;
        entries[i].shell = b->rows[i].shell;
        entries[i].gids_at = htole32(b->gids_at[i]);
        memcpy(entries[i].name, b->rows[i].name, sizeof(entries[i].name));
    }
    return at + b->entry_count * sizeof(*entries);
}

/* One name into the table, at the end of its chain. */
static int slot_fill(const struct builder *b, uint32_t *slots, uint32_t entry)
{
    const char *name = b->rows[entry].name;
    uint32_t hash = b->rows[entry].hash, value = index_slot(hash, entry);

    for (uint32_t probes = 0; probes < INDEX_PROBES_MAX; probes++) {
        uint32_t *slot = &slots[(hash + probes) & (b->slot_count - 1)], there = le32toh(*slot);

        if (there == 0) {
            *slot = htole32(value);
            return 0;
        }
        if ((there ^ value) >> 16 == 0 &&
            memcmp(b->rows[(there & 0xffff) - 1].name, name, NAME_SIZE) == 0)
            return -EBADMSG;
    }
    return -E2BIG;
}

static int slots_put(const struct builder *b, unsigned char *at)
{
    uint32_t *slots = (uint32_t *)(void *)at;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < b->entry_count; i++) {
        if (b->rows[i].kind != INDEX_KIND_NONE)
            r = slot_fill(b, slots, i);
    }
    return r;
}

static int image_put(const struct builder *b, uint64_t generation, struct index_image *image)
{
    size_t gids_size = b->gid_count * sizeof(*b->gids);
    unsigned char *at = header_put(b, generation, image->size, image->bytes);
    int r;

    at = entries_put(b, at);
    r = slots_put(b, at);
    at += b->slot_count * sizeof(uint32_t);
    memcpy(at, b->gids, gids_size);
    assert(at + gids_size == image->bytes + image->size);
    return r;
}

int index_image_build(const struct index_rows *rows, uint64_t generation,
                      struct index_image *ret_image)
{
    struct index_image image = {0};
    struct builder b;
    int r = builder_init(&b, rows);

    if (r == 0) {
        lists_make(&b);
        image.size = sizeof(struct index_header) + b.entry_count * sizeof(struct index_entry) +
                     b.slot_count * sizeof(uint32_t) + b.gid_count * sizeof(uint32_t);
        image.bytes = calloc(1, image.size);
        r = image.bytes ? image_put(&b, generation, &image) : -ENOMEM;
    }
    builder_done(&b);
    if (r < 0)
        index_image_done(&image);
    else
        *ret_image = image;
    return r;
}

void index_image_done(struct index_image *image)
{
    free(image->bytes);
    *image = (struct index_image){0};
}
