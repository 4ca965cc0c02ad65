/* SPDX-License-Identifier: ISC */
/* locked.c - requests that wait for the password lock of the host. */
#include "sessiond/api/locked.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sessiond/api/lock.h"
#include "sessiond/api/nsswitch.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

struct waiting {
    struct request *rq;
    locked_fn fn;
    void (*done)(void *input);
    const char *what;
    max_align_t input[];
};

static void waiting_free(struct waiting *w)
{
    if (w->done)
        w->done(w->input);
    free(w);
}

static void refuse_busy(struct request *rq)
{
    request_refuse_with(
        rq, 503, STATUS_BUSY, NULL,
        "The password lock of the host (/etc/.pwd.lock) is held by others, or sessiond cannot open "
        "it: its journal says which.");
}

/* It was ours, and what had to be done under it took longer. */
static void refuse_late(struct request *rq)
{
    request_refuse_with(rq, 503, STATUS_BUSY, NULL,
                        "The password lock of the host is kept for a second at most, and this took "
                        "longer: nothing was stored. The host is busy, or it is too much at once.");
}

static void on_turn(void *arg, int got, int64_t deadline_ms)
{
    struct waiting *w = arg;
    struct hostcheck check = {.deadline_ms = deadline_ms};
    struct request *rq = w->rq;
    int r = got;

    if (got == 0)
        r = nsswitch_direct(NSSWITCH_FILE);
    if (got == 0 && r < 0)
        log_error("the sources of names could not be read: %s", strerrordesc_np(-r));
    if (r == 0)
        r = w->fn(rq, &check, w->input);
    if (got == -ENOTCONN)
        request_refuse_with(rq, 503, STATUS_INTERNAL, NULL, "sessiond is gone.");
    else if (got < 0)
        refuse_busy(rq);
    else if (r == -ETIMEDOUT)
        refuse_late(rq);
    else if (r < 0)
        request_fail_change(rq, r, w->what, registry_error(rq->app->reg));
    waiting_free(w);
}

void locked_run(struct request *rq, locked_fn fn, void *input, size_t size,
                void (*done)(void *input), const char *what)
{
    struct waiting *w = malloc(offsetof(struct waiting, input) + size);
    int r = -ENOMEM;

    if (w) {
        *w = (struct waiting){.rq = rq, .fn = fn, .done = done, .what = what};
        memcpy(w->input, input, size);
        r = lock_queue_add(rq->app->locks, on_turn, w);
    }
    if (r == 0) {
        request_wait(rq);
        return;
    }
    if (w)
        waiting_free(w);
    else if (done)
        done(input);
    if (r == -ENOTCONN)
        request_refuse_with(rq, 503, STATUS_INTERNAL, NULL, "sessiond is not there.");
    else
        request_fail(rq, what, "no memory");
}
