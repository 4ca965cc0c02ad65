/* SPDX-License-Identifier: ISC */
/*
 * pam.c - pam.sock: what the process of a login asks.
 *
 * Nothing of what was typed is logged, not even a name that cannot be one: people type their code
 * there. The verdict is the same for a wrong secret, a name that nobody has and a user who is
 * locked, and magic_link_redeem() does the same work for all of them.
 *
 * While sessiond is away no secret is looked at: the login would fail later, and the link would be
 * used up for nothing.
 */
#include "sessiond/api/pam.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/pam_wire.h"
#include "sessiond/api/app.h"
#include "sessiond/api/clock.h"
#include "sessiond/api/core.h"
#include "sessiond/api/health.h"
#include "sessiond/api/login.h"
#include "sessiond/api/session.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* More wait in the backlog: a login that is not answered within PAM_ASK_MS is denied there. */
#define CONNS_MAX 64u

struct pam_conn {
    TAILQ_ENTRY(pam_conn) link;
    struct pam_door *door;
    int fd;
    struct event *readable; /* with a time-out */
};

struct pam_door {
    struct app *app;
    struct event *acceptable;
    TAILQ_HEAD(, pam_conn) conns;
    unsigned count;
    bool is_quiet;
};

static void conn_close(struct pam_conn *c)
{
    struct pam_door *d = c->door;

    TAILQ_REMOVE(&d->conns, c, link);
    d->count--;
    if (c->readable)
        event_free(c->readable);
    (void)close(c->fd);
    free(c);
    if (!d->is_quiet)
        (void)event_add(d->acceptable, NULL);
}

/* --- questions --- */

/* Would a session come of it? */
static bool is_up(const struct app *app)
{
    return core_is_ready(app->core) && session_table_is_synced(app->sessions) &&
           health_is_alive(app->health) && !app->is_stopping;
}

static enum pam_verdict authenticate(const struct app *app, const struct pam_ask *ask)
{
    enum magic_link_verdict verdict = MAGIC_LINK_REFUSED;
    enum pam_verdict answer = PAM_VERDICT_UNAVAILABLE;
    struct link link = {0};
    int r = -ENOTCONN;

    if (is_up(app)) {
        r = magic_link_redeem(app->links, app->reg, ask->name, ask->secret, strlen(ask->secret),
                              ask->rhost, LINK_PURPOSE_SSH, (int64_t)time(NULL), clock_mono_ms(),
                              &link, &verdict);
        answer = login_verdict_of_redeem(r, verdict);
    }
    if (answer == PAM_VERDICT_ALLOWED)
        log_notice("login accepted user=%s uid=%u link=%s service=%s rhost=%s", link.name, link.uid,
                   link.link_id, ask->service, ask->rhost);
    else if (answer == PAM_VERDICT_DENIED)
        log_notice("login denied name=%s service=%s rhost=%s", ask->name[0] ? ask->name : "?",
                   ask->service, ask->rhost);
    else
        log_error("login not decided: %s service=%s rhost=%s",
                  r == -ENOTCONN ? "sessiond is not there" : strerrorname_np(-r), ask->service,
                  ask->rhost);
    return answer;
}

static const char *reason(enum pam_verdict verdict)
{
    switch (verdict) {
    case PAM_VERDICT_ALLOWED:
        return "allowed";
    case PAM_VERDICT_DENIED:
        return "no such user, or locked";
    case PAM_VERDICT_EXPIRED:
        return "expired";
    case PAM_VERDICT_BUSY:
        return "too many sessions of this user";
    case PAM_VERDICT_UNAVAILABLE:
        return "could not be decided";
    }
    return "?";
}

static enum pam_verdict account(const struct app *app, const struct pam_ask *ask)
{
    struct user user = {0};
    int r = ask->name[0] ? user_by_name(app->reg, ask->name, &user) : -ENOENT;
    enum pam_verdict answer = login_verdict_of_account(
        r, user.state, is_up(app), session_table_count_of(app->sessions, user.uid));

    if (answer != PAM_VERDICT_ALLOWED)
        log_notice("account refused: %s name=%s service=%s rhost=%s", reason(answer),
                   ask->name[0] ? ask->name : "?", ask->service, ask->rhost);
    return answer;
}

