/* SPDX-License-Identifier: ISC */
/*
 * restore.c - /v1/restore: a copy in the place of the registry.
 *
 * The order is that of hostlist.h, because whoever comes to life by the copy is new to this host:
 * it is rehearsed, which finds what is wrong with the file; the names and ids that would come are
 * put to NSS, in turns; then it is done under the password lock. What is done must be what somebody
 * has seen before: a dry run says the digest of the file, and the real request must say it, too.
 *
 * The file does not pass through here: root puts it into registry/. After a restore whoever is
 * gone, or may not log in any more, loses what runs.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessiond/api/clock.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/hostlist.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/locked.h"
#include "sessiond/api/lockout.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* Of asking NSS at a time, and for the others in between. */
#define TURN_MS 20
#define REST_US 1000

struct restoring {
    struct request *rq;
    struct hostlist *host;
    struct event *timer;
    bool is_dry_run;
    char digest[RESTORE_DIGEST_SIZE]; /* "": whatever the file is */
};

static const char failed[] = "The registry could not be restored";

static void restoring_free(struct restoring *x)
{
    if (!x)
        return;
    hostlist_free(x->host);
    if (x->timer)
        event_free(x->timer);
    free(x);
}

/* --- what would be, or is --- */

struct report {
    json_t *gone, *back, *locked, *dropped;
    struct registry_restored d;
};

static struct report report_new(void)
{
    return (struct report){.gone = json_array(),
                           .back = json_array(),
                           .locked = json_array(),
                           .dropped = json_array()};
}

static void report_done(struct report *p)
{
    json_decref(p->gone);
    json_decref(p->back);
    json_decref(p->locked);
    json_decref(p->dropped);
}
#define cleanup_report __attribute__((cleanup(report_done)))

static json_t *list_of(const struct report *p, enum restore_note what)
{
    switch (what) {
    case RESTORE_GONE:
        return p->gone;
    case RESTORE_BACK:
        return p->back;
    case RESTORE_LOCKED:
        return p->locked;
    }
    return NULL;
}

static int user_report(void *arg, enum restore_note what, const struct user *user)
{
    json_t *row = json_pack("{s:s, s:I}", "name", user->name, "uid", (json_int_t)user->uid);

    return json_array_append_new(list_of(arg, what), row) < 0 ? -ENOMEM : 0;
}

static int caller_report(void *arg, const struct caller *caller)
{
    struct report *p = arg;
    json_t *row = json_of_caller(caller);

    (void)json_object_del(row, "created_s");
    return json_array_append_new(p->dropped, row) < 0 ? -ENOMEM : 0;
}

static int restore(const struct restoring *x, bool is_rehearsal, registry_taken_fn taken,
                   struct report *p)
{
    const struct restore_how how = {
        .is_rehearsal = is_rehearsal,
        .digest = x->digest[0] ? x->digest : NULL,
        .taken = taken,
        .host = x->host,
        .on_user = user_report,
        .on_dropped = caller_report,
        .arg = p,
    };

    return registry_restore(x->rq->app->reg, &how, &p->d);
}

/* --- answers --- */

static void answer(const struct restoring *x, const struct report *p)
{
    const struct registry_restored *d = &p->d;

    request_answer(x->rq, MHD_HTTP_OK,
                   json_pack("{s:b, s:s, s:I, s:I, s:O, s:O, s:O, s:O, s:I, s:o}", "dry_run",
                             x->is_dry_run, "digest", d->digest, "users", (json_int_t)d->users,
                             "groups", (json_int_t)d->groups, "gone", p->gone, "back", p->back,
                             "locked", p->locked, "callers_dropped", p->dropped, "links_revoked",
                             (json_int_t)d->links_revoked, "kept", json_of_text(d->kept)));
}

/* What is wrong with the file; NULL: it is not the file. */
static const char *file_fault(int r)
{
    switch (r) {
    case -ENOENT:
        return "There is no file registry/" REGISTRY_RESTORE_NAME ".";
    case -EPERM:
        return "The file must be a regular one with one link, of the owner of registry/.";
    case -EBADMSG:
        return "The file is no registry, or it is damaged";
    case -EPROTO:
        return "The file was written by a newer version of this program.";
    default: /* an errno, not an enum */
        return NULL;
    }
}

/* Return: 0 with the request answered, or @r if it is not about the file. */
static int refuse(struct request *rq, int r)
{
    const char *fault = file_fault(r), *why = registry_error(rq->app->reg);

    if (r == -ESTALE)
        request_refuse_with(rq, 400, STATUS_BAD_REQUEST, "digest",
                            "The file is not the one that the dry run was about.");
    else if (r == -EEXIST)
        request_refuse_with(rq, 409, STATUS_BAD_REQUEST, "file", "%.200s", why);
    else if (r == -EBADMSG)
        request_refuse_with(rq, 400, STATUS_BAD_REQUEST, "file", "%s: %.200s", fault, why);
    else if (fault)
        request_refuse_with(rq, 400, STATUS_BAD_REQUEST, "file", "%s", fault);
    else
        return r;
    log_notice("restore refused: %s by_uid=%u", why, rq->peer_uid);
    return 0;
}

