/* SPDX-License-Identifier: ISC */
/* lookup.h - the frame around one look-up, and the cursor of a listing. */
#ifndef ATELIER_NSS_LOOKUP_H
#define ATELIER_NSS_LOOKUP_H

#include <nss.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/index_read.h"

/* One call of the host's: the open index, and what has to be put back at the end. */
struct lookup {
    struct index index;
    bool is_open;
    int errno_before;
    int cancel_before;
};

/**
 * lookup_begin() - Hold off thread cancellation, remember errno, open the index
 *
 * lookup_end() must follow, whatever comes back.
 *
 * Return: 0 or the -errno of index_open().
 */
int lookup_begin(struct lookup *l);

/**
 * lookup_end() - Close, put everything back, and say what the result means to glibc
 * @r:      Result of lookup_begin() or of what came after it: 0, -ENOENT (no such entry),
 *          -ERANGE (buffer too small), another -errno (outage)
 * @errnop: Set for TRYAGAIN and UNAVAIL only
 */
enum nss_status lookup_end(struct lookup *l, int r, int *errnop);

/*
 * Where a listing stands: the last id. One per process and kind, as POSIX has it (a thread may go
 * on where another began). Atomic, because callers that go past glibc's lock exist, and because a
 * lock would be found locked for ever in the child of a fork.
 */
typedef _Atomic uint32_t listing_cursor;

/* The caller's buffer, filled from its start. */
struct room {
    char *at;
    size_t left;
};

/**
 * room_string() - Put a string made of two parts into the buffer
 * @tail: Second part, may be ""
 *
 * Return: the copy, or NULL if it does not fit.
 */
char *room_string(struct room *room, const char *head, const char *tail);

/* room_pointers() - An aligned array of @n pointers, all NULL; or NULL if it does not fit. */
char **room_pointers(struct room *room, size_t n);

#endif
