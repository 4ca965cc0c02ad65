/* SPDX-License-Identifier: ISC */
/*
 * net_limit.h - what is known of the table that counts and limits, and when to look at it again.
 *
 * Nothing that runs ends for it, and nothing is kept from starting: what participants may reach is
 * decided by other rules. Without it one user can take all of the kernel's room for connections,
 * which is said in the log, in `atelier status` and in `atelier net`.
 */
#ifndef ATELIER_NET_LIMIT_H
#define ATELIER_NET_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "sessiond/monitor/net_table.h"

#define NET_LIMIT_LOOK_MS 30000 /* between looks without news of the kernel, which always comes */

struct net_limit {
    bool is_held;         /* at the last look */
    bool is_known;        /* there was one */
    uint32_t connections; /* what it was then */
    int error;            /* why it is not held: a negative errno */
    int64_t since_us;     /* Unix microseconds of our last load; 0: it was there before us */
    uint32_t mends;       /* in a row */
    int64_t due_ms;
};

/* Is the table to be looked at now? */
bool net_limit_is_due(const struct net_limit *l, bool has_news);

/* A look has ended that looked at the table, with @connections. */
void net_limit_seen(struct net_limit *l, const struct net_table *t, uint32_t connections);

#endif