/* --- steps --- */

static void note_stored(const struct restoring *x, const struct report *p)
{
    const struct registry_restored *d = &p->d;

    log_notice("registry restored users=%u groups=%u gone=%u back=%zu locked=%zu "
               "callers_dropped=%zu links_revoked=%u kept=%s by_uid=%u",
               d->users, d->groups, d->users_gone, json_array_size(p->back),
               json_array_size(p->locked), json_array_size(p->dropped), d->links_revoked, d->kept,
               x->rq->peer_uid);
    lockout_look(x->rq->app->lockout);
}

static int store_locked(struct request *rq, struct hostcheck *check, void *arg)
{
    const struct restoring *x = *(struct restoring **)arg;
    cleanup_report struct report p = report_new();
    int r = hostlist_lock(x->host, check->deadline_ms);

    if (r < 0)
        return r;
    r = restore(x, false, hostlist_taken, &p);
    if (r == 0 || r == -EINPROGRESS)
        note_stored(x, &p);
    if (r == 0)
        answer(x, &p);
    else if (r == -EINPROGRESS)
        request_fail(rq, "The registry is restored, but not all is done",
                     registry_error(rq->app->reg));
    else
        return refuse(rq, r);
    return 0;
}

static void free_restoring(void *arg)
{
    restoring_free(*(struct restoring **)arg);
}

static void finish_dry(struct restoring *x)
{
    cleanup_report struct report p = report_new();
    int r = hostlist_lock(x->host, INT64_MAX);

    if (r < 0) {
        request_fail(x->rq, failed, strerrordesc_np(-r));
    } else {
        r = restore(x, true, hostlist_taken, &p);
        if (r == 0)
            answer(x, &p);
        else if (refuse(x->rq, r) < 0)
            request_fail(x->rq, failed, registry_error(x->rq->app->reg));
    }
    restoring_free(x);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval rest = {.tv_usec = REST_US};
    struct restoring *x = arg;
    int r = hostlist_ask(x->host, clock_mono_ms() + TURN_MS);

    (void)fd;
    (void)what;
    if (x->rq->app->is_stopping) {
        request_refuse_with(x->rq, 503, STATUS_INTERNAL, NULL, "sessiond-api ends.");
        restoring_free(x);
    } else if (r < 0) {
        request_fail(x->rq, "It could not be found out which names are taken", strerrordesc_np(-r));
        restoring_free(x);
    } else if (r > 0) {
        (void)evtimer_add(x->timer, &rest);
    } else if (x->is_dry_run) {
        finish_dry(x);
    } else {
        locked_run(x->rq, store_locked, &x, sizeof(x), free_restoring, failed);
    }
}

/* Return: 0, or -EINVAL with *e filled. */
static int input_parse(const json_t *body, struct restoring *x, struct error *e)
{
    static const char *const keys[] = {"dry_run", "digest", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    const char *digest = NULL;
    int r = json_in_only(&in, keys);

    if (r == 0)
        r = json_in_bool(&in, "dry_run", &x->is_dry_run);
    if (r == 0)
        r = json_in_string(&in, "digest", sizeof(x->digest) - 1, &digest);
    if (r == 0 && !digest && !x->is_dry_run)
        r = error_field(e, "digest", "digest must be that of a dry run.");
    if (r == 0 && digest)
        (void)str_copy(x->digest, sizeof(x->digest), digest);
    return r;
}

static int restoring_prepare(struct restoring *x)
{
    x->timer = evtimer_new(x->rq->app->base, on_turn, x);
    return x->timer ? hostlist_new(&x->host) : -ENOMEM;
}

/* Find what is wrong with the file, and what has to be asked. Return: 0, or the errno of it. */
static int rehearse(struct restoring *x)
{
    cleanup_report struct report p = report_new();

    return restore(x, true, hostlist_note, &p);
}

void restore_post(struct request *rq, const json_t *body)
{
    static const struct timeval now = {0};
    struct restoring *x = calloc(1, sizeof(*x));
    struct error e;
    int r;

    if (!x) {
        request_fail(rq, failed, "no memory");
        return;
    }
    x->rq = rq;
    if (input_parse(body, x, &e) < 0) {
        request_refuse(rq, &e);
        restoring_free(x);
        return;
    }
    r = restoring_prepare(x);
    if (r < 0) {
        request_fail(rq, failed, strerrordesc_np(-r));
        restoring_free(x);
        return;
    }
    r = rehearse(x);
    if (r < 0) {
        if (refuse(rq, r) < 0)
            request_fail(rq, failed, registry_error(rq->app->reg));
        restoring_free(x);
        return;
    }
    request_wait(rq);
    (void)evtimer_add(x->timer, &now);
}
