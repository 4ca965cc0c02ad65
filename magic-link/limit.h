/* SPDX-License-Identifier: ISC */
/* limit.h - how many tries a name has left in a minute, in memory only. */
#ifndef ATELIER_MAGIC_LINK_LIMIT_H
#define ATELIER_MAGIC_LINK_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define LIMIT_NAMES_MAX 4096u

struct limit;

/**
 * limit_new() - A table of names
 * @tries: That each has in a minute, 1..60000
 *
 * Return: owned by the caller, limit_free(); NULL if there is no memory.
 */
struct limit *limit_new(uint32_t tries);
void limit_free(struct limit *limit);

/**
 * limit_take() - Count a try
 * @name:   What counts as one: a name, or a name and where it came from
 * @now_ms: Monotonic milliseconds
 *
 * A name begins with all its tries, and gets one back every 60 / tries seconds. Of
 * LIMIT_NAMES_MAX names the one that was tried longest ago is forgotten for a new one.
 *
 * Return: true if the try is allowed; one that is not costs nothing.
 */
bool limit_take(struct limit *limit, const char *name, int64_t now_ms);

/* Give the last try of a name back: it was a good one. */
void limit_give_back(struct limit *limit, const char *name);

#endif
