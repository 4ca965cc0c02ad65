/* SPDX-License-Identifier: ISC */
/* core.c - core.sock: one api at a time, and a table of what it may ask. */
#include "sessiond/monitor/core.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/wire_net.h"
#include "sessiond/monitor/canary.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/disk.h"
#include "sessiond/monitor/net_count.h"
#include "sessiond/monitor/net_follow.h"
#include "sessiond/monitor/nscd.h"
#include "sessiond/monitor/proc_watch.h"
#include "sessiond/monitor/pwlock.h"
#include "sessiond/monitor/run.h"
#include "sessiond/monitor/session.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define REGISTRY_DIR ATELIER_STATE_DIR "/registry"
#define QUEUE_MAX    4096 /* messages that wait for an api that does not read */

struct queued {
    struct queued *next;
    size_t size;
    uint8_t bytes[];
};

struct core {
    struct monitor *monitor;
    struct run_owner owner;
    struct event *listen_event;
    int fd; /* -1: no api */
    bool greeted;
    bool doomed; /* close at the next turn of the loop, never below a caller that uses the run list
                  */
    struct event *read_event;
    struct event *write_event;
    struct event *doom_event;
    struct queued *queue, **queue_tail;
    unsigned queue_count;
    struct pwlock *lock;
};

typedef void (*request_fn)(struct core *core, const void *msg, struct msg_extra *extra);

static void queue_clear(struct core *core)
{
    while (core->queue) {
        struct queued *q = core->queue;

        core->queue = q->next;
        free(q);
    }
    core->queue_tail = &core->queue;
    core->queue_count = 0;
}

static void connection_close(struct core *core)
{
    if (core->fd < 0)
        return;
    event_free(core->read_event);
    event_free(core->write_event);
    core->read_event = core->write_event = NULL;
    (void)close(core->fd);
    core->fd = -1;
    core->greeted = core->doomed = false;
    queue_clear(core);
    pwlock_drop(core->lock);
    if (run_count_of(core->monitor, &core->owner) > 0)
        log_warning("the api is gone: its runs end runs=%u",
                    run_count_of(core->monitor, &core->owner));
    run_kill_all(core->monitor, &core->owner);
    session_api_gone(core->monitor);
    net_count_forget(core->monitor->net_count);
}

static void connection_doom(struct core *core)
{
    if (core->fd < 0 || core->doomed)
        return;
    core->doomed = true;
    event_active(core->doom_event, 0, 0);
}

static void on_doom(evutil_socket_t fd, short what, void *arg)
{
    struct core *core = arg;

    (void)fd;
    (void)what;
    if (core->doomed)
        connection_close(core);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct core *core = arg;

    (void)what;
    while (core->queue) {
        struct queued *q = core->queue;
        int r = msg_send(fd, q->bytes, q->size, NULL, 0);

        if (r == -EAGAIN) {
            (void)event_add(core->write_event, NULL);
            return;
        }
        if (r < 0) {
            connection_doom(core);
            return;
        }
        core->queue = q->next;
        if (!core->queue)
            core->queue_tail = &core->queue;
        core->queue_count--;
        free(q);
    }
}

bool core_is_up(const struct core *core)
{
    return core->fd >= 0 && core->greeted && !core->doomed;
}

void core_send(struct core *core, struct wire_head *head)
{
    struct queued *q;

    if (core->fd < 0 || core->doomed)
        return;
    head->version = WIRE_VERSION;
    q = malloc(sizeof(*q) + head->size_bytes);
    if (!q || core->queue_count >= QUEUE_MAX) {
        free(q);
        log_error("the api does not read its messages");
        connection_doom(core);
        return;
    }
    q->next = NULL;
    q->size = head->size_bytes;
    memcpy(q->bytes, head, head->size_bytes);
    *core->queue_tail = q;
    core->queue_tail = &q->next;
    if (core->queue_count++ == 0)
        on_writable(core->fd, EV_WRITE, core);
}

static void send_head(struct core *core, enum wire_type type)
{
    struct wire_head head = {.type = type, .size_bytes = sizeof(head)};

    core_send(core, &head);
}

/* --- requests ------------------------------------------------------------------------------ */

static void do_hello(struct core *core, const void *msg, struct msg_extra *extra)
{
    (void)msg;
    (void)extra;
    core->greeted = true;
    send_head(core, WIRE_WELCOME);
    session_announce(core->monitor);
}

