/* SPDX-License-Identifier: ISC */
/*
 * health.c - /v1/healthz.
 *
 * Requests that come while a STATUS_GET is on its way share its answer. A STATUS that comes after
 * its requests gave up serves the next ones: it is as old as the loop of sessiond was slow.
 */
#include "sessiond/api/health.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "policy/policy.h"
#include "sessiond/api/clock.h"
#include "sessiond/api/core.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/limits.h"
#include "sessiond/api/run.h"
#include "sessiond/api/session.h"

#include "common/banned.h"

#define WAIT_MS 500
/* Sessiond is asked once a second; three answers may be missing. */
#define ASK_MS   1000
#define ALIVE_MS 3000

struct waiter {
    TAILQ_ENTRY(waiter) link;
    struct health *health;
    struct request *rq;
    struct event *timer;
};

struct health {
    struct app *app;
    TAILQ_HEAD(, waiter) waiters;
    bool is_asked;
    int64_t heard_ms; /* monotonic, of the last STATUS; 0: none on this connection */
    struct event *asker;
};

static void status_ask(struct health *h)
{
    if (!h->is_asked && core_is_ready(h->app->core))
        h->is_asked = core_send_head(h->app->core, WIRE_STATUS_GET, 0) == 0;
}

/* A daemon that is stopped keeps its connections: only an answer shows that it is there. */
static void on_asker(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    status_ask(arg);
}

bool health_is_alive(const struct health *h)
{
    return h->heard_ms != 0 && clock_mono_ms() - h->heard_ms < ALIVE_MS;
}

int health_new(struct app *app, struct health **ret_health)
{
    static const struct timeval every = {.tv_sec = ASK_MS / 1000};
    struct health *h = calloc(1, sizeof(*h));

    if (!h)
        return -ENOMEM;
    h->app = app;
    TAILQ_INIT(&h->waiters);
    h->asker = event_new(app->base, -1, EV_PERSIST, on_asker, h);
    if (!h->asker || event_add(h->asker, &every) < 0) {
        health_free(h);
        return -ENOMEM;
    }
    *ret_health = h;
    return 0;
}

void health_free(struct health *h)
{
    if (!h)
        return;
    if (h->asker)
        event_free(h->asker);
    free(h);
}

static json_t *canary_cost(const struct wire_status *m)
{
    const struct wire_canary_cost *c = &m->canary_cost;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "rounds",
                     (json_int_t)c->rounds, "asked", (json_int_t)c->asked, "asked_new",
                     (json_int_t)c->asked_new, "wall_last_us", (json_int_t)c->wall_last_us,
                     "wall_us", (json_int_t)c->wall_us, "cpu_last_us", (json_int_t)c->cpu_last_us,
                     "cpu_probe_us", (json_int_t)c->cpu_probe_us, "cpu_listener_us",
                     (json_int_t)c->cpu_listener_us, "cpu_sessiond_us", (json_int_t)c->cpu_own_us);
}

/* Who keeps each: control groups, sessiond by looking, or nobody. */
static json_t *json_of_limits(const struct wire_status *m)
{
    json_t *all = json_object();

    for (unsigned i = 0; i < WIRE_LIMIT__COUNT; i++) {
        const char *by = "none";

        if (m && (m->limits_grouped & (1u << i)) != 0)
            by = "group";
        else if (m && (m->limits_watched & (1u << i)) != 0)
            by = "watch";
        (void)json_object_set_new(all, policy_limit_names[i], json_string(by));
    }
    return all;
}

/* Whoever has a profile that requires one starts nothing where no group keeps it. */
static json_t *required(void)
{
    uint32_t limits = limits_required();
    json_t *all = json_array();

    for (unsigned i = 0; i < WIRE_LIMIT__COUNT; i++) {
        if ((limits & (1u << i)) != 0)
            (void)json_array_append_new(all, json_string(policy_limit_names[i]));
    }
    return all;
}

/* @m: as below. */
static json_t *names(const struct wire_status *m)
{
    return json_pack("{s:I, s:I, s:I}", "listed", (json_int_t)(m ? m->names : 0), "unanswered",
                     (json_int_t)(m ? m->names_failed : 0), "refused",
                     (json_int_t)(m ? m->names_refused : 0));
}

