/* SPDX-License-Identifier: ISC */
/* doctor.c - `atelier doctor` at session.sock: throw-away participants who attack this host. */
#include "sessiond/monitor/doctor.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"
#include "common/payload.h"
#include "common/session_wire.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "sessiond/monitor/core.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/monitor/run.h"
#include "sessiond/monitor/session.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define PROGRAM ATELIER_PROGRAMS_DIR "/attack"
#define NAME    "doctor"

struct doctor {
    struct monitor *monitor;
    struct run_owner owner;
    int conn;
    int pidfd;
    struct event *conn_event;
    struct event *gone_event; /* of the process, or by ourselves */
};

/* --- end ----------------------------------------------------------------------------------- */

static void event_drop(struct event *event)
{
    if (event)
        event_free(event);
}

static void doctor_end(struct doctor *d)
{
    struct monitor *m = d->monitor;

    if (m->doctor == d) {
        m->doctor = NULL;
        log_notice("doctor: it is done runs=%u", run_count_of(m, &d->owner));
    }
    run_kill_all(m, &d->owner);
    for (uint32_t uid = ID_DOCTOR_MIN; uid <= ID_DOCTOR_MAX; uid++)
        session_kill_user(m, uid);
    event_drop(d->conn_event);
    event_drop(d->gone_event);
    if (d->conn >= 0)
        (void)close(d->conn);
    if (d->pidfd >= 0)
        (void)close(d->pidfd);
    free(d);
}

static void on_gone(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    doctor_end(arg);
}

/* Not at once: whoever calls goes through a list that the end changes. */
static void say(struct doctor *d, struct session_head *head, enum session_type type, size_t size)
{
    int r;

    head->version = SESSION_WIRE_VERSION;
    head->type = type;
    head->size_bytes = (uint32_t)size;
    r = msg_send(d->conn, head, size, NULL, 0);
    if (r == 0)
        return;
    log_warning("doctor: it does not listen errno=%d", -r);
    event_active(d->gone_event, 0, 0);
}

/* --- answers of runs ------------------------------------------------------------------------ */

static void say_ended(struct doctor *d, uint32_t tag, const struct wire_run_failed *failed,
                      const struct wire_run_ended *ended)
{
    struct session_probe_ended msg = {.head = {.reserved = tag}, .has_failed = failed != NULL};

    if (failed)
        msg.failed = *failed;
    else
        msg.ended = *ended;
    msg.failed.head = msg.ended.head = (struct wire_head){0};
    say(d, &msg.head, SESSION_PROBE_ENDED, sizeof(msg));
}

/* What a run says to whoever asked for it. */
static void on_told(void *arg, struct wire_head *head)
{
    struct doctor *d = arg;

    switch (head->type) {
    case WIRE_RUN_STARTED: {
        struct session_probe_started msg = {.head = {.reserved = head->tag}};
        struct wire_run_started started;

        memcpy(&started, head, sizeof(started));
        msg.receipt = started.receipt;
        say(d, &msg.head, SESSION_PROBE_STARTED, sizeof(msg));
        return;
    }
    case WIRE_RUN_FAILED: {
        struct wire_run_failed failed;

        memcpy(&failed, head, sizeof(failed));
        say_ended(d, head->tag, &failed, NULL);
        return;
    }
    case WIRE_RUN_ENDED: {
        struct wire_run_ended ended;

        memcpy(&ended, head, sizeof(ended));
        say_ended(d, head->tag, NULL, &ended);
        return;
    }
    default:
        return;
    }
}

/* --- PROBE ---------------------------------------------------------------------------------- */

/* Words of printable ASCII, one after the other, and nothing behind them. */
static bool words_take(struct session_probe *msg, char *argv[SESSION_PROBE_WORDS_MAX + 2])
{
    uint32_t n = 1; /* the first is the program */
    size_t at = 0;

    if (msg->word_count == 0 || msg->word_count > SESSION_PROBE_WORDS_MAX)
        return false;
    while (n <= msg->word_count) {
        size_t len = strnlen(msg->words + at, sizeof(msg->words) - at);

        if (at + len >= sizeof(msg->words))
            return false;
        for (size_t i = 0; i < len; i++) {
            if (msg->words[at + i] < 0x20 || msg->words[at + i] > 0x7e)
                return false;
        }
        argv[n++] = msg->words + at;
        at += len + 1;
    }
    argv[n] = NULL;
    for (; at < sizeof(msg->words); at++) {
        if (msg->words[at] != '\0')
            return false;
    }
    return true;
}

