/* SPDX-License-Identifier: ISC */
/* guard.c - the rules must hold while a run or session relies on them. */
#include "sessiond/monitor/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sessiond/monitor/canary.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/run.h"
#include "sessiond/monitor/session.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

struct guard {
    struct monitor *monitor;
    struct event *timer;
    struct canary_waiter waiter;
    bool is_asking;
};

static bool anybody_relies(const struct monitor *m)
{
    return run_any_public(m) || session_any(m);
}

static void on_verdict(void *arg, enum wire_canary verdict, const char *what)
{
    struct guard *g = arg;

    g->is_asking = false;
    if (verdict != WIRE_CANARY_LEAK || !anybody_relies(g->monitor))
        return;
    log_error("the network rules stopped to hold: %s; sessions and runs with net public end", what);
    run_kill_public(g->monitor);
    session_kill_unsafe(g->monitor);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct guard *g = arg;

    (void)fd;
    (void)what;
    if (g->is_asking || !anybody_relies(g->monitor))
        return;
    g->is_asking = true;
    canary_require(g->monitor->canary, &g->waiter);
}

int guard_new(struct monitor *m, struct guard **ret_guard)
{
    struct timeval tv = ms_timeval(GUARD_MS);
    struct guard *g = calloc(1, sizeof(*g));

    if (!g)
        return -ENOMEM;
    g->monitor = m;
    g->waiter = (struct canary_waiter){.fn = on_verdict, .arg = g};
    g->timer = event_new(m->base, -1, EV_PERSIST, on_timer, g);
    if (!g->timer || event_add(g->timer, &tv) < 0) {
        if (g->timer)
            event_free(g->timer);
        free(g);
        return -ENOMEM;
    }
    *ret_guard = g;
    return 0;
}
