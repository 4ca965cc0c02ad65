/* SPDX-License-Identifier: ISC */
/*
 * share.h - how much of something that all use one user may have.
 *
 * As much as is left after it: one alone gets half, of two each a third, of k each 1/(k+1). So what
 * is free is never less than what the largest user has, and somebody who comes new finds room,
 * whoever was first. No user is known beforehand, and nobody waits in a line.
 */
#ifndef ATELIER_API_SHARE_H
#define ATELIER_API_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * share_has_room() - May somebody have @wanted more?
 * @all:    There is
 * @used:   By all, with @mine; at most @all
 * @mine:   By this user
 */
static inline bool share_has_room(size_t all, size_t used, size_t mine, size_t wanted)
{
    return used <= all && mine + wanted <= all - used;
}

#endif
