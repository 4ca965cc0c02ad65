/* SPDX-License-Identifier: ISC */
/* lockout.c - end what a user has when they are locked or their time is over. */
#include "sessiond/api/lockout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sessiond/api/app.h"
#include "sessiond/api/clock.h"
#include "sessiond/api/core.h"
#include "sessiond/api/login.h"
#include "sessiond/api/run.h"
#include "sessiond/api/session.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* The timer counts on a clock that nobody sets, expiries are on one that somebody may. */
#define LOOK_S 30
/* After the second that an expiry names has begun, not just before. */
#define AFTER_US 2000

struct lockout {
    struct app *app;
    struct event *timer;
};

void lockout_user(struct app *app, uint32_t uid)
{
    struct wire_user_kill m = {.head = {.type = WIRE_USER_KILL}, .uid = uid};
    int r;

    run_table_lock(app->runs, uid);
    session_table_lock(app->sessions, uid);
    r = core_send(app->core, &m, sizeof(m), NULL, 0);
    if (r < 0)
        log_warning("sessiond could not be told to end a user's work: %s uid=%u",
                    strerrorname_np(-r), uid);
}

/* Whoever has a run or a session and may not have it any more. */
static void look_at(void *arg, uint32_t uid)
{
    struct app *app = arg;
    struct user user = {0};
    int r = user_by_uid(app->reg, uid, &user);

    if (r < 0 && r != -ENOENT) {
        log_error("a user's state could not be read: %s uid=%u", registry_error(app->reg), uid);
        return;
    }
    if (r == 0 && login_state_may(user.state))
        return;
    log_notice("user's work ends: %s user=%s uid=%u", r == 0 ? user_state_key(user.state) : "gone",
               r == 0 ? user.name : "?", uid);
    lockout_user(app, uid);
}

void lockout_rearm(struct lockout *l)
{
    int64_t next_s = 0, wait_us = (int64_t)LOOK_S * 1000000;
    struct timeval tv;

    if (user_next_expiry(l->app->reg, (int64_t)time(NULL), &next_s) < 0)
        log_error("the next expiry could not be read: %s", registry_error(l->app->reg));
    if (next_s > 0) {
        int64_t left_us = next_s * 1000000 + AFTER_US - clock_unix_us();

        if (left_us < 0)
            left_us = 0;
        if (left_us < wait_us)
            wait_us = left_us;
    }
    tv = (struct timeval){.tv_sec = (time_t)(wait_us / 1000000),
                          .tv_usec = (suseconds_t)(wait_us % 1000000)};
    (void)evtimer_add(l->timer, &tv);
}

void lockout_look(struct lockout *l)
{
    run_table_each_uid(l->app->runs, look_at, l->app);
    session_table_each_uid(l->app->sessions, look_at, l->app);
    lockout_rearm(l);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    lockout_look(arg);
}

int lockout_new(struct app *app, struct lockout **ret_lockout)
{
    struct lockout *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->app = app;
    l->timer = evtimer_new(app->base, on_timer, l);
    if (!l->timer) {
        free(l);
        return -ENOMEM;
    }
    lockout_rearm(l);
    *ret_lockout = l;
    return 0;
}

void lockout_free(struct lockout *l)
{
    if (!l)
        return;
    event_free(l->timer);
    free(l);
}
