/* SPDX-License-Identifier: ISC */
/*
 * network.c - /v1/network and /v1/network/NAME.
 *
 * One question is under way at a time; the others wait for their turn, since each wants what is
 * counted after it came. A request that gave up while its question was under way leaves the
 * question behind: the pages that still come are thrown away.
 */
#include "sessiond/api/network.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "sessiond/api/core.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/network_view.h"
#include "sessiond/api/user_view.h"

#include "common/banned.h"

#define WAIT_MS 14000 /* sessiond gives up after 10 s, which a pause of 2 s may precede */

struct waiter {
    TAILQ_ENTRY(waiter) link;
    struct network *network;
    struct request *rq;
    struct event *timer;
    uint32_t uid; /* 0: all */
};

struct network {
    struct app *app;
    TAILQ_HEAD(, waiter) waiters;
    bool is_asked;
    struct waiter *asker; /* whose question is under way; NULL: it gave up */
    json_t *users, *refused, *rules;
};

static void ask(struct network *n);

int network_new(struct app *app, struct network **ret_network)
{
    struct network *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    n->app = app;
    TAILQ_INIT(&n->waiters);
    *ret_network = n;
    return 0;
}

static void rows_drop(struct network *n)
{
    json_decref(n->users);
    json_decref(n->refused);
    json_decref(n->rules);
    n->users = n->refused = n->rules = NULL;
}

void network_free(struct network *n)
{
    if (!n)
        return;
    rows_drop(n);
    free(n);
}

static struct request *waiter_take(struct waiter *w)
{
    struct network *n = w->network;
    struct request *rq = w->rq;

    TAILQ_REMOVE(&n->waiters, w, link);
    if (n->asker == w)
        n->asker = NULL;
    event_free(w->timer);
    free(w);
    return rq;
}

static void refuse(struct request *rq)
{
    request_refuse_with(rq, 503, STATUS_INTERNAL, NULL, "sessiond is not there.");
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    refuse(waiter_take(arg));
}

static void ask(struct network *n)
{
    struct wire_net_get get = {.head = {.type = WIRE_NET_GET}};
    struct waiter *w = TAILQ_FIRST(&n->waiters);

    if (n->is_asked || !w)
        return;
    get.uid = w->uid;
    if (core_send(n->app->core, &get, sizeof(get), NULL, 0) < 0) {
        network_down(n);
        return;
    }
    n->is_asked = true;
    n->asker = w;
    rows_drop(n);
    n->users = json_array();
    n->refused = json_array();
    n->rules = json_array();
}

/* Return: a name to be shown, in @user, or NULL. The reserved UIDs are nobody's. */
static const char *name_of(struct network *n, uint32_t uid, struct user *user)
{
    return user_by_uid(n->app->reg, uid, user) == 0 ? user->name : NULL;
}

static void page_add(struct network *n, const struct wire_net_page *m)
{
    struct user user;

    for (uint32_t i = 0; i < m->user_count; i++) {
        const struct wire_net_user *row = &m->users[i];

        (void)json_array_append_new(n->users, json_of_net_user(row, name_of(n, row->uid, &user)));
    }
    for (uint32_t i = 0; i < m->refused_count; i++) {
        const struct wire_net_refused *row = &m->refused[i];

        (void)json_array_append_new(n->refused,
                                    json_of_net_refused(row, name_of(n, row->uid, &user)));
    }
    for (uint32_t i = 0; i < m->rule_count; i++)
        (void)json_array_append_new(n->rules, json_of_net_rule(&m->rules[i]));
}

/* Why nothing is known of users. Return: a word of openapi.yaml, or null: it is known. */
static json_t *why_not_counted(const struct wire_net_sum *sum)
{
    switch (sum->error) {
    case 0:
        return json_null();
    case ENOENT:
    case ENODATA:
        return json_string("no-table");
    case ETIMEDOUT:
        return json_string("too-long");
    default:
        return json_string("failed");
    }
}

static json_t *answer_make(struct network *n, const struct wire_net_sum *sum)
{
    return json_pack("{s:b, s:o, s:o, s:o, s:b, s:O, s:O, s:O}", "counted", sum->error == 0,
                     "not_counted", why_not_counted(sum), "since",
                     json_of_time(sum->since_us / 1000000), "connections",
                     sum->connections ? json_integer(sum->connections) : json_null(), "complete",
                     !sum->is_cut, "users", n->users, "refused", n->refused, "rules", n->rules);
}

int network_page(struct network *n, const struct wire_net_page *m)
{
    if (!n->is_asked)
        return -ENOENT;
    if (n->asker)
        page_add(n, m);
    if (!m->is_last)
        return 0;
    n->is_asked = false;
    if (n->asker)
        request_answer(waiter_take(n->asker), MHD_HTTP_OK, answer_make(n, &m->sum));
    rows_drop(n);
    ask(n);
    return 0;
}

void network_down(struct network *n)
{
    n->is_asked = false;
    while (!TAILQ_EMPTY(&n->waiters))
        refuse(waiter_take(TAILQ_FIRST(&n->waiters)));
    rows_drop(n);
}

static void get(struct request *rq, uint32_t uid)
{
    static const struct timeval tv = {.tv_sec = WAIT_MS / 1000};
    struct network *n = rq->app->network;
    struct waiter *w = calloc(1, sizeof(*w));

    if (!core_is_ready(rq->app->core)) {
        free(w);
        refuse(rq);
        return;
    }
    if (w)
        w->timer = evtimer_new(rq->app->base, on_timer, w);
    if (!w || !w->timer || evtimer_add(w->timer, &tv) < 0) {
        if (w && w->timer)
            event_free(w->timer);
        free(w);
        request_fail(rq, "The network could not be asked about", "no memory");
        return;
    }
    w->network = n;
    w->rq = rq;
    w->uid = uid;
    TAILQ_INSERT_TAIL(&n->waiters, w, link);
    request_wait(rq);
    ask(n);
}

void network_get(struct request *rq, const json_t *body)
{
    (void)body;
    get(rq, 0);
}

void network_get_one(struct request *rq, const json_t *body)
{
    struct user user;

    (void)body;
    if (user_find_named(rq, &user))
        get(rq, user.uid);
}
