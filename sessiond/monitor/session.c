/* SPDX-License-Identifier: ISC */
/* session.c - the life of a session in the root process. */
#include "sessiond/monitor/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/core.h"
#include "sessiond/monitor/filter_proof.h"
#include "sessiond/monitor/home.h"
#include "sessiond/monitor/home_fleeting.h"
#include "sessiond/monitor/hosttree.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/request.h"
#include "sessiond/monitor/session_internal.h"
#include "sessiond/monitor/session_offer.h"
#include "sessiond/monitor/utmp.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define SETUP_LIMIT_MS 5000 /* from the spawner's request to the init's READY */

/* --- list ---------------------------------------------------------------------------------- */

static struct session *session_by_id(struct monitor *m, const char *session_id)
{
    for (struct session *s = m->sessions; s; s = s->next) {
        if (s->is_allowed && strncmp(s->record.session_id, session_id, WIRE_SESSION_ID_SIZE) == 0)
            return s;
    }
    return NULL;
}

uint32_t session_count_all(const struct monitor *m)
{
    uint32_t n = 0;

    for (const struct session *s = m->sessions; s; s = s->next)
        n++;
    return n;
}

/* Of this user, from the question on. */
uint32_t session_count_of(const struct monitor *m, uint32_t uid)
{
    uint32_t n = 0;

    for (const struct session *s = m->sessions; s; s = s->next)
        n += s->state != STATE_GREETING && s->record.uid == uid;
    return n;
}

uint32_t session_count(const struct monitor *m)
{
    uint32_t n = 0;

    for (const struct session *s = m->sessions; s; s = s->next)
        n += s->state == STATE_LIVE;
    return n;
}

bool session_any(const struct monitor *m)
{
    return m->sessions != NULL;
}

/* --- handles ------------------------------------------------------------------------------- */

/* Watch a descriptor for reading, for good. Return: 0 or -ENOMEM. */
int session_watch(struct session *s, int fd, event_callback_fn fn, struct event **ret_event)
{
    struct event *e = event_new(s->monitor->base, fd, EV_READ | EV_PERSIST, fn, s);

    if (!e || event_add(e, NULL) < 0) {
        if (e)
            event_free(e);
        return -ENOMEM;
    }
    *ret_event = e;
    return 0;
}

