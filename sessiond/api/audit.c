/* SPDX-License-Identifier: ISC */
/* audit.c - rows about runs, made durable in groups. */
#include "sessiond/api/audit.h"

#include <errno.h>
#include <stdlib.h>

#include "sessiond/api/app.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* The promise is 200 ms (DESIGN.md, "Runs"); the rest is for a loop that is busy. */
#define COMMIT_MS 150

struct audit {
    struct app *app;
    struct event *timer;
};

static void commit(struct audit *a)
{
    if (run_commit(a->app->reg) < 0)
        log_error("run audit could not be made durable: %s", registry_error(a->app->reg));
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    commit(arg);
}

int audit_new(struct app *app, struct audit **ret_audit)
{
    struct audit *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    a->app = app;
    a->timer = evtimer_new(app->base, on_timer, a);
    if (!a->timer) {
        free(a);
        return -ENOMEM;
    }
    *ret_audit = a;
    return 0;
}

void audit_free(struct audit *a)
{
    if (!a)
        return;
    commit(a);
    event_free(a->timer);
    free(a);
}

int audit_put(struct audit *a, const struct run_row *row)
{
    static const struct timeval soon = {.tv_usec = COMMIT_MS * 1000};
    int r = run_put(a->app->reg, row);

    if (r < 0)
        log_error("run audit could not be written: %s run=%s", registry_error(a->app->reg),
                  row->run_id);
    else if (!evtimer_pending(a->timer, NULL))
        (void)evtimer_add(a->timer, &soon);
    return r;
}
