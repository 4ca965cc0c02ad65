/* SPDX-License-Identifier: ISC */
/*
 * imports.c - /v1/imports: many users at once, all or nothing.
 *
 * The order is that of hostlist.h: the rows are rehearsed, which finds what is wrong with them; the
 * names and ids that they would get are put to NSS, in turns, between which everybody else is
 * served; if some of them are taken, the next ones are looked for in the same way; then they are
 * stored under the password lock. A dry run ends with another rehearsal, for which nothing is
 * locked. A rehearsal is one turn: it is a change of the registry, which only one can have open.
 */
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessiond/api/clock.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/hostlist.h"
#include "sessiond/api/import_answer.h"
#include "sessiond/api/import_input.h"
#include "sessiond/api/locked.h"
#include "sessiond/api/lockout.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* Of asking NSS at a time, and for the others in between. */
#define TURN_MS 20
#define REST_US 1000
/* After so many rehearsals the rest is asked under the lock, or it is too much. */
#define ROUNDS_MAX 16u

struct import {
    struct request *rq;
    struct import_input in;
    struct hostlist *host;
    struct event *timer;
    struct user *users;
    enum user_verdict *verdicts;
    unsigned rounds;
};

static const char failed[] = "The users could not be imported";

static void import_free(struct import *i)
{
    if (!i)
        return;
    import_input_done(&i->in);
    hostlist_free(i->host);
    if (i->timer)
        event_free(i->timer);
    free(i->users);
    free(i->verdicts);
    free(i);
}

/* --- answers --- */

static void answer(const struct import *i)
{
    json_t *rows = json_array();
    json_int_t created = 0;

    for (size_t k = 0; k < i->in.n; k++) {
        bool is_created = i->verdicts[k] == USER_CREATED;

        created += is_created;
        if (json_array_append_new(rows,
                                  import_row_view(&i->in.specs[k], &i->users[k], is_created)) < 0) {
            json_decref(rows);
            request_answer(i->rq, MHD_HTTP_OK, NULL);
            return;
        }
    }
    request_answer(i->rq, MHD_HTTP_OK,
                   json_pack("{s:b, s:I, s:I, s:o}", "dry_run", i->in.is_dry_run, "created",
                             created, "existed", (json_int_t)i->in.n - created, "users", rows));
}

static void note_stored(const struct import *i)
{
    size_t created = 0;

    for (size_t k = 0; k < i->in.n; k++) {
        if (i->verdicts[k] != USER_CREATED)
            continue;
        created++;
        log_info("user created name=%s uid=%u by_uid=%u", i->users[k].name, i->users[k].uid,
                 i->rq->peer_uid);
    }
    log_notice("users imported created=%zu existed=%zu by_uid=%u", created, i->in.n - created,
               i->rq->peer_uid);
}

/* --- steps --- */

/* Return: 0 if all rows are good, -ECANCELED if one is not and the request is answered, -errno. */
static int batch(struct import *i, bool is_rehearsal, registry_taken_fn taken)
{
    size_t bad = 0;
    int r = user_create_batch(i->rq->app->reg, i->in.specs, i->in.n, is_rehearsal, taken, i->host,
                              i->users, i->verdicts, &bad);

    if (r < 0 || bad == i->in.n)
        return r;
    import_refuse(i->rq, &i->in, taken, i->host, bad, i->verdicts[bad]);
    return -ECANCELED;
}

static int store_locked(struct request *rq, struct hostcheck *check, void *arg)
{
    struct import *i = *(struct import **)arg;
    int r = hostlist_lock(i->host, check->deadline_ms);

    if (r == 0)
        r = batch(i, false, hostlist_taken);
    if (r == -ECANCELED)
        return 0;
    if (r < 0)
        return r;
    note_stored(i);
    lockout_look(rq->app->lockout);
    answer(i);
    return 0;
}

static void free_import(void *arg)
{
    import_free(*(struct import **)arg);
}

static void finish_dry(struct import *i)
{
    int r = hostlist_lock(i->host, INT64_MAX);

    if (r == 0)
        r = batch(i, true, hostlist_taken);
    if (r == 0)
        answer(i);
    else if (r != -ECANCELED)
        request_fail(i->rq, failed, registry_error(i->rq->app->reg));
    import_free(i);
}

/* Write down what has to be asked. Return: as batch(). */
static int rehearse(struct import *i)
{
    i->rounds++;
    return batch(i, true, hostlist_note);
}

/* All is answered. Return: 1: there are new questions; 0, or as batch(). */
static int look_again(struct import *i)
{
    int r;

    if (!hostlist_has_news(i->host) || i->rounds >= ROUNDS_MAX)
        return 0;
    r = rehearse(i);
    return r < 0 ? r : 1;
}

static void on_rehearsed_badly(struct import *i, int r)
{
    if (r != -ECANCELED)
        request_fail(i->rq, failed, registry_error(i->rq->app->reg));
    import_free(i);
}

static void finish(struct import *i)
{
    static const struct timeval rest = {.tv_usec = REST_US};
    int r = look_again(i);

    if (r < 0)
        on_rehearsed_badly(i, r);
    else if (r > 0)
        (void)evtimer_add(i->timer, &rest);
    else if (i->in.is_dry_run)
        finish_dry(i);
    else
        locked_run(i->rq, store_locked, &i, sizeof(i), free_import, failed);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval rest = {.tv_usec = REST_US};
    struct import *i = arg;
    int r = hostlist_ask(i->host, clock_mono_ms() + TURN_MS);

    (void)fd;
    (void)what;
    if (i->rq->app->is_stopping) {
        request_refuse_with(i->rq, 503, STATUS_INTERNAL, NULL, "sessiond-api ends.");
        import_free(i);
    } else if (r < 0) {
        request_fail(i->rq, "It could not be found out which names are taken", strerrordesc_np(-r));
        import_free(i);
    } else if (r > 0) {
        (void)evtimer_add(i->timer, &rest);
    } else {
        finish(i);
    }
}

/* Return: 0, -ENOMEM, or a negative errno of the host's files. */
static int import_prepare(struct import *i)
{
    i->users = calloc(i->in.n, sizeof(*i->users));
    i->verdicts = calloc(i->in.n, sizeof(*i->verdicts));
    i->timer = evtimer_new(i->rq->app->base, on_turn, i);
    if (!i->users || !i->verdicts || !i->timer)
        return -ENOMEM;
    return hostlist_new(&i->host);
}

void imports_post(struct request *rq, const json_t *body)
{
    static const struct timeval now = {0};
    struct import *i = calloc(1, sizeof(*i));
    struct error e;
    int r;

    if (!i) {
        request_fail(rq, failed, "no memory");
        return;
    }
    i->rq = rq;
    if (import_input_parse(body, &i->in, &e) < 0) {
        request_refuse(rq, &e);
        import_free(i);
        return;
    }
    r = import_prepare(i);
    if (r < 0) {
        request_fail(rq, failed, strerrordesc_np(-r));
        import_free(i);
        return;
    }
    if (i->in.errors.n > 0) {
        import_refuse(rq, &i->in, hostlist_note, i->host, i->in.n, USER_CREATED);
        import_free(i);
        return;
    }
    r = rehearse(i);
    if (r < 0) {
        on_rehearsed_badly(i, r);
        return;
    }
    request_wait(rq);
    (void)evtimer_add(i->timer, &now);
}
