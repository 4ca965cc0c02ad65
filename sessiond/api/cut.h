/* SPDX-License-Identifier: ISC */
/*
 * cut.h - bound one output stream: the first half of the limit goes out at once, then the last
 * half is kept in a ring, and what lies between is dropped and counted.
 */
#ifndef ATELIER_API_CUT_H
#define ATELIER_API_CUT_H

#include <stddef.h>
#include <stdint.h>

struct cut {
    size_t half;    /* bytes; capacity of the head and of the ring */
    uint64_t total; /* bytes that came in */
    uint64_t live;  /* bytes that went out at once */
    char *ring;     /* NULL until needed; the pages come as they are written */
    size_t ring_start;
    size_t ring_len;
};

/* @limit_bytes: at least 2. Release with cut_done(). */
void cut_init(struct cut *c, size_t limit_bytes);
void cut_done(struct cut *c);

/* How many more bytes may go out at once; 0 as soon as cut_keep() was called. */
size_t cut_room(const struct cut *c);

/* Count bytes that went out at once, cut_room() at most. */
void cut_pass(struct cut *c, size_t n);

/* Count the last @n passed bytes as not passed: they are handed to cut_keep() instead. */
void cut_unpass(struct cut *c, size_t n);

/**
 * cut_keep() - Put bytes into the ring, over the oldest ones if it is full
 *
 * Return: 0, or -ENOMEM with the bytes counted as dropped.
 */
int cut_keep(struct cut *c, const char *data, size_t n);

/* Bytes that are neither passed nor in the ring. */
uint64_t cut_dropped(const struct cut *c);

/**
 * cut_trim() - After a gap, drop the rest of a character that the ring begins with
 *
 * Call once, before the first cut_take().
 */
void cut_trim(struct cut *c);

/* Move up to @max of the oldest bytes from the ring to @buf. They count as passed. */
size_t cut_take(struct cut *c, char *buf, size_t max);

#endif
