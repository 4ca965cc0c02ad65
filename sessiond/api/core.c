/* SPDX-License-Identifier: ISC */
/*
 * core.c - the line to sessiond.
 *
 * gone --connect--> greeting --WELCOME--> ready --error, end, bad message--> gone
 *
 * The order in the queue is the order on the wire: a RUN_KILL never overtakes its RUN_START.
 */
#include "sessiond/api/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/api/inbound.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define RETRY_MS   200
#define WELCOME_MS 2000

/* Messages handled before other descriptors get their turn. */
#define BURST 64

enum core_state {
    CORE_GONE,
    CORE_GREETING,
    CORE_READY,
};

struct waiting {
    STAILQ_ENTRY(waiting) link;
    size_t size;
    int fds[FD_PASS_MAX];
    size_t nfds;
    char bytes[];
};

struct core {
    struct event_base *base;
    const struct core_events *events;
    void *arg;
    struct sockaddr_un addr;
    enum core_state state;
    int fd;
    struct event *readable;
    struct event *writable;
    struct event *timer; /* next try, or the limit of WELCOME */
    STAILQ_HEAD(, waiting) queue;
    bool is_failure_logged;
    bool is_doomed; /* a message was lost: give up as soon as the loop runs */
};

static void core_connect(struct core *c);

static void timer_set(struct core *c, int ms)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};

    (void)evtimer_add(c->timer, &tv);
}

static void waiting_free(struct waiting *w)
{
    for (size_t i = 0; i < w->nfds; i++)
        (void)close(w->fds[i]);
    free(w);
}

static void core_close(struct core *c)
{
    struct waiting *w;

    while ((w = STAILQ_FIRST(&c->queue))) {
        STAILQ_REMOVE_HEAD(&c->queue, link);
        waiting_free(w);
    }
    if (c->readable)
        event_free(c->readable);
    if (c->writable)
        event_free(c->writable);
    c->readable = c->writable = NULL;
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    c->state = CORE_GONE;
    c->is_doomed = false;
}

/* Give the connection up, tell about it, and try again later. */
static void core_drop(struct core *c, const char *why, int error)
{
    bool was_ready = c->state == CORE_READY;

    if (was_ready || !c->is_failure_logged)
        log_warning("sessiond is not reachable: %s error=%s", why,
                    error ? strerrorname_np(error) : "none");
    c->is_failure_logged = true;
    core_close(c);
    timer_set(c, RETRY_MS);
    if (was_ready)
        c->events->down(c->arg);
}

/* --- sending --- */

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct core *c = arg;
    struct waiting *w;

    (void)fd;
    (void)what;
    if (c->is_doomed) {
        core_drop(c, "a message could not be sent", ENOMEM);
        return;
    }
    while ((w = STAILQ_FIRST(&c->queue))) {
        int r = msg_send(c->fd, w->bytes, w->size, w->fds, w->nfds);

        if (r == -EAGAIN) {
            (void)event_add(c->writable, NULL);
            return;
        }
        if (r < 0) {
            core_drop(c, "a message could not be sent", -r);
            return;
        }
        STAILQ_REMOVE_HEAD(&c->queue, link);
        waiting_free(w);
    }
}

static int queue_message(struct core *c, const void *msg, size_t size, const int *fds, size_t nfds)
{
    struct waiting *w = malloc(sizeof(*w) + size);

    if (!w)
        return -ENOMEM;
    *w = (struct waiting){.size = size, .nfds = nfds};
    memcpy(w->bytes, msg, size);
    if (nfds > 0)
        memcpy(w->fds, fds, nfds * sizeof(*fds));
    STAILQ_INSERT_TAIL(&c->queue, w, link);
    (void)event_add(c->writable, NULL);
    return 0;
}

static void close_all(const int *fds, size_t nfds)
{
    for (size_t i = 0; i < nfds; i++)
        (void)close(fds[i]);
}

int core_send(struct core *c, void *msg, size_t size, const int *fds, size_t nfds)
{
    struct wire_head *head = msg;
    int r = -EAGAIN;

    head->version = WIRE_VERSION;
    head->size_bytes = (uint32_t)size;
    if (c->state == CORE_GONE || (c->state == CORE_GREETING && head->type != WIRE_HELLO)) {
        close_all(fds, nfds);
        return -ENOTCONN;
    }
    if (STAILQ_EMPTY(&c->queue))
        r = msg_send(c->fd, msg, size, fds, nfds);
    if (r == -EAGAIN && nfds <= FD_PASS_MAX) {
        r = queue_message(c, msg, size, fds, nfds);
        if (r == 0)
            return 0; /* The queue owns the descriptors now. */
    }
    close_all(fds, nfds);
    /* A RUN_START that failed is refused by the caller; a lost RUN_KILL would let a run go on. */
    if (r < 0 && nfds == 0) {
        c->is_doomed = true;
        event_active(c->writable, EV_WRITE, 0);
    }
    return r;
}

int core_send_head(struct core *c, enum wire_type type, uint32_t tag)
{
    struct wire_head head = {.type = type, .tag = tag};

    return core_send(c, &head, sizeof(head), NULL, 0);
}

/* --- receiving --- */

