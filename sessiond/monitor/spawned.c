/* SPDX-License-Identifier: ISC */
/* spawned.c - the monitor's hold on something that the spawner made. */
#include "sessiond/monitor/spawned.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sessiond/monitor/pidfd.h"

#include "common/banned.h"

static void on_pidfd(evutil_socket_t fd, short what, void *arg);

/* Take the pidfd out of REPORT_SPAWNED. Only the spawner, uid 0, can send one with descriptors. */
static void adopt_pidfd(struct spawned *s, struct msg_extra *extra)
{
    s->pidfd = extra->fds[0];
    extra->fds[0] = -1;
    s->pidfd_event = event_new(s->base, s->pidfd, EV_READ | EV_PERSIST, on_pidfd, s);
    if (!s->pidfd_event || event_add(s->pidfd_event, NULL) < 0)
        s->kill_wanted = true;
    if (s->kill_wanted)
        pidfd_kill(s->pidfd);
}

/* Return: true while there may be more to read. */
static bool packet_read(struct spawned *s)
{
    union {
        struct report report;
        struct probe_answer answer;
    } buf;
    struct msg_extra extra;
    size_t n;
    int r = msg_recv(s->sock, &buf, sizeof(buf), &n, &extra);

    if (r == -EAGAIN)
        return false;
    if (r < 0 || n == 0) {
        /* End: with a pidfd, on_pidfd says when it is over; without, clone never happened. */
        (void)event_del(s->sock_event);
        if (s->pidfd < 0)
            s->ops->on_dead(s->arg);
        return false;
    }
    if (s->pidfd < 0 && extra.nfds == 1 && n == sizeof(struct report) &&
        buf.report.kind == REPORT_SPAWNED) {
        s->pid = buf.report.pid;
        adopt_pidfd(s, &extra);
        if (s->ops->on_spawned)
            s->ops->on_spawned(s->arg);
    } else {
        s->ops->on_packet(s->arg, &buf, n, &extra);
    }
    msg_extra_done(&extra);
    return true;
}

static void on_sock(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    /* One packet per turn: the callback may have released everything. */
    (void)packet_read(arg);
}

static void on_pidfd(evutil_socket_t fd, short what, void *arg)
{
    struct spawned *s = arg;

    (void)fd;
    (void)what;
    (void)event_del(s->pidfd_event);
    /* The last words lie in the socket. */
    while (s->sock >= 0 && packet_read(s))
        ;
    if (s->sock >= 0)
        s->ops->on_dead(s->arg);
}

int spawned_start(struct spawned *s, struct event_base *base, int spawner_sock,
                  const struct spawn_request *req, const int *fds, size_t nfds,
                  const struct spawned_ops *ops, void *arg)
{
    cleanup_close int ours = -1, theirs = -1;
    int pair[2], pass[FD_PASS_MAX], on = 1, r;

    *s = (struct spawned){.sock = -1, .pidfd = -1, .base = base, .ops = ops, .arg = arg};
    if (nfds > FD_PASS_MAX - 1)
        return -EINVAL;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    ours = pair[0];
    theirs = pair[1];
    if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0 ||
        setsockopt(ours, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        return -errno;
    s->sock_event = event_new(base, ours, EV_READ | EV_PERSIST, on_sock, s);
    if (!s->sock_event || event_add(s->sock_event, NULL) < 0) {
        spawned_done(s);
        return -ENOMEM;
    }
    pass[0] = theirs;
    if (nfds > 0)
        memcpy(pass + 1, fds, nfds * sizeof(*fds));
    r = msg_send(spawner_sock, req, sizeof(*req), pass, nfds + 1);
    if (r < 0) {
        spawned_done(s);
        return r;
    }
    s->sock = fd_take(&ours);
    return 0;
}

int spawned_go(struct spawned *s)
{
    const char go = 1;

    return msg_send(s->sock, &go, 1, NULL, 0);
}

void spawned_kill(struct spawned *s)
{
    s->kill_wanted = true;
    pidfd_kill(s->pidfd);
}

int spawned_release(struct spawned *s)
{
    int pidfd = fd_take(&s->pidfd);

    spawned_done(s);
    return pidfd;
}

void spawned_done(struct spawned *s)
{
    if (s->pidfd >= 0)
        pidfd_kill(s->pidfd);
    if (s->sock_event)
        event_free(s->sock_event);
    if (s->pidfd_event)
        event_free(s->pidfd_event);
    if (s->sock >= 0)
        (void)close(s->sock);
    if (s->pidfd >= 0)
        (void)close(s->pidfd);
    s->sock_event = s->pidfd_event = NULL;
    s->sock = s->pidfd = -1;
}