void session_unwatch(struct event **event, int *fd)
{
    if (*event)
        event_free(*event);
    *event = NULL;
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

int session_timer(struct session *s, int64_t ms)
{
    struct timeval tv = ms_timeval(ms);

    return event_add(s->timer, &tv) < 0 ? -ENOMEM : 0;
}

/* Unlink and release. Nothing of the session is left when this is called. */
void session_free(struct session *s)
{
    struct monitor *m = s->monitor;

    for (struct session **p = &m->sessions; *p; p = &(*p)->next) {
        if (*p == s) {
            *p = s->next;
            break;
        }
    }
    canary_cancel(m->canary, &s->waiter);
    disk_release(m->disk, &s->disk_user);
    filter_proof_cancel(s->proof);
    spawned_done(&s->spawned);
    cgroup_leaf_drop(s->leaf);
    proc_watch_done(&s->proc_watch);
    session_unwatch(&s->conn_event, &s->conn);
    session_unwatch(&s->holder_event, &s->holder_pidfd);
    session_unwatch(&s->init_event, &s->init_pidfd);
    if (s->timer)
        event_free(s->timer);
    free(s);
}

void session_say(struct session *s, enum session_type type)
{
    struct session_head head = {
        .version = SESSION_WIRE_VERSION, .type = type, .size_bytes = sizeof(head)};

    if (s->conn >= 0)
        (void)msg_send(s->conn, &head, sizeof(head), NULL, 0);
}

/* --- end ----------------------------------------------------------------------------------- */

void session_utmp_entry(const struct session *s, struct utmp_entry *ret)
{
    *ret = (struct utmp_entry){
        .slot = s->record.slot,
        .pid = (pid_t)s->record.holder_pid,
        .user = s->record.name,
        .rhost = s->record.rhost,
        .at_us = clock_wall_us(),
    };
}

static void tell_ended(struct session *s)
{
    struct wire_session_ended msg = {
        .head = {.type = WIRE_SESSION_ENDED, .size_bytes = sizeof(msg)},
        .uid = s->record.uid,
        .end = s->end,
        .ended_us = clock_wall_us(),
    };
    struct utmp_entry entry;
    int r;

    memcpy(msg.session_id, s->record.session_id, sizeof(msg.session_id));
    session_group_leave(s, &msg.usage);
    if (s->is_doctors)
        return;
    session_utmp_entry(s, &entry);
    r = utmp_logout(&entry);
    if (r < 0)
        log_warning("no record of a logout in utmp or wtmp errno=%d", -r);
    core_send(s->monitor->core, &msg.head);
}

/* The init is reaped, and with it every process of the session. */
void session_over(struct session *s)
{
    if (s->was_live) {
        tell_ended(s);
        session_store_drop(s->record.session_id);
    }
    session_free(s);
}

/* Kill what there is. The first reason counts. May free the session. */
void session_end(struct session *s, enum wire_session_end end)
{
    if (!s->has_end) {
        s->has_end = true;
        s->end = end;
    }
    if (s->state == STATE_ENDING)
        return;
    session_unwatch(&s->conn_event, &s->conn);
    (void)event_del(s->timer);
    if (s->state == STATE_LIVE) {
        s->state = STATE_ENDING;
        pidfd_kill(s->init_pidfd);
    } else if (s->state == STATE_SPAWNING || s->state == STATE_OPENED) {
        s->state = STATE_ENDING;
        spawned_kill(&s->spawned);
    } else {
        session_free(s);
    }
}

/* The login hears no more than whether it is worth trying again. */
static void denied_say(struct session *s, enum wire_step step, int error)
{
    const bool is_limit = (step == WIRE_STEP_CGROUP || step == WIRE_STEP_DISK) && error == ENOTSUP;
    struct session_head head = {
        .version = SESSION_WIRE_VERSION,
        .type = SESSION_DENIED,
        .size_bytes = sizeof(head),
        .reserved = is_limit ? SESSION_DENIED_LIMIT : SESSION_DENIED_ANY,
    };

    if (s->conn >= 0)
        (void)msg_send(s->conn, &head, sizeof(head), NULL, 0);
}

/* There will be no session: tell the login, and the api if it allowed one. May free it. */
void session_deny(struct session *s, enum wire_step step, int error, const char *what)
{
    log_notice("a login is denied uid=%u step=%u errno=%d what=%s", s->record.uid, step, error,
               what);
    if (s->is_allowed && s->tag != 0) {
        struct wire_session_failed msg = {
            .head = {.type = WIRE_SESSION_FAILED, .size_bytes = sizeof(msg), .tag = s->tag},
            .uid = s->record.uid,
            .step = step,
            .error = (uint32_t)error,
        };

        memcpy(msg.session_id, s->record.session_id, sizeof(msg.session_id));
        str_cut(msg.what, sizeof(msg.what), what);
        core_send(s->monitor->core, &msg.head);
    }
    denied_say(s, step, error);
    session_end(s, WIRE_SESSION_END_KILLED);
}

/* Nobody is there who would notice the end of the client, look after look: it counts as gone. */
static void look(struct session *s)
{
    session_group_look(s);
    s->stopped_looks = lease_is_stopped((pid_t)s->record.holder_pid) ? s->stopped_looks + 1 : 0;
    if (s->stopped_looks < SESSION_LOOKS_MAX && session_timer(s, SESSION_LOOK_MS) == 0)
        return;
    log_notice("a login was stopped: its session ends uid=%u", s->record.uid);
    session_end(s, WIRE_SESSION_END_LEFT);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct session *s = arg;

    (void)fd;
    (void)what;
    switch (s->state) {
    case STATE_GREETING:
        session_end(s, WIRE_SESSION_END_LEFT);
        return;
    case STATE_ASKING:
        session_deny(s, WIRE_STEP_ASK, ETIMEDOUT, "the api does not answer");
        return;
    case STATE_CANARY:
    case STATE_SPAWNING:
        session_deny(s, WIRE_STEP_SPAWN, ETIMEDOUT, "set-up took too long");
        return;
    case STATE_OPENED:
        session_deny(s, WIRE_STEP_LEASE, ETIMEDOUT, "the login did not join");
        return;
    case STATE_LIVE:
        look(s);
        return;
    case STATE_ENDING:
        return;
    }
}

/* --- living -------------------------------------------------------------------------------- */

void session_on_init(evutil_socket_t fd, short what, void *arg)
{
    struct session *s = arg;

    (void)fd;
    (void)what;
    /* By itself it ends only after the login's process. */
    if (!s->has_end)
        s->end = pidfd_has_exited(s->holder_pidfd) ? WIRE_SESSION_END_LEFT : WIRE_SESSION_END_LOST;
    session_over(s);
}

void session_on_holder(evutil_socket_t fd, short what, void *arg)
{
    struct session *s = arg;

    (void)fd;
    (void)what;
    (void)event_del(s->holder_event);
    session_end(s, WIRE_SESSION_END_LEFT);
}

void session_tell_started(const struct session *s)
{
    struct wire_session_started msg = {
        .head = {.type = WIRE_SESSION_STARTED, .size_bytes = sizeof(msg), .tag = s->tag},
        .uid = s->record.uid,
        .holder_pid = s->record.holder_pid,
        .init_pid = s->record.init_pid,
        .is_scoped = s->record.is_scoped,
        .started_us = s->record.started_us,
        .receipt = s->record.receipt,
        .watch.memory_max = session_memory_watched(s),
    };

    memcpy(msg.session_id, s->record.session_id, sizeof(msg.session_id));
    memcpy(msg.service, s->record.service, sizeof(msg.service));
    memcpy(msg.rhost, s->record.rhost, sizeof(msg.rhost));
    utmp_line(s->record.slot, msg.line);
    core_send(s->monitor->core, &msg.head);
}
_Static_assert(UTMP_LINE_SIZE == WIRE_TTY_SIZE, "a line fits");

/* --- making -------------------------------------------------------------------------------- */

/* The namespaces stand: offer them to the login. READY and the pidfd come in any order. */
static void offer(struct session *s)
{
    uint64_t start;
    int r;

    if (s->state != STATE_SPAWNING || s->record.init_pid == 0 || s->spawned.pidfd < 0)
        return;
    r = receipt_namespaces((pid_t)s->record.init_pid, s->terms.init_ns);
    if (r == 0)
        r = process_start(s->record.init_pid, &s->record.init_start);
    if (r == 0)
        r = process_start(s->record.holder_pid, &start);
    /* Is it the process that asked? Its pidfd says that it lives, so the number is its own. */
    if (r == 0 && pidfd_has_exited(s->holder_pidfd))
        r = -ESRCH;
    if (r == 0)
        r = session_group_enter(s);
    if (r == 0) {
        s->record.holder_start = start;
        r = session_offer_send(s->conn, s->record.session_id, &s->request.plan, s->spawned.pidfd,
                               &s->monitor->scope);
    }
    if (r == 0)
        r = session_timer(s, SESSION_LEASE_MS);
    if (r < 0) {
        session_deny(s, WIRE_STEP_LEASE, -r, "offer");
        return;
    }
    s->state = STATE_OPENED;
}

static void session_on_packet(void *arg, const void *buf, size_t size,
                              const struct msg_extra *extra)
{
    struct session *s = arg;
    struct report rep;

    if (size != sizeof(rep) || s->state != STATE_SPAWNING)
        return;
    memcpy(&rep, buf, sizeof(rep));
    rep.what[sizeof(rep.what) - 1] = '\0';
    if (rep.kind == REPORT_READY) {
        s->record.init_pid = (uint32_t)extra->pid;
        offer(s);
    } else if (rep.kind == REPORT_FAILED && rep.step < WIRE_STEP__COUNT)
        session_deny(s, (enum wire_step)rep.step, (int)rep.error, rep.what);
}

static void session_on_spawned(void *arg)
{
    offer(arg);
}

static void session_on_dead(void *arg)
{
    struct session *s = arg;

    if (s->state != STATE_ENDING) {
        session_deny(s, WIRE_STEP_SPAWN, EPIPE, "the init died");
        /* That asked for a death that has happened already. */
    }
    session_over(s);
}

static const struct spawned_ops session_ops = {
    .on_packet = session_on_packet, .on_spawned = session_on_spawned, .on_dead = session_on_dead};

static void fds_done(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

static int session_home(const struct session *s, int *ret_tree, const char **ret_what)
{
    const struct spawn_request *req = &s->request;

    if (s->is_doctors)
        return home_fleeting(req->uid, req->gid, HOME_WHOLE, ret_tree, ret_what);
    return home_tree(req->name, req->uid, req->gid, HOME_WHOLE, s->disk_user.home != NULL, ret_tree,
                     ret_what);
}

static void session_spawn(struct session *s)
{
    int fds[SPAWN_SESSION_FD_COUNT - 1 + CGROUP_TREES_MAX + PLAN_MOUNTS_MAX];
    int *groups = fds + SPAWN_SESSION_FD_COUNT - 1, r;
    cleanup_close int tree = -1;
    const char *what = "";
    size_t group_count, count;

    r = session_home(s, &tree, &what);
    if (r < 0) {
        session_deny(s, WIRE_STEP_HOME, -r, what);
        return;
    }
    fds[SPAWN_SESSION_FD_HOME - 1] = tree;
    fds[SPAWN_SESSION_FD_HOLDER - 1] = s->holder_pidfd;
    r = session_group_make(s, groups, &group_count, &what);
    if (r < 0) {
        session_deny(s, WIRE_STEP_CGROUP, -r, what);
        return;
    }
    r = hosttree_open(&s->request.plan, groups + group_count, &what);
    if (r < 0) {
        fds_done(groups, group_count);
        session_deny(s, WIRE_STEP_MOUNT, -r, what);
        return;
    }
    count = group_count + plan_mount_count(&s->request.plan);
    r = hosttree_identify(&s->request.plan, groups + group_count, s->mounts);
    if (r == 0)
        r = session_timer(s, SETUP_LIMIT_MS);
    if (r == 0)
        r = spawned_start(&s->spawned, s->monitor->base, s->monitor->spawner_sock, &s->request, fds,
                          SPAWN_SESSION_FD_COUNT - 1 + count, &session_ops, s);
    fds_done(groups, count);
    if (r < 0) {
        session_deny(s, WIRE_STEP_SPAWN, -r, "");
        return;
    }
    s->state = STATE_SPAWNING;
}

static void on_canary(void *arg, enum wire_canary verdict, const char *what)
{
    struct session *s = arg;

    if (verdict == WIRE_CANARY_HOLDS)
        session_spawn(s);
    else
        session_deny(s, WIRE_STEP_CANARY, 0, what);
}

/* The canary comes last: to wait for a home may take longer than its word is good for. */
static void on_disk(void *arg, int error, const char *what)
{
    struct session *s = arg;

    if (error != 0)
        session_deny(s, WIRE_STEP_DISK, error, what);
    else
        canary_require(s->monitor->canary, &s->waiter);
}

/* Nothing of the doctor's is on the disk. */
static void disk_start(struct session *s)
{
    if (s->is_doctors)
        on_disk(s, 0, "");
    else
        disk_require(s->monitor->disk, &s->disk_user);
}

/* Everything that the api says is checked again here. Return: the wrong field, or NULL. */
static const char *answer_fault(struct monitor *m, const struct session *s,
                                const struct wire_session_answer *msg)
{
    if (msg->uid != s->record.uid)
        return "uid";
    if (msg->gid != msg->uid)
        return "gid";
    if (!name_is_valid_n(msg->name, sizeof(msg->name)))
        return "name";
    if (!request_groups_are_valid(msg->gid, msg->groups, msg->group_count))
        return "groups";
    if (msg->profile != WIRE_PROFILE_LOGIN)
        return "profile";
    if (!request_mode_is_met(msg->cgroup_mode, cgroup_mode(m->cgroup)))
        return "cgroup_mode";
    if (!request_id_is_valid(msg->session_id) || session_by_id(m, msg->session_id))
        return "session_id";
    if (!request_shell_is_valid(msg->shell))
        return "shell";
    return NULL;
}

/* What the policy gives this user, from here to the end of the session. */
static void plan_make(struct session *s)
{
    const struct plan_ask nothing = {0};
    uint32_t gids[WIRE_GROUPS_MAX];
    const char *field;

    for (uint32_t i = 0; i < s->request.group_count; i++)
        gids[i] = s->request.groups[i].gid;
    (void)policy_plan(s->monitor->policy, POLICY_LOGIN, s->request.uid, gids,
                      s->request.group_count, &nothing, &s->request.plan, &field);
    s->terms.plan = &s->request.plan;
    s->terms.mounts = s->mounts;
}

void session_answer(struct monitor *m, const struct wire_session_answer *msg)
{
    struct session *s = m->sessions;

    while (s && (s->state != STATE_ASKING || s->tag != msg->head.tag))
        s = s->next;
    if (s)
        session_allow(s, msg);
}

void session_allow(struct session *s, const struct wire_session_answer *msg)
{
    struct monitor *m = s->monitor;
    char unmet[PLAN_UNMET_SIZE];
    const char *fault;

    if (msg->verdict != WIRE_SESSION_ALLOW) {
        session_deny(s, WIRE_STEP_ASK, EACCES, "denied by the api");
        return;
    }
    fault = answer_fault(m, s, msg);
    if (fault) {
        log_error("a session is refused field=%s", fault);
        session_deny(s, WIRE_STEP_REQUEST, EINVAL, fault);
        return;
    }
    s->is_allowed = true;
    s->request = (struct spawn_request){
        .kind = SPAWN_SESSION,
        .uid = msg->uid,
        .gid = msg->gid,
        .net = WIRE_NET_PUBLIC,
        .group_count = msg->group_count,
    };
    memcpy(s->request.groups, msg->groups, sizeof(s->request.groups));
    plan_make(s);
    memcpy(s->request.name, msg->name, sizeof(s->request.name));
    memcpy(s->request.shell, msg->shell, sizeof(s->request.shell));
    memcpy(s->record.name, msg->name, sizeof(s->record.name));
    memcpy(s->record.session_id, msg->session_id, sizeof(s->record.session_id));
    s->disk_user.uid = msg->uid;
    s->state = STATE_CANARY;
    if (session_timer(s, SETUP_LIMIT_MS) < 0) {
        session_deny(s, WIRE_STEP_CANARY, ENOMEM, "");
        return;
    }
    if (plan_unmet(&s->request.plan, 0, cgroup_limits(m->cgroup), unmet)) {
        session_deny(s, WIRE_STEP_CGROUP, ENOTSUP, unmet);
        return;
    }
    disk_start(s);
}

struct session *session_new(struct monitor *m)
{
    struct session *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->monitor = m;
    s->conn = s->holder_pidfd = s->init_pidfd = -1;
    s->spawned = (struct spawned){.sock = -1, .pidfd = -1};
    s->waiter = (struct canary_waiter){.fn = on_canary, .arg = s};
    s->disk_user = (struct disk_user){
        .name = s->record.name, .size = &s->request.plan.disk, .fn = on_disk, .arg = s};
    s->timer = evtimer_new(m->base, on_timer, s);
    if (!s->timer) {
        free(s);
        return NULL;
    }
    s->next = m->sessions;
    m->sessions = s;
    return s;
}

/* --- by order ------------------------------------------------------------------------------ */

static void session_stop(struct session *s, enum wire_session_end end)
{
    if (s->state == STATE_LIVE || s->state == STATE_ENDING)
        session_end(s, end);
    else
        session_deny(s, WIRE_STEP_ASK, ECANCELED, "ended by order");
}

void session_kill(struct monitor *m, const char *session_id)
{
    struct session *s = session_by_id(m, session_id);

    if (s)
        session_stop(s, WIRE_SESSION_END_KILLED);
}

void session_kill_user(struct monitor *m, uint32_t uid)
{
    for (struct session *s = m->sessions, *next; s; s = next) {
        next = s->next;
        if (s->state != STATE_GREETING && s->record.uid == uid)
            session_stop(s, WIRE_SESSION_END_KILLED);
    }
}

void session_kill_unsafe(struct monitor *m)
{
    for (struct session *s = m->sessions, *next; s; s = next) {
        next = s->next;
        /* Those before SPAWNING wait for the canary and hear it from there. */
        if (s->state == STATE_SPAWNING || s->state == STATE_OPENED || s->state == STATE_LIVE)
            session_stop(s, WIRE_SESSION_END_UNSAFE);
    }
}

void session_api_gone(struct monitor *m)
{
    for (struct session *s = m->sessions, *next; s; s = next) {
        next = s->next;
        s->tag = s->state == STATE_ASKING ? s->tag : 0;
        if (s->state == STATE_ASKING)
            session_deny(s, WIRE_STEP_ASK, ENOTCONN, "the api is gone");
    }
}

void session_announce(struct monitor *m)
{
    struct wire_head synced = {.type = WIRE_SESSION_SYNCED, .size_bytes = sizeof(synced)};

    for (const struct session *s = m->sessions; s; s = s->next) {
        if (s->state == STATE_LIVE && !s->is_doctors)
            session_tell_started(s);
    }
    core_send(m->core, &synced);
}

int session_init(struct monitor *m, int listen_fd, const char **ret_what)
{
    int r;

    *ret_what = ATELIER_RUN_DIR "/sessions";
    r = session_store_init();
    if (r == 0)
        r = session_adopt(m);
    if (r < 0)
        return r;
    if (r > 0)
        log_error("records of sessions could not be read count=%d", r);
    *ret_what = "filter of sessions";
    r = session_offer_init();
    if (r < 0)
        return r;
    *ret_what = "session.sock";
    return session_door_open(m, listen_fd);
}
