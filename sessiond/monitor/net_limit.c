/* SPDX-License-Identifier: ISC */
/* net_limit.c - what is known of the table that counts and limits. */
#include "sessiond/monitor/net_limit.h"

#include <errno.h>
#include <time.h>

#include "common/sabotage.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* As often in a row it is put back at once; then news has to wait for the next look of all. */
#define MENDS_AT_ONCE 10u

bool net_limit_is_due(const struct net_limit *l, bool has_news)
{
    if (SABOTAGED("netlimit"))
        return false;
    /* A look that took too long was ended (-EINTR) before it had come to the table's end. */
    return !l->is_known || l->error == -EINTR || clock_ms() >= l->due_ms ||
           (has_news && l->mends < MENDS_AT_ONCE);
}

static int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void not_held(struct net_limit *l, const struct net_table *t)
{
    if (l->is_known && !l->is_held && l->error == t->error)
        return;
    log_warning("connections are neither counted nor limited by user: %s errno=%d",
                t->error == -ENOENT   ? "there is no nft (package nftables)"
                : t->error == -EAGAIN ? "somebody changes the table inet atelier again and again"
                                      : "the table inet atelier cannot be loaded",
                -t->error);
}

void net_limit_seen(struct net_limit *l, const struct net_table *t, uint32_t connections)
{
    bool was_held = l->is_known && l->is_held;
    bool is_mend = t->was_loaded && was_held && !t->is_new;

    if (t->was_reset)
        l->since_us = now_us();
    l->mends = is_mend ? l->mends + 1 : clock_ms() >= l->due_ms ? 0 : l->mends;
    if (!t->is_held)
        not_held(l, t);
    else if (is_mend && l->mends < MENDS_AT_ONCE)
        log_warning("somebody changed the table inet atelier; it is back%s",
                    t->was_reset ? ", and counts from 0" : "");
    else if (is_mend && l->mends == MENDS_AT_ONCE)
        log_warning("somebody changes the table inet atelier again and again; it is put back every "
                    "%d s",
                    NET_LIMIT_LOOK_MS / 1000);
    else if (!was_held || l->connections != connections)
        log_info("connections are counted and limited by user connections=%u%s", connections,
                 t->is_whole ? "" : " (destinations are not told)");
    l->is_known = true;
    l->is_held = t->is_held;
    l->error = t->error;
    l->connections = connections;
    /* News does not put off the next look without: who changes it all the time is slowed down. */
    if (clock_ms() >= l->due_ms)
        l->due_ms = clock_ms() + NET_LIMIT_LOOK_MS;
}