static void do_run_start(struct core *core, const void *msg, struct msg_extra *extra)
{
    run_start(core->monitor, &core->owner, msg, extra);
}

static void do_run_kill(struct core *core, const void *msg, struct msg_extra *extra)
{
    const struct wire_run_kill *k = msg;

    (void)extra;
    run_kill(core->monitor, &core->owner, k->head.tag);
}

static void do_lock_take(struct core *core, const void *msg, struct msg_extra *extra)
{
    (void)msg;
    (void)extra;
    pwlock_take(core->lock);
}

static void do_lock_drop(struct core *core, const void *msg, struct msg_extra *extra)
{
    (void)msg;
    (void)extra;
    pwlock_drop(core->lock);
}

static void do_session_answer(struct core *core, const void *msg, struct msg_extra *extra)
{
    (void)extra;
    session_answer(core->monitor, msg);
}

static void do_session_kill(struct core *core, const void *msg, struct msg_extra *extra)
{
    const struct wire_session_kill *k = msg;

    (void)extra;
    session_kill(core->monitor, k->session_id);
}

static void do_user_kill(struct core *core, const void *msg, struct msg_extra *extra)
{
    const struct wire_user_kill *k = msg;

    (void)extra;
    run_kill_user(core->monitor, k->uid);
    session_kill_user(core->monitor, k->uid);
}

static void do_nss_changed(struct core *core, const void *msg, struct msg_extra *extra)
{
    (void)msg;
    (void)extra;
    nscd_changed(core->monitor->nscd);
}

void core_status(const struct monitor *m, struct wire_status *ret_status)
{
    canary_report(m->canary, ret_status);
    ret_status->net_revision = m->net_revision;
    ret_status->net_connections = m->net_limit.is_held ? m->net_limit.connections : 0;
    ret_status->cgroup_mode = cgroup_mode(m->cgroup);
    ret_status->runs = m->run_count;
    ret_status->sessions = session_count(m);
    ret_status->landlock_abi = m->scope.abi;
    ret_status->limits_grouped = cgroup_limits(m->cgroup);
    if (proc_watch_works())
        ret_status->limits_watched =
            (WIRE_LIMIT_MEMORY | WIRE_LIMIT_PIDS) & ~ret_status->limits_grouped;
    disk_report(m->disk, ret_status);
    ret_status->net_group = m->net_cgroup != 0;
    net_follow_report(m->net_follow, ret_status);
}

static void do_status_get(struct core *core, const void *msg, struct msg_extra *extra)
{
    struct wire_status st = {.head = {.type = WIRE_STATUS, .size_bytes = sizeof(st)}};

    (void)msg;
    (void)extra;
    core_status(core->monitor, &st);
    core_send(core, &st.head);
}

static void do_net_get(struct core *core, const void *msg, struct msg_extra *extra)
{
    const struct wire_net_get *g = msg;

    (void)extra;
    net_count_ask(core->monitor->net_count, g->uid);
}

/* What may be asked, how long it is, and how many descriptors come with it. */
static const struct request {
    enum wire_type type;
    size_t size;
    size_t nfds;
    bool before_hello;
    request_fn fn;
} requests[] = {
    {WIRE_HELLO, sizeof(struct wire_head), 0, true, do_hello},
    {WIRE_RUN_START, sizeof(struct wire_run_start), WIRE_RUN_FD_COUNT, false, do_run_start},
    {WIRE_RUN_KILL, sizeof(struct wire_run_kill), 0, false, do_run_kill},
    {WIRE_LOCK_TAKE, sizeof(struct wire_head), 0, false, do_lock_take},
    {WIRE_LOCK_DROP, sizeof(struct wire_head), 0, false, do_lock_drop},
    {WIRE_STATUS_GET, sizeof(struct wire_head), 0, false, do_status_get},
    {WIRE_SESSION_ANSWER, sizeof(struct wire_session_answer), 0, false, do_session_answer},
    {WIRE_SESSION_KILL, sizeof(struct wire_session_kill), 0, false, do_session_kill},
    {WIRE_USER_KILL, sizeof(struct wire_user_kill), 0, false, do_user_kill},
    {WIRE_NSS_CHANGED, sizeof(struct wire_head), 0, false, do_nss_changed},
    {WIRE_NET_GET, sizeof(struct wire_net_get), 0, false, do_net_get},
};

