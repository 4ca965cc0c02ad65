/* SPDX-License-Identifier: ISC */
/* session_door.c - session.sock: what a login says. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"
#include "common/sabotage.h"
#include "sessiond/monitor/core.h"
#include "sessiond/monitor/doctor.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/request.h"
#include "sessiond/monitor/session_internal.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define GREETING_LIMIT_MS 5000

static void ask(struct session *s)
{
    struct monitor *m = s->monitor;
    struct wire_session_ask msg = {
        .head = {.type = WIRE_SESSION_ASK, .size_bytes = sizeof(msg)},
        .uid = s->record.uid,
        .holder_pid = s->record.holder_pid,
    };

    if (!core_is_up(m->core)) {
        session_deny(s, WIRE_STEP_ASK, ENOTCONN, "there is no api");
        return;
    }
    if (++m->session_tags == 0)
        m->session_tags = 1;
    s->tag = msg.head.tag = m->session_tags;
    memcpy(msg.service, s->record.service, sizeof(msg.service));
    memcpy(msg.tty, s->tty, sizeof(msg.tty));
    memcpy(msg.rhost, s->record.rhost, sizeof(msg.rhost));
    s->state = STATE_ASKING;
    if (session_timer(s, WIRE_SESSION_ASK_MS) < 0)
        session_deny(s, WIRE_STEP_ASK, ENOMEM, "");
    else
        core_send(m->core, &msg.head);
}

static void allow_doctors(struct session *s)
{
    struct wire_session_answer answer;

    log_info("doctor: a session of a throw-away participant uid=%u", s->record.uid);
    doctor_allow(s->record.uid, &answer);
    s->state = STATE_ASKING;
    session_allow(s, &answer);
}

/* The connection is another one's from now on. */
static void hand_to_doctor(struct session *s)
{
    struct monitor *m = s->monitor;
    pid_t pid = (pid_t)s->record.holder_pid;
    int conn = s->conn;

    event_free(s->conn_event);
    s->conn_event = NULL;
    s->conn = -1;
    session_free(s);
    doctor_begin(m, conn, pid);
}

static void open_session(struct session *s, const struct session_open *msg)
{
    struct monitor *m = s->monitor;
    int r;

    s->record.uid = msg->uid;
    s->is_doctors = doctor_has_uid(m, msg->uid);
    if ((!id_is_allocatable(msg->uid) && !s->is_doctors) ||
        !request_text_take(msg->service, s->record.service, sizeof(s->record.service)) ||
        !request_text_take(msg->tty, s->tty, sizeof(s->tty)) ||
        !request_text_take(msg->rhost, s->record.rhost, sizeof(s->record.rhost))) {
        session_deny(s, WIRE_STEP_REQUEST, EINVAL, "open");
        return;
    }
    /* This one counts as well. */
    if (session_count_of(m, msg->uid) >= WIRE_SESSIONS_PER_USER_MAX ||
        session_count_all(m) > WIRE_SESSIONS_MAX) {
        session_deny(s, WIRE_STEP_BUSY, EAGAIN, "");
        return;
    }
    r = receipt_filters((pid_t)s->record.holder_pid, &s->terms.filters_before);
    if (r < 0) {
        session_deny(s, WIRE_STEP_LEASE, -r, "the login's process");
        return;
    }
    if (s->is_doctors)
        allow_doctors(s);
    else
        ask(s);
}

/* Return: false if the peer broke the protocol. */
static bool packet_handle(struct session *s, const void *buf, size_t size)
{
    struct session_head head;

    if (size < sizeof(head))
        return false;
    memcpy(&head, buf, sizeof(head));
    if (head.version != SESSION_WIRE_VERSION || head.size_bytes != size)
        return false;
    if (head.type == SESSION_OPEN && size == sizeof(struct session_open) &&
        s->state == STATE_GREETING) {
        open_session(s, buf);
        return true;
    }
    if (head.type == SESSION_LEASE && size == sizeof(struct session_lease) &&
        s->state == STATE_OPENED && !s->is_leasing) {
        session_lease(s, buf);
        return true;
    }
    if (head.type == SESSION_DOCTOR && size == sizeof(head) && s->state == STATE_GREETING) {
        hand_to_doctor(s);
        return true;
    }
    if (head.type == SESSION_CLOSE && size == sizeof(head)) {
        session_end(s, WIRE_SESSION_END_CLOSED);
        return true;
    }
    return false;
}

static void on_conn(evutil_socket_t fd, short what, void *arg)
{
    union {
        struct session_head head;
        struct session_open open;
        struct session_lease lease;
    } buf;
    struct session *s = arg;
    struct msg_extra extra;
    size_t n;
    int r = msg_recv(fd, &buf, sizeof(buf), &n, &extra);

    (void)what;
    if (r == -EAGAIN)
        return;
    if (r < 0 || n == 0) {
        session_end(s, WIRE_SESSION_END_LEFT);
        return;
    }
    msg_extra_done(&extra);
    if (!packet_handle(s, &buf, n)) {
        log_error("a login broke the protocol pid=%u", s->record.holder_pid);
        session_end(s, WIRE_SESSION_END_LEFT);
    }
}

/*
 * The login's process by pidfd. It waits for an answer of ours, and nobody has a copy of its
 * connection yet: as long as that is open behind the pidfd_open, the number was its own.
 */
static int holder_watch(struct session *s, pid_t pid)
{
    struct pollfd p = {.fd = s->conn, .events = POLLIN};

    s->record.holder_pid = (uint32_t)pid;
    s->holder_pidfd = pidfd_of(pid);
    if (s->holder_pidfd < 0)
        return s->holder_pidfd;
    if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0)
        return -ESRCH;
    if (SABOTAGED("lease"))
        return 0;
    return session_watch(s, s->holder_pidfd, session_on_holder, &s->holder_event);
}

static void on_accept(evutil_socket_t listen_fd, short what, void *arg)
{
    struct monitor *m = arg;
    cleanup_close int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    struct session *s;
    int r;

    (void)what;
    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != 0 ||
        peer.pid <= 0) {
        log_notice("a connection to session.sock is refused uid=%u", peer.uid);
        return;
    }
    s = session_count_all(m) < DOOR_MAX ? session_new(m) : NULL;
    if (!s) {
        log_error("no room for another login");
        return;
    }
    s->conn = fd_take(&fd);
    r = holder_watch(s, peer.pid);
    if (r == 0)
        r = session_watch(s, s->conn, on_conn, &s->conn_event);
    if (r == 0)
        r = session_timer(s, GREETING_LIMIT_MS);
    if (r < 0) {
        log_error("a login cannot be served pid=%d errno=%d", peer.pid, -r);
        session_free(s);
    }
}

int session_door_open(struct monitor *m, int listen_fd)
{
    struct event *accept_event = event_new(m->base, listen_fd, EV_READ | EV_PERSIST, on_accept, m);

    return accept_event && event_add(accept_event, NULL) == 0 ? 0 : -ENOMEM;
}