/* @m: NULL if sessiond does not answer. */
static void answer(struct request *rq, const struct wire_status *m)
{
    struct registry_counts n = {0};
    uint32_t canary = m ? m->canary : WIRE_CANARY_UNKNOWN;
    bool is_ok = m && (canary == WIRE_CANARY_HOLDS || canary == WIRE_CANARY_UNKNOWN);
    json_t *body;

    if (registry_count(rq->app->reg, &n) < 0) {
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
        return;
    }
    body = json_pack(
        "{s:s, s:s, s:b, s:s, s:s, s:o, s:I, s:s, s:o, s:s, s:b, s:s, s:I, s:I, s:o, s:I, s:I, "
        "s:I, s:I, s:I, s:o}",
        "status", is_ok ? "ok" : "degraded", "version", PACKAGE_VERSION, "sessiond", m != NULL,
        "canary", json_canary(canary), "canary_what", m ? m->canary_what : "", "canary_age_ms",
        m && canary != WIRE_CANARY_UNKNOWN ? json_integer(m->canary_age_ms) : json_null(),
        "net_revision", (json_int_t)(m ? m->net_revision : 0), "cgroup_mode",
        json_cgroup_mode(m ? m->cgroup_mode : WIRE_CGROUP_NONE), "limits", json_of_limits(m),
        "disk", json_disk_mode(m ? m->disk : WIRE_DISK_NONE), "disk_required",
        m && m->disk_required != 0, "disk_what", m ? m->disk_what : "", "runs",
        (json_int_t)(m ? m->runs : run_table_count(rq->app->runs)), "sessions",
        (json_int_t)(m ? m->sessions : session_table_count(rq->app->sessions)), "landlock_abi",
        m ? json_integer(m->landlock_abi) : json_null(), "users", (json_int_t)n.users,
        "users_enabled", (json_int_t)n.users_enabled, "groups", (json_int_t)n.groups, "ids_free",
        (json_int_t)n.ids_free, "generation", (json_int_t)n.generation, "net_connections",
        m && m->net_connections ? json_integer(m->net_connections) : json_null());
    if (body) {
        (void)json_object_set_new(body, "canary_cost", m ? canary_cost(m) : json_null());
        (void)json_object_set_new(body, "net_group", json_boolean(m && m->net_group != 0));
        (void)json_object_set_new(body, "names", names(m));
        (void)json_object_set_new(body, "limits_required", required());
    }
    request_answer(rq, is_ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, body);
}

static void waiter_finish(struct waiter *w, const struct wire_status *m)
{
    struct request *rq = w->rq;

    TAILQ_REMOVE(&w->health->waiters, w, link);
    event_free(w->timer);
    free(w);
    answer(rq, m);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    waiter_finish(arg, NULL);
}

static int waiter_add(struct health *h, struct request *rq)
{
    static const struct timeval tv = {.tv_usec = WAIT_MS * 1000};
    struct waiter *w = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    w->health = h;
    w->rq = rq;
    w->timer = evtimer_new(h->app->base, on_timer, w);
    if (!w->timer || evtimer_add(w->timer, &tv) < 0) {
        if (w->timer)
            event_free(w->timer);
        free(w);
        return -ENOMEM;
    }
    TAILQ_INSERT_TAIL(&h->waiters, w, link);
    return 0;
}

void health_get(struct request *rq, const json_t *body)
{
    struct health *h = rq->app->health;

    (void)body;
    status_ask(h);
    if (h->is_asked && waiter_add(h, rq) == 0)
        request_wait(rq);
    else
        answer(rq, NULL);
}

static void finish_all(struct health *h, const struct wire_status *m)
{
    h->is_asked = false;
    while (!TAILQ_EMPTY(&h->waiters))
        waiter_finish(TAILQ_FIRST(&h->waiters), m);
}

void health_heard(struct health *h)
{
    h->heard_ms = clock_mono_ms();
}

void health_status(struct health *h, const struct wire_status *m)
{
    health_heard(h);
    finish_all(h, m);
}

void health_down(struct health *h)
{
    h->heard_ms = 0;
    finish_all(h, NULL);
}