/* As the api makes it for a run (sessiond/api/run_spec.c). */
static int payload_make(struct session_probe *msg, int *ret_fd)
{
    static char program[] = PROGRAM;
    char home[] = "HOME=" ATELIER_HOMES_DIR "/" NAME, user[] = "USER=" NAME,
         logname[] = "LOGNAME=" NAME, path[] = "PATH=/usr/local/bin:/usr/bin:/bin",
         lang[] = "LANG=C.UTF-8";
    char *envp[] = {home, user, logname, path, lang, NULL};
    char *argv[SESSION_PROBE_WORDS_MAX + 2];

    if (!words_take(msg, argv))
        return -EINVAL;
    argv[0] = program;
    return payload_pack(argv, envp, NULL, NULL, 0, ret_fd);
}

static int random_id(char ret_id[WIRE_SESSION_ID_SIZE])
{
    uint8_t bytes[16];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -EIO;
    memset(ret_id, 0, WIRE_SESSION_ID_SIZE);
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(ret_id + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* No more than the profile allows, so that a strict policy is no failure of the probe. */
static uint32_t wall_ms(const struct monitor *m, const struct session_probe *msg)
{
    const struct policy_profile *p =
        policy_find(m->policy, POLICY_RUN, msg->uid, NULL, 0, NULL, NULL);
    uint64_t most = p->values[POLICY_KEY_WALL_MAX];

    return msg->wall_ms < most ? msg->wall_ms : (uint32_t)most;
}

/* Standard output and error are one pipe; standard input is empty. Return: 0 or -errno. */
static int extra_make(struct session_probe *msg, struct msg_extra *from, struct msg_extra *ret_x)
{
    int r = payload_make(msg, &ret_x->fds[WIRE_RUN_FD_PAYLOAD]);

    if (r < 0)
        return r;
    ret_x->nfds = 1;
    r = payload_seal_bytes(NULL, 0, &ret_x->fds[WIRE_RUN_FD_STDIN]);
    if (r < 0)
        return r;
    ret_x->nfds = 2;
    ret_x->fds[WIRE_RUN_FD_STDOUT] = from->fds[0];
    from->nfds = 0;
    ret_x->nfds = 3;
    ret_x->fds[WIRE_RUN_FD_STDERR] = fcntl(ret_x->fds[WIRE_RUN_FD_STDOUT], F_DUPFD_CLOEXEC, 3);
    if (ret_x->fds[WIRE_RUN_FD_STDERR] < 0)
        return -errno;
    ret_x->nfds = WIRE_RUN_FD_COUNT;
    return 0;
}

static void probe_refuse(struct doctor *d, uint32_t tag, enum wire_step step, int error,
                         const char *what)
{
    struct wire_run_failed failed = {.step = step, .error = (uint32_t)error};

    str_cut(failed.what, sizeof(failed.what), what);
    say_ended(d, tag, &failed, NULL);
}

static void probe_start(struct doctor *d, struct session_probe *msg, struct msg_extra *extra)
{
    struct wire_run_start start = {
        .head = {.type = WIRE_RUN_START, .size_bytes = sizeof(start), .tag = msg->head.reserved},
        .uid = msg->uid,
        .gid = msg->uid,
        .profile = WIRE_PROFILE_RUN,
        .net = msg->net,
        .name = NAME,
    };
    struct msg_extra own = {0};
    int r;

    if (run_count_of(d->monitor, &d->owner) >= SESSION_PROBES_MAX) {
        probe_refuse(d, start.head.tag, WIRE_STEP_BUSY, EAGAIN, "");
        return;
    }
    if (!id_is_doctors(msg->uid) || msg->wall_ms == 0 || msg->wall_ms > SESSION_PROBE_WALL_MS) {
        probe_refuse(d, start.head.tag, WIRE_STEP_REQUEST, EINVAL, "uid or time");
        return;
    }
    start.wall_ms = wall_ms(d->monitor, msg);
    r = random_id(start.run_id);
    if (r == 0)
        r = extra_make(msg, extra, &own);
    if (r < 0) {
        probe_refuse(d, start.head.tag, WIRE_STEP_REQUEST, -r, "program");
    } else {
        log_info("doctor: a run of a throw-away participant uid=%u net=%u run=%s", msg->uid,
                 msg->net, start.run_id);
        run_start(d->monitor, &d->owner, &start, &own);
    }
    msg_extra_done(&own);
}

static void on_conn(evutil_socket_t fd, short what, void *arg)
{
    static struct session_probe msg;
    struct doctor *d = arg;
    struct msg_extra extra;
    size_t n;
    int r = msg_recv(fd, &msg, sizeof(msg), &n, &extra);

    (void)what;
    if (r == -EAGAIN)
        return;
    if (r < 0 || n == 0) {
        doctor_end(d);
        return;
    }
    if (n == sizeof(msg) && msg.head.version == SESSION_WIRE_VERSION &&
        msg.head.type == SESSION_PROBE && msg.head.size_bytes == n && extra.nfds == 1) {
        probe_start(d, &msg, &extra);
        msg_extra_done(&extra);
        return;
    }
    msg_extra_done(&extra);
    log_error("doctor: it broke the protocol");
    doctor_end(d);
}

/* --- begin ---------------------------------------------------------------------------------- */

static uint64_t rlimit_of(const struct plan *plan, int resource)
{
    for (uint32_t i = 0; i < plan->rlimit_count; i++) {
        if (plan->rlimits[i].resource == resource)
            return plan->rlimits[i].value;
    }
    return UINT64_MAX;
}

static void plan_tell(const struct monitor *m, enum policy_kind kind,
                      struct session_probe_plan *ret_plan)
{
    const struct plan_ask nothing = {0};
    static struct plan plan;
    const char *field;

    if (policy_plan(m->policy, kind, ID_DOCTOR_MIN, NULL, 0, &nothing, &plan, &field) < 0)
        return;
    *ret_plan = (struct session_probe_plan){
        .wall_ms = plan.wall_ms,
        .memory_max_bytes = plan.leaf.memory_max_bytes,
        .pids_max = plan.leaf.pids_max,
        .cpu_quota_us = plan.leaf.cpu_quota_us,
        .cpu_period_us = plan.leaf.cpu_period_us,
        .nofile = rlimit_of(&plan, RLIMIT_NOFILE),
        .fsize_bytes = rlimit_of(&plan, RLIMIT_FSIZE),
        .tmp_bytes = plan.sizes[PLAN_PLACE_TMP].bytes,
        .var_tmp_bytes = plan.sizes[PLAN_PLACE_VAR_TMP].bytes,
        .shm_bytes = plan.sizes[PLAN_PLACE_SHM].bytes,
        .home_bytes = plan.sizes[PLAN_PLACE_HOME].bytes,
        .tmp_inodes = plan.sizes[PLAN_PLACE_TMP].inodes,
    };
    str_cut(ret_plan->profile, sizeof(ret_plan->profile), plan.profile);
}

static void say_begun(struct doctor *d)
{
    static struct session_doctor_begun msg;

    memset(&msg, 0, sizeof(msg));
    core_status(d->monitor, &msg.status);
    plan_tell(d->monitor, POLICY_RUN, &msg.run);
    plan_tell(d->monitor, POLICY_LOGIN, &msg.login);
    say(d, &msg.head, SESSION_DOCTOR_BEGUN, sizeof(msg));
}

static void deny(int conn)
{
    struct session_head head = {
        .version = SESSION_WIRE_VERSION, .type = SESSION_DENIED, .size_bytes = sizeof(head)};

    (void)msg_send(conn, &head, sizeof(head), NULL, 0);
    (void)close(conn);
}

void doctor_begin(struct monitor *m, int conn, pid_t pid)
{
    struct doctor *d = m->doctor ? NULL : calloc(1, sizeof(*d));

    if (!d) {
        log_notice("doctor: refused, %s pid=%d", m->doctor ? "another one is at work" : "no memory",
                   pid);
        deny(conn);
        return;
    }
    d->monitor = m;
    d->owner = (struct run_owner){.tell = on_told, .arg = d, .is_doctor = true};
    d->conn = conn;
    /* It waits for an answer, so the number is its own (see holder_watch in session_door.c). */
    d->pidfd = pidfd_of(pid);
    if (d->pidfd >= 0) {
        d->conn_event = event_new(m->base, conn, EV_READ | EV_PERSIST, on_conn, d);
        d->gone_event = event_new(m->base, d->pidfd, EV_READ, on_gone, d);
    }
    if (!d->conn_event || !d->gone_event || event_add(d->conn_event, NULL) < 0 ||
        event_add(d->gone_event, NULL) < 0) {
        log_error("doctor: it cannot be served pid=%d", pid);
        doctor_end(d);
        return;
    }
    m->doctor = d;
    log_notice("doctor: it begins pid=%d", pid);
    say_begun(d);
}

bool doctor_has_uid(const struct monitor *m, uint32_t uid)
{
    return m->doctor && id_is_doctors(uid);
}

void doctor_allow(uint32_t uid, struct wire_session_answer *ret_answer)
{
    *ret_answer = (struct wire_session_answer){
        .verdict = WIRE_SESSION_ALLOW,
        .uid = uid,
        .gid = uid,
        .profile = WIRE_PROFILE_LOGIN,
        .name = NAME,
    };
    /* Without randomness the id is not one, and the answer is refused. */
    if (random_id(ret_answer->session_id) < 0)
        ret_answer->session_id[0] = '\0';
}
