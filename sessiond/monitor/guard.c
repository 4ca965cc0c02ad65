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
    STATE_ASKING,  /* the canary */
    STATE_LOOKING, /* it said leak: netkeep has a look */
};

struct guard {
    struct monitor *monitor;
    struct event *timer;
    struct canary_waiter waiter;
    enum state state;
    bool is_final;      /* the last look had nothing to put back, or could not: no other helps */
    int64_t leak_ms;    /* since when there is nothing but leaks; 0: there is none */
    int64_t looking_ms; /* since when */
    char what[WIRE_PATH_SIZE];
};

static bool anybody_relies(const struct monitor *m)
{
    return run_any_public(m) || session_any(m);
}

static void calm(struct guard *g)
{
    g->state = STATE_IDLE;
    g->is_final = false;
    g->leak_ms = 0;
}

static void end_all(struct guard *g)
{
    calm(g);
    log_error("the network rules stopped to hold: %s; sessions and runs with net public end",
              g->what);
    run_kill_public(g->monitor);
    session_kill_unsafe(g->monitor);
}

static void on_verdict(void *arg, enum wire_canary verdict, const char *what)
{
    struct guard *g = arg;
    int64_t now_ms = clock_ms();

    g->state = STATE_IDLE;
    if (verdict != WIRE_CANARY_LEAK || !anybody_relies(g->monitor)) {
        calm(g);
        return;
    }
    str_cut(g->what, sizeof(g->what), what);
    if (g->leak_ms == 0)
        g->leak_ms = now_ms;
    if (g->is_final || now_ms - g->leak_ms >= GUARD_LEAK_MS) {
        end_all(g);
        return;
    }
    g->state = STATE_LOOKING;
    g->looking_ms = now_ms;
    netkeep_require(g->monitor->netkeep);
}

/* May be answered before it returns. */
static void ask(struct guard *g)
{
    g->state = STATE_ASKING;
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
        ask(g);
    else if (g->state == STATE_LOOKING && clock_ms() - g->looking_ms >= GUARD_LOOK_MS)
        end_all(g);
}

void guard_kept(struct guard *g, bool is_final)
{
    if (g->state != STATE_LOOKING)
        return;
    g->is_final = is_final;
    canary_forget(g->monitor->canary);
    ask(g);
}

void guard_ask(struct guard *g)
{
    /* Who asks already gets an answer from after this; after a look it asks anyway. */
    if (g->state == STATE_IDLE && anybody_relies(g->monitor))
        ask(g);
}

int guard_new(struct monitor *m)
{
    struct timeval tv = ms_timeval(GUARD_MS);
    struct guard *g = calloc(1, sizeof(*g));

    if (!g)
        return -ENOMEM;
    g->monitor = m;
    /* That nobody can look at the rules is no reason to stop trying them. */
    g->waiter = (struct canary_waiter){.fn = on_verdict, .arg = g, .is_for_others = true};
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
