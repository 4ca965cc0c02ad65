/* SPDX-License-Identifier: ISC */
/* cut.c - bound one output stream: head at once, tail in a ring. */
#include "sessiond/api/cut.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sessiond/api/text.h"

#include "common/banned.h"

void cut_init(struct cut *c, size_t limit_bytes)
{
    *c = (struct cut){.half = limit_bytes / 2};
}

void cut_done(struct cut *c)
{
    free(c->ring);
    *c = (struct cut){0};
}

static bool has_spilled(const struct cut *c)
{
    return c->total > c->live;
}

size_t cut_room(const struct cut *c)
{
    if (has_spilled(c) || c->live >= c->half)
        return 0;
    return c->half - (size_t)c->live;
}

void cut_pass(struct cut *c, size_t n)
{
    c->total += n;
    c->live += n;
}

void cut_unpass(struct cut *c, size_t n)
{
    c->total -= n;
    c->live -= n;
}

static void ring_write(struct cut *c, const char *data, size_t n)
{
    while (n > 0) {
        size_t at = (c->ring_start + c->ring_len) % c->half;
        size_t part = c->half - at < n ? c->half - at : n;
        size_t over;

        memcpy(c->ring + at, data, part);
        c->ring_len += part;
        over = c->ring_len > c->half ? c->ring_len - c->half : 0;
        c->ring_start = (c->ring_start + over) % c->half;
        c->ring_len -= over;
        data += part;
        n -= part;
    }
}

int cut_keep(struct cut *c, const char *data, size_t n)
{
    c->total += n;
    if (!c->ring) {
        c->ring = malloc(c->half);
        if (!c->ring)
            return -ENOMEM;
    }
    /* Only the last half of a long piece can survive. */
    if (n > c->half) {
        data += n - c->half;
        n = c->half;
    }
    ring_write(c, data, n);
    return 0;
}

uint64_t cut_dropped(const struct cut *c)
{
    return c->total - c->live - c->ring_len;
}

void cut_trim(struct cut *c)
{
    if (cut_dropped(c) == 0)
        return;
    for (size_t i = 0; i < UTF8_TAIL_MAX && c->ring_len > 0; i++) {
        if (((unsigned char)c->ring[c->ring_start] & 0xc0) != 0x80)
            return;
        c->ring_start = (c->ring_start + 1) % c->half;
        c->ring_len--;
    }
}

size_t cut_take(struct cut *c, char *buf, size_t max)
{
    size_t n = c->half - c->ring_start;

    if (c->ring_len == 0)
        return 0;
    if (n > c->ring_len)
        n = c->ring_len;
    if (n > max)
        n = max;
    memcpy(buf, c->ring + c->ring_start, n);
    c->ring_start = (c->ring_start + n) % c->half;
    c->ring_len -= n;
    c->live += n;
    return n;
}