static int dispatch_run(struct core *c, const union inbound *in)
{
    switch (in->head.type) {
    case WIRE_RUN_STARTED:
        return c->events->run_started(c->arg, &in->started);
    case WIRE_RUN_FAILED:
        return c->events->run_failed(c->arg, &in->failed);
    default:
        return c->events->run_ended(c->arg, &in->ended);
    }
}

static int dispatch_session(struct core *c, const union inbound *in)
{
    switch (in->head.type) {
    case WIRE_SESSION_ASK:
        c->events->session_ask(c->arg, &in->session_ask);
        return 0;
    case WIRE_SESSION_STARTED:
        return c->events->session_started(c->arg, &in->session_started);
    case WIRE_SESSION_FAILED:
        return c->events->session_failed(c->arg, &in->session_failed);
    case WIRE_SESSION_ENDED:
        return c->events->session_ended(c->arg, &in->session_ended);
    default:
        c->events->session_synced(c->arg);
        return 0;
    }
}

static int dispatch_ready(struct core *c, const union inbound *in)
{
    switch (in->head.type) {
    case WIRE_RUN_STARTED:
    case WIRE_RUN_FAILED:
    case WIRE_RUN_ENDED:
        return dispatch_run(c, in);
    case WIRE_SESSION_ASK:
    case WIRE_SESSION_STARTED:
    case WIRE_SESSION_FAILED:
    case WIRE_SESSION_ENDED:
    case WIRE_SESSION_SYNCED:
        return dispatch_session(c, in);
    case WIRE_LOCK_TAKEN:
    case WIRE_LOCK_BUSY:
    case WIRE_LOCK_LOST:
        c->events->lock(c->arg, (enum wire_type)in->head.type);
        return 0;
    case WIRE_STATUS:
        c->events->status(c->arg, &in->status);
        return 0;
    case WIRE_NET_PAGE:
        return c->events->net_page(c->arg, &in->net_page);
    default:
        return -EBADMSG;
    }
}

static int dispatch(struct core *c, const union inbound *in, size_t size)
{
    if (!inbound_is_good(in, size))
        return -EBADMSG;
    if (c->state == CORE_READY)
        return dispatch_ready(c, in);
    if (in->head.type != WIRE_WELCOME)
        return -EBADMSG;
    (void)evtimer_del(c->timer);
    c->state = CORE_READY;
    c->is_failure_logged = false;
    log_info("connected to sessiond");
    /* Whatever was published while nobody could be told. */
    (void)core_send_head(c, WIRE_NSS_CHANGED, 0);
    return 0;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct core *c = arg;

    (void)what;
    for (int i = 0; i < BURST && c->fd == fd; i++) {
        union inbound in = {0};
        struct msg_extra extra = {0};
        size_t size = 0;
        int r = msg_recv(fd, &in, sizeof(in), &size, &extra);

        if (r == -EAGAIN)
            return;
        if (r == 0 && extra.nfds > 0)
            r = -EBADMSG; /* Nothing that sessiond says comes with descriptors. */
        msg_extra_done(&extra);
        if (r == 0 && size == 0)
            r = -ECONNRESET;
        if (r == 0)
            r = dispatch(c, &in, size);
        if (r < 0) {
            core_drop(c, r == -ECONNRESET ? "it closed the connection" : "it sent what it must not",
                      -r);
            return;
        }
    }
}

/* --- connecting --- */

static void core_connect(struct core *c)
{
    c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0) {
        core_drop(c, "no socket", errno);
        return;
    }
    if (connect(c->fd, (const struct sockaddr *)&c->addr, sizeof(c->addr)) < 0) {
        core_drop(c, "connect", errno);
        return;
    }
    c->state = CORE_GREETING;
    c->readable = event_new(c->base, c->fd, EV_READ | EV_PERSIST, on_readable, c);
    c->writable = event_new(c->base, c->fd, EV_WRITE, on_writable, c);
    if (!c->readable || !c->writable || event_add(c->readable, NULL) < 0 ||
        core_send_head(c, WIRE_HELLO, 0) < 0) {
        core_drop(c, "greeting", ENOMEM);
        return;
    }
    timer_set(c, WELCOME_MS);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct core *c = arg;

    (void)fd;
    (void)what;
    if (c->state == CORE_GREETING)
        core_drop(c, "no answer to the greeting", ETIMEDOUT);
    else if (c->state == CORE_GONE)
        core_connect(c);
}

int core_new(struct event_base *base, const char *path, const struct core_events *events, void *arg,
             struct core **ret_core)
{
    struct core *c;

    if (strlen(path) >= sizeof(c->addr.sun_path))
        return -ENAMETOOLONG;
    c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->base = base;
    c->events = events;
    c->arg = arg;
    c->fd = -1;
    STAILQ_INIT(&c->queue);
    c->addr.sun_family = AF_UNIX;
    memcpy(c->addr.sun_path, path, strlen(path));
    c->timer = evtimer_new(base, on_timer, c);
    if (!c->timer) {
        free(c);
        return -ENOMEM;
    }
    core_connect(c);
    *ret_core = c;
    return 0;
}

void core_free(struct core *c)
{
    if (!c)
        return;
    core_close(c);
    event_free(c->timer);
    free(c);
}

bool core_is_ready(const struct core *c)
{
    return c->state == CORE_READY;
}
