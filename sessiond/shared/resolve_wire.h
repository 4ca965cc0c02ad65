/* SPDX-License-Identifier: ISC */
/*
 * resolve_wire.h - what /usr/lib/atelier/resolve says on its standard output.
 *
 * Whole records, each in one write and shorter than PIPE_BUF, so that none is mixed with another.
 * They come from a process that has parsed what a stranger wrote: every field is checked again.
 */
#ifndef ATELIER_RESOLVE_WIRE_H
#define ATELIER_RESOLVE_WIRE_H

#include <limits.h>
#include <stdint.h>

#define RESOLVE_MAGIC         0x52534c31u /* "RSL1" */
#define RESOLVE_ADDRESSES_MAX 32u
#define RESOLVE_NAMES_MAX     64u

enum resolve_state {
    RESOLVE_FOUND = 1,
    RESOLVE_EMPTY = 2,  /* there is no such name, or it has no address */
    RESOLVE_FAILED = 3, /* nobody answered, or not so that it can be understood */
};

struct resolve_address {
    uint32_t is_v6;    /* 0 or 1 */
    uint8_t bytes[16]; /* network order; of IPv4 the first 4 */
};

struct resolve_answer {
    uint32_t magic;
    uint32_t index; /* which of the names, from 0 */
    uint32_t state; /* enum resolve_state */
    uint32_t ttl_s; /* the least of all records */
    uint32_t count;
    uint32_t left_out; /* addresses for which there is no room */
    struct resolve_address addresses[RESOLVE_ADDRESSES_MAX];
};
_Static_assert(sizeof(struct resolve_answer) <= PIPE_BUF, "written at one stroke");

#endif
