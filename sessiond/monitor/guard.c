/* SPDX-License-Identifier: ISC */
/* guard.c - the rules must hold while a run or session relies on them. */
#include "sessiond/monitor/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sessiond/monitor/canary.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/netkeep.h"
#include "sessiond/monitor/run.h"
#include "sessiond/monitor/session.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

enum state {
    STATE_IDLE,
    STATE_ASKING,       /* the canary */
    STATE_LOOKING,      /* it said leak: netkeep has a look */
    STATE_ASKING_AGAIN, /* the canary, after a look */
};

struct guard {
    struct monitor *monitor;
    struct event *timer;
    struct canary_waiter waiter;
    enum state state;
    int64_t looking_ms; /* since when */
    char what[WIRE_PATH_SIZE];
};

static bool anybody_relies(const struct monitor *m)
{
    return run_any_public(m) || session_any(m);
}

static void end_all(struct guard *g)
{
    g->state = STATE_IDLE;
    log_error("the network rules stopped to hold: %s; sessions and runs with net public end",
              g->what);
    run_kill_public(g->monitor);
    session_kill_unsafe(g->monitor);
}

static void on_verdict(void *arg, enum wire_canary verdict, const char *what)
{
    struct guard *g = arg;
    bool is_second = g->state == STATE_ASKING_AGAIN;

    g->state = STATE_IDLE;
    if (verdict != WIRE_CANARY_LEAK || !anybody_relies(g->monitor))
        return;
    str_cut(g->what, sizeof(g->what), what);
    if (is_second) {
        end_all(g);
        return;
    }
    g->state = STATE_LOOKING;
    g->looking_ms = clock_ms();
    netkeep_require(g->monitor->netkeep);
}

/* May be answered before it returns. */
static void ask(struct guard *g, enum state state)
{
    g->state = state;
    canary_require(g->monitor->canary, &g->waiter);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct guard *g = arg;

    (void)fd;
    (void)what;
    if (!anybody_relies(g->monitor))
        return;
    if (g->state == STATE_IDLE)
        ask(g, STATE_ASKING);
    else if (g->state == STATE_LOOKING && clock_ms() - g->looking_ms >= GUARD_LOOK_MS)
        end_all(g);
}

void guard_kept(struct guard *g)
{
    if (g->state != STATE_LOOKING)
        return;
    canary_forget(g->monitor->canary);
    ask(g, STATE_ASKING_AGAIN);
}

void guard_ask(struct guard *g)
{
    if (!anybody_relies(g->monitor))
        return;
    if (g->state == STATE_ASKING)
        g->state = STATE_ASKING_AGAIN;
    else if (g->state != STATE_ASKING_AGAIN)
        ask(g, STATE_ASKING_AGAIN);
}

int guard_new(struct monitor *m)
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
    m->guard = g;
    return 0;
}
