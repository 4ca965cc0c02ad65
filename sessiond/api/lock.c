/* SPDX-License-Identifier: ISC */
/* lock.c - one at a time under the password lock of the host. */
#include "sessiond/api/lock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "sessiond/api/app.h"
#include "sessiond/api/clock.h"
#include "sessiond/api/core.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

struct job {
    STAILQ_ENTRY(job) link;
    lock_fn fn;
    void *arg;
};

struct lock_queue {
    struct app *app;
    STAILQ_HEAD(, job) jobs;
    bool is_asked; /* LOCK_TAKE is sent and not answered */
};

int lock_queue_new(struct app *app, struct lock_queue **ret_q)
{
    struct lock_queue *q = calloc(1, sizeof(*q));

    if (!q)
        return -ENOMEM;
    q->app = app;
    STAILQ_INIT(&q->jobs);
    *ret_q = q;
    return 0;
}

void lock_queue_free(struct lock_queue *q)
{
    free(q);
}

static void first_finish(struct lock_queue *q, int got)
{
    struct job *job = STAILQ_FIRST(&q->jobs);

    STAILQ_REMOVE_HEAD(&q->jobs, link);
    job->fn(job->arg, got, clock_mono_ms() + LOCK_HELD_MS);
    free(job);
}

/* Ask for the first job's turn. If that fails the line is going down, which ends all jobs. */
static void ask(struct lock_queue *q)
{
    if (!q->is_asked && !STAILQ_EMPTY(&q->jobs))
        q->is_asked = core_send_head(q->app->core, WIRE_LOCK_TAKE, 0) == 0;
}

int lock_queue_add(struct lock_queue *q, lock_fn fn, void *arg)
{
    struct job *job;

    if (!core_is_ready(q->app->core) || q->app->is_stopping)
        return -ENOTCONN;
    job = malloc(sizeof(*job));
    if (!job)
        return -ENOMEM;
    *job = (struct job){.fn = fn, .arg = arg};
    STAILQ_INSERT_TAIL(&q->jobs, job, link);
    ask(q);
    return 0;
}

void lock_queue_event(struct lock_queue *q, enum wire_type type)
{
    if (type == WIRE_LOCK_LOST) {
        log_warning("the password lock was held too long and is lost");
        return;
    }
    if (!q->is_asked) {
        log_warning("sessiond speaks of a lock that nobody asked for");
        return;
    }
    /* Still asked meanwhile: whatever the job does, no LOCK_TAKE goes out before LOCK_DROP. */
    if (type == WIRE_LOCK_TAKEN) {
        first_finish(q, 0);
        (void)core_send_head(q->app->core, WIRE_LOCK_DROP, 0);
    } else {
        first_finish(q, -EBUSY);
    }
    q->is_asked = false;
    ask(q);
}

void lock_queue_down(struct lock_queue *q)
{
    q->is_asked = false;
    while (!STAILQ_EMPTY(&q->jobs))
        first_finish(q, -ENOTCONN);
}