static void answer(const struct pam_conn *c, const struct pam_ask *ask)
{
    struct pam_answer a = {
        .version = PAM_WIRE_VERSION,
        .question = ask->question,
        .size_bytes = sizeof(a),
    };
    int r;

    a.verdict = ask->question == PAM_ASK_AUTHENTICATE ? authenticate(c->door->app, ask)
                                                      : account(c->door->app, ask);
    r = msg_send(c->fd, &a, sizeof(a), NULL, 0);
    if (r < 0)
        log_warning("a login did not wait for its answer: %s rhost=%s", strerrorname_np(-r),
                    ask->rhost);
}

/*
 * A login that gave up while we were stopped or not there has denied its user already. Its question
 * is still in the socket; to answer it would use a link up for nothing.
 */
static bool has_left(int fd)
{
    struct pollfd p = {.fd = fd};

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct pam_conn *c = arg;
    struct msg_extra extra = {0};
    struct pam_ask ask = {0};
    size_t size = 0;
    int r = what & EV_READ ? msg_recv(fd, &ask, sizeof(ask), &size, &extra) : -ETIMEDOUT;

    if (r == 0 && extra.nfds > 0)
        r = -EBADMSG;
    msg_extra_done(&extra);
    if (r == 0 && size > 0 && !login_ask_read(&ask, size))
        r = -EBADMSG;
    if (r == 0 && size > 0 && has_left(fd))
        log_warning("a login has not waited for its question to be read: rhost=%s", ask.rhost);
    else if (r == 0 && size > 0)
        answer(c, &ask);
    else if (r < 0)
        log_warning("a login's question could not be read: %s", strerrorname_np(-r));
    sodium_memzero(&ask, sizeof(ask));
    conn_close(c);
}

/* --- connections --- */

static bool is_root(int fd)
{
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && len == sizeof(cred) &&
        cred.uid == 0)
        return true;
    log_notice("denied: Only root may ask about logins door=pam peer_uid=%u", cred.uid);
    return false;
}

/* Takes @fd over. */
static int conn_add(struct pam_door *d, int fd)
{
    static const struct timeval limit = {.tv_sec = PAM_ASK_MS / 1000,
                                         .tv_usec = PAM_ASK_MS % 1000 * 1000};
    struct pam_conn *c = calloc(1, sizeof(*c));

    if (!c) {
        (void)close(fd);
        return -ENOMEM;
    }
    c->door = d;
    c->fd = fd;
    TAILQ_INSERT_TAIL(&d->conns, c, link);
    d->count++;
    c->readable = event_new(d->app->base, fd, EV_READ, on_readable, c);
    if (!c->readable || event_add(c->readable, &limit) < 0) {
        conn_close(c);
        return -ENOMEM;
    }
    return 0;
}

static void on_acceptable(evutil_socket_t listener, short what, void *arg)
{
    struct pam_door *d = arg;

    (void)what;
    while (d->count < CONNS_MAX) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0) {
            if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
                log_error("a login could not be accepted: %s", strerrorname_np(errno));
            return;
        }
        if (!is_root(fd))
            (void)close(fd);
        else if (conn_add(d, fd) < 0)
            log_error("a login could not be accepted: ENOMEM");
    }
    (void)event_del(d->acceptable); /* conn_close() begins again */
}

int pam_door_open(struct app *app, int fd, struct pam_door **ret_door)
{
    struct pam_door *d = calloc(1, sizeof(*d));

    if (!d)
        return -ENOMEM;
    d->app = app;
    TAILQ_INIT(&d->conns);
    d->acceptable = event_new(app->base, fd, EV_READ | EV_PERSIST, on_acceptable, d);
    if (!d->acceptable || event_add(d->acceptable, NULL) < 0) {
        pam_door_close(d);
        return -ENOMEM;
    }
    *ret_door = d;
    return 0;
}

void pam_door_quiesce(struct pam_door *d)
{
    d->is_quiet = true;
    (void)event_del(d->acceptable);
}

void pam_door_close(struct pam_door *d)
{
    if (!d)
        return;
    d->is_quiet = true;
    while (!TAILQ_EMPTY(&d->conns))
        conn_close(TAILQ_FIRST(&d->conns));
    if (d->acceptable)
        event_free(d->acceptable);
    free(d);
}
