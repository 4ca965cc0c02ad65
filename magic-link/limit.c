/* SPDX-License-Identifier: ISC */
/*
 * limit.c - a token bucket for each name that was typed.
 *
 * Names come from strangers. Each is known by its SipHash under a key of this process alone: nobody
 * outside can make two names meet, in a chain of the table or in one bucket, and a name of any
 * length costs the same. The table has a fixed size, so that inventing names costs us nothing; it
 * makes us forget those that were tried longest ago, and an inventor has to be far faster than the
 * doors let anybody be to gain tries by it.
 */
#include "magic-link/limit.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/banned.h"

#define MINUTE_MS 60000u
#define CHAINS    LIMIT_NAMES_MAX
#define NOBODY    UINT16_MAX

_Static_assert(LIMIT_NAMES_MAX < NOBODY, "numbers of buckets are 16 bits");
_Static_assert((CHAINS & (CHAINS - 1)) == 0, "a power of two");

struct tag {
    uint8_t bytes[crypto_shorthash_siphashx24_BYTES];
};

struct bucket {
    struct tag tag;
    int64_t filled_ms; /* when level_ms was right */
    uint32_t level_ms;
    uint16_t chain;        /* next in its chain */
    uint16_t newer, older; /* by the last try */
};

struct limit {
    uint8_t key[crypto_shorthash_siphashx24_KEYBYTES];
    uint32_t cost_ms; /* a try costs the time in which it comes back */
    uint32_t full_ms;
    uint16_t used;           /* buckets[0..used) are taken */
    uint16_t newest, oldest; /* NOBODY: there is none */
    uint16_t chains[CHAINS];
    struct bucket buckets[LIMIT_NAMES_MAX];
};

struct limit *limit_new(uint32_t tries)
{
    struct limit *limit = calloc(1, sizeof(*limit));

    if (!limit)
        return NULL;
    randombytes_buf(limit->key, sizeof(limit->key));
    limit->cost_ms = MINUTE_MS / tries;
    limit->full_ms = limit->cost_ms * tries;
    limit->newest = limit->oldest = NOBODY;
    memset(limit->chains, 0xff, sizeof(limit->chains)); /* NOBODY */
    return limit;
}

void limit_free(struct limit *limit)
{
    if (!limit)
        return;
    sodium_memzero(limit->key, sizeof(limit->key));
    free(limit);
}

static struct tag tag_of(const struct limit *limit, const char *name)
{
    struct tag tag;

    (void)crypto_shorthash_siphashx24(tag.bytes, (const unsigned char *)name, strlen(name),
                                      limit->key);
    return tag;
}

static uint16_t *chain_of(struct limit *limit, const struct tag *tag)
{
    return &limit->chains[(tag->bytes[0] | (size_t)tag->bytes[1] << 8) & (CHAINS - 1)];
}

static uint16_t bucket_find(struct limit *limit, const struct tag *tag)
{
    uint16_t i = *chain_of(limit, tag);

    while (i != NOBODY && memcmp(&limit->buckets[i].tag, tag, sizeof(*tag)) != 0)
        i = limit->buckets[i].chain;
    return i;
}

/* --- the order of the last tries ------------------------------------------------------------ */

static void order_remove(struct limit *limit, uint16_t i)
{
    struct bucket *b = &limit->buckets[i];

    *(b->newer == NOBODY ? &limit->newest : &limit->buckets[b->newer].older) = b->older;
    *(b->older == NOBODY ? &limit->oldest : &limit->buckets[b->older].newer) = b->newer;
}

static void order_add(struct limit *limit, uint16_t i)
{
    struct bucket *b = &limit->buckets[i];

    b->newer = NOBODY;
    b->older = limit->newest;
    *(limit->newest == NOBODY ? &limit->oldest : &limit->buckets[limit->newest].newer) = i;
    limit->newest = i;
}

/* --- buckets ------------------------------------------------------------------------------- */

/* A bucket that nobody has: a new one, or the oldest, taken out of its chain and of the order. */
static uint16_t bucket_obtain(struct limit *limit)
{
    uint16_t i = limit->oldest, *at;

    if (limit->used < LIMIT_NAMES_MAX)
        return limit->used++;
    at = chain_of(limit, &limit->buckets[i].tag);
    while (*at != i)
        at = &limit->buckets[*at].chain;
    *at = limit->buckets[i].chain;
    order_remove(limit, i);
    return i;
}

static uint16_t bucket_add(struct limit *limit, const struct tag *tag, int64_t now_ms)
{
    uint16_t i = bucket_obtain(limit), *head = chain_of(limit, tag);

    limit->buckets[i] = (struct bucket){
        .tag = *tag, .filled_ms = now_ms, .level_ms = limit->full_ms, .chain = *head};
    *head = i;
    order_add(limit, i);
    return i;
}

static void bucket_fill(const struct limit *limit, struct bucket *b, int64_t now_ms)
{
    int64_t since_ms = now_ms > b->filled_ms ? now_ms - b->filled_ms : 0;

    b->level_ms = since_ms >= limit->full_ms - b->level_ms ? limit->full_ms
                                                           : b->level_ms + (uint32_t)since_ms;
    b->filled_ms = now_ms;
}

bool limit_take(struct limit *limit, const char *name, int64_t now_ms)
{
    struct tag tag = tag_of(limit, name);
    uint16_t i = bucket_find(limit, &tag);
    struct bucket *b;

    if (i == NOBODY) {
        i = bucket_add(limit, &tag, now_ms);
    } else {
        order_remove(limit, i);
        order_add(limit, i);
    }
    b = &limit->buckets[i];
    bucket_fill(limit, b, now_ms);
    if (b->level_ms < limit->cost_ms)
        return false;
    b->level_ms -= limit->cost_ms;
    return true;
}

void limit_give_back(struct limit *limit, const char *name)
{
    struct tag tag = tag_of(limit, name);
    uint16_t i = bucket_find(limit, &tag);
    struct bucket *b;

    if (i == NOBODY)
        return;
    b = &limit->buckets[i];
    b->level_ms = b->level_ms > limit->full_ms - limit->cost_ms ? limit->full_ms
                                                                : b->level_ms + limit->cost_ms;
}