static const struct request *request_find(const struct core *core, const struct wire_head *head,
                                          size_t size, size_t nfds)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        const struct request *q = &requests[i];

        if (q->type == head->type && q->size == size && q->nfds == nfds &&
            (core->greeted != q->before_hello))
            return q;
    }
    return NULL;
}

/* Return: false if the peer broke the protocol. */
static bool packet_handle(struct core *core, const void *buf, size_t size, struct msg_extra *extra)
{
    const struct request *q;
    struct wire_head head;

    if (size < sizeof(head))
        return false;
    memcpy(&head, buf, sizeof(head));
    if (head.version != WIRE_VERSION || head.size_bytes != size)
        return false;
    q = request_find(core, &head, size, extra->nfds);
    if (!q)
        return false;
    q->fn(core, buf, extra);
    return true;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    static union {
        struct wire_head head;
        struct wire_run_start start;
        struct wire_session_answer answer;
    } buf;
    struct core *core = arg;
    struct msg_extra extra;
    size_t n;
    int r = msg_recv(fd, &buf, sizeof(buf), &n, &extra);

    (void)what;
    if (r == -EAGAIN)
        return;
    if (r < 0 || n == 0) {
        connection_close(core);
        return;
    }
    if (!packet_handle(core, &buf, n, &extra)) {
        log_error("the api broke the protocol type=%u size=%zu", buf.head.type, n);
        connection_doom(core);
    }
    msg_extra_done(&extra);
}

/* --- connection ---------------------------------------------------------------------------- */

static bool peer_is_api(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    struct stat st;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || lstat(REGISTRY_DIR, &st) < 0 ||
        !S_ISDIR(st.st_mode))
        return false;
    if (peer.uid == st.st_uid && peer.uid != 0)
        return true;
    log_notice("a connection to core.sock is refused uid=%u", peer.uid);
    return false;
}

static void on_accept(evutil_socket_t listen_fd, short what, void *arg)
{
    struct core *core = arg;
    cleanup_close int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)what;
    if (fd < 0 || !peer_is_api(fd))
        return;
    /* A new api replaces the old one: after a crash its socket may linger for a moment. */
    connection_close(core);
    core->read_event = event_new(core->monitor->base, fd, EV_READ | EV_PERSIST, on_readable, core);
    core->write_event = event_new(core->monitor->base, fd, EV_WRITE, on_writable, core);
    if (!core->read_event || !core->write_event || event_add(core->read_event, NULL) < 0) {
        log_error("out of memory for the api's connection");
        if (core->read_event)
            event_free(core->read_event);
        if (core->write_event)
            event_free(core->write_event);
        return;
    }
    core->fd = fd_take(&fd);
}

static void on_run(void *arg, struct wire_head *msg)
{
    core_send(arg, msg);
}

static void on_lock(void *arg, enum pwlock_result result)
{
    static const enum wire_type types[] = {
        [PWLOCK_TAKEN] = WIRE_LOCK_TAKEN,
        [PWLOCK_BUSY] = WIRE_LOCK_BUSY,
        [PWLOCK_LOST] = WIRE_LOCK_LOST,
    };

    send_head(arg, types[result]);
}

int core_new(struct monitor *m, int listen_fd)
{
    struct core *core = calloc(1, sizeof(*core));

    if (!core)
        return -ENOMEM;
    core->monitor = m;
    core->owner = (struct run_owner){.tell = on_run, .arg = core};
    core->fd = -1;
    core->queue_tail = &core->queue;
    core->lock = pwlock_new(m->base, on_lock, core);
    core->doom_event = event_new(m->base, -1, 0, on_doom, core);
    core->listen_event = event_new(m->base, listen_fd, EV_READ | EV_PERSIST, on_accept, core);
    if (!core->lock || !core->doom_event || !core->listen_event ||
        event_add(core->listen_event, NULL) < 0) {
        core_free(core);
        return -ENOMEM;
    }
    m->core = core;
    return 0;
}

void core_free(struct core *core)
{
    if (!core)
        return;
    if (core->lock)
        connection_close(core);
    if (core->listen_event)
        event_free(core->listen_event);
    if (core->doom_event)
        event_free(core->doom_event);
    pwlock_free(core->lock);
    free(core);
}
