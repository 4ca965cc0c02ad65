/* SPDX-License-Identifier: ISC */
/* run.c - the life of a run in the root process. */
#include "sessiond/monitor/run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/payload.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/fdcheck.h"
#include "sessiond/monitor/filter_proof.h"
#include "sessiond/monitor/home.h"
#include "sessiond/monitor/home_fleeting.h"
#include "sessiond/monitor/request.h"
#include "sessiond/monitor/run_internal.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define SETUP_LIMIT_MS 5000 /* from the spawner's request to the payload's stop point */

/* --- end ----------------------------------------------------------------------------------- */

static void fds_close(struct run *run)
{
    for (int i = 0; i < WIRE_RUN_FD_COUNT; i++) {
        if (run->fds[i] >= 0)
            (void)close(run->fds[i]);
        run->fds[i] = -1;
    }
}

/* Answer for the last time, unlink, release. Nothing of the run is left when this is called. */
static void run_end(struct run *run)
{
    struct monitor *m = run->monitor;

    for (struct run **p = &m->runs; *p; p = &(*p)->next) {
        if (*p == run) {
            *p = run->next;
            break;
        }
    }
    m->run_count--;
    canary_cancel(m->canary, &run->waiter);
    filter_proof_cancel(run->proof);
    free(run->started);
    if (run->timer)
        event_free(run->timer);
    cpu_watch_done(&run->cpu_watch);
    disk_release(m->disk, &run->disk_user);
    proc_watch_done(&run->proc_watch);
    spawned_done(&run->spawned);
    fds_close(run);
    if (!run->mute) {
        if (run->state == RUN_STATE_RUNNING)
            run_answer_ended(run);
        else if (run->has_failed)
            run_answer_failed(run->owner, run->tag, run->failed.step, (int)run->failed.error,
                              run->failed.what);
        else
            run_answer_failed(run->owner, run->tag, WIRE_STEP_SPAWN,
                              run->kill_asked ? ECANCELED : EPIPE,
                              run->kill_asked ? "cancelled" : "the init died");
    }
    cgroup_leaf_drop(run->leaf);
    free(run);
}

/* The end of the init ends everything; the leaf, where it can, at one stroke. */
void run_stop(struct run *run)
{
    spawned_kill(&run->spawned);
    cgroup_leaf_kill(run->leaf);
}

static void run_fail_now(struct run *run, enum wire_step step, int error, const char *what)
{
    run_note_failure(run, step, error, what);
    run_end(run);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;

    (void)fd;
    (void)what;
    if (run->state == RUN_STATE_RUNNING)
        run->timed_out = !run->kill_asked && !run->cpu_is_used && !run->over && !run->exited;
    else
        run_note_failure(run, WIRE_STEP_SPAWN, ETIMEDOUT, "set-up took too long");
    run_stop(run);
}

int run_timer_set(struct run *run, int64_t ms)
{
    struct timeval tv = ms_timeval(ms);

    return event_add(run->timer, &tv) < 0 ? -ENOMEM : 0;
}

/* --- middle ---------------------------------------------------------------------------- */

static void run_on_packet(void *arg, const void *buf, size_t size, const struct msg_extra *extra)
{
    struct run *run = arg;
    struct report rep;

    if (size != sizeof(rep))
        return;
    memcpy(&rep, buf, sizeof(rep));
    switch ((enum report_kind)rep.kind) {
    case REPORT_SPAWNED:
        return;
    case REPORT_FAILED:
        rep.what[sizeof(rep.what) - 1] = '\0';
        if (rep.step < WIRE_STEP__COUNT)
            run_note_failure(run, rep.step, (int)rep.error, rep.what);
        run_stop(run);
        return;
    case REPORT_READY:
        if (run->state == RUN_STATE_SPAWNING && !run->kill_asked && !run->has_failed)
            run_ready(run, extra->pid);
        return;
    case REPORT_NO_EXEC:
        run->exec_error = rep.error;
        return;
    case REPORT_EXITED:
        run->exited = true;
        run->exit = rep;
        return;
    }
}

static void run_on_dead(void *arg)
{
    run_end(arg);
}

/* READY may have come before. */
static void run_on_spawned(void *arg)
{
    struct run *run = arg;

    run->proc_watch.init = run->spawned.pid;
}

static const struct spawned_ops run_ops = {
    .on_packet = run_on_packet,
    .on_spawned = run_on_spawned,
    .on_dead = run_on_dead,
};

static void fds_done(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

/* What is on ~/work: the user's own; for the doctor something that goes with the run. */
static int run_work(const struct run *run, int *ret_tree, const char **ret_what)
{
    const struct spawn_request *req = &run->request;

    if (run->is_doctors)
        return home_fleeting(req->uid, req->gid, HOME_WORK, ret_tree, ret_what);
    return home_tree(req->name, req->uid, req->gid, HOME_WORK, run->disk_user.home != NULL,
                     ret_tree, ret_what);
}

/* The leaf, and its descriptors behind the others. */
static int run_leaf(struct run *run, int *ret_fds, size_t *ret_n, const char **ret_what)
{
    struct monitor *m = run->monitor;
    int r = cgroup_leaf_new(m->cgroup, CGROUP_RUN, run->request.uid, run->run_id,
                            &run->request.plan, &run->leaf, ret_what);

    if (r == 0)
        r = cgroup_leaf_fds(run->leaf, ret_fds, ret_n);
    if (r < 0)
        return r;
    run->request.cgroup_mode = cgroup_mode(m->cgroup);
    run->request.cgroup_fds = (uint32_t)*ret_n;
    return 0;
}

static void run_spawn(struct run *run)
{
    int fds[SPAWN_FD_COUNT - 1 + CGROUP_TREES_MAX + PLAN_MOUNTS_MAX];
    int *groups = fds + SPAWN_FD_COUNT - 1, r;
    cleanup_close int tree = -1;
    const char *what = "";
    size_t group_count, count;

    r = run_work(run, &tree, &what);
    if (r < 0) {
        run_fail_now(run, WIRE_STEP_HOME, -r, what);
        return;
    }
    fds[SPAWN_FD_PAYLOAD - 1] = run->fds[WIRE_RUN_FD_PAYLOAD];
    fds[SPAWN_FD_STDIN - 1] = run->fds[WIRE_RUN_FD_STDIN];
    fds[SPAWN_FD_STDOUT - 1] = run->fds[WIRE_RUN_FD_STDOUT];
    fds[SPAWN_FD_STDERR - 1] = run->fds[WIRE_RUN_FD_STDERR];
    fds[SPAWN_FD_WORK - 1] = tree;
    r = run_leaf(run, groups, &group_count, &what);
    if (r < 0) {
        run_fail_now(run, WIRE_STEP_CGROUP, -r, what);
        return;
    }
    r = hosttree_open(&run->request.plan, groups + group_count, &what);
    if (r < 0) {
        fds_done(groups, group_count);
        run_fail_now(run, WIRE_STEP_MOUNT, -r, what);
        return;
    }
    count = group_count + plan_mount_count(&run->request.plan);
    r = hosttree_identify(&run->request.plan, groups + group_count, run->mounts);
    if (r == 0)
        r = run_timer_set(run, SETUP_LIMIT_MS);
    if (r == 0)
        r = spawned_start(&run->spawned, run->monitor->base, run->monitor->spawner_sock,
                          &run->request, fds, SPAWN_FD_COUNT - 1 + count, &run_ops, run);
    fds_done(groups, count);
    if (r < 0) {
        run_fail_now(run, WIRE_STEP_SPAWN, -r, "");
        return;
    }
    /* The run's pipes must be open nowhere but in the run. */
    fds_close(run);
    run->state = RUN_STATE_SPAWNING;
}

static void on_canary(void *arg, enum wire_canary verdict, const char *what)
{
    struct run *run = arg;

    if (verdict == WIRE_CANARY_HOLDS)
        run_spawn(run);
    else
        run_fail_now(run, WIRE_STEP_CANARY, 0, what);
}

/* The canary comes last: to wait for a home may take longer than its word is good for. */
static void on_disk(void *arg, int error, const char *what)
{
    struct run *run = arg;

    if (error != 0)
        run_fail_now(run, WIRE_STEP_DISK, error, what);
    else
        canary_require(run->monitor->canary, &run->waiter);
}

/* Nothing of the doctor's is on the disk. */
static void disk_start(struct run *run)
{
    if (run->is_doctors)
        on_disk(run, 0, "");
    else
        disk_require(run->monitor->disk, &run->disk_user);
}

/* --- begin --------------------------------------------------------------------------------- */

/* Everything that the api says is checked again here. Return: the wrong field, or NULL. */
static const char *request_fault(const struct run_owner *owner, const struct wire_run_start *msg)
{
    if (owner->is_doctor ? !id_is_doctors(msg->uid) : !id_is_allocatable(msg->uid))
        return "uid";
    if (msg->gid != msg->uid)
        return "gid";
    if (!name_is_valid_n(msg->name, sizeof(msg->name)))
        return "name";
    if (!request_groups_are_valid(msg->gid, msg->groups, msg->group_count))
        return "groups";
    if (msg->profile != WIRE_PROFILE_RUN)
        return "profile";
    if (msg->net != WIRE_NET_NONE && msg->net != WIRE_NET_PUBLIC)
        return "net";
    if (msg->cgroup_mode > WIRE_CGROUP_V2)
        return "cgroup_mode";
    if (msg->wall_ms == 0 || msg->wall_ms > WIRE_WALL_MS_MAX)
        return "wall_ms";
    if (msg->cpu_ms > WIRE_WALL_MS_MAX)
        return "cpu_ms";
    if (!request_id_is_valid(msg->run_id))
        return "run_id";
    return NULL;
}

static const char *fds_fault(const struct wire_run_start *msg, const struct msg_extra *extra)
{
    if (extra->nfds != WIRE_RUN_FD_COUNT)
        return "descriptors";
    if (fdcheck_memfd(extra->fds[WIRE_RUN_FD_PAYLOAD], PAYLOAD_SIZE_MAX) < 0)
        return "payload descriptor";
    if (fdcheck_memfd(extra->fds[WIRE_RUN_FD_STDIN], PAYLOAD_SIZE_MAX) < 0)
        return "stdin descriptor";
    if (fdcheck_pipe_out(extra->fds[WIRE_RUN_FD_STDOUT], msg->uid, msg->gid) < 0)
        return "stdout descriptor";
    if (fdcheck_pipe_out(extra->fds[WIRE_RUN_FD_STDERR], msg->uid, msg->gid) < 0)
        return "stderr descriptor";
    return NULL;
}

static struct run *run_find(struct monitor *m, const struct run_owner *owner, uint32_t tag)
{
    for (struct run *run = m->runs; run; run = run->next) {
        if (run->tag == tag && !run->mute && run->owner == owner)
            return run;
    }
    return NULL;
}

/* What the policy gives this user. Return: the field that asks for more, or NULL. */
static const char *plan_fault(const struct monitor *m, const struct wire_run_start *msg,
                              struct plan *ret_plan)
{
    const struct plan_ask ask = {.wall_ms = msg->wall_ms,
                                 .cpu_ms = msg->cpu_ms,
                                 .cpu_is_counted =
                                     cgroup_counts_cpu(m->cgroup) || proc_watch_works()};
    uint32_t gids[WIRE_GROUPS_MAX];
    const char *field;

    for (uint32_t i = 0; i < msg->group_count; i++)
        gids[i] = msg->groups[i].gid;
    return policy_plan(m->policy, POLICY_RUN, msg->uid, gids, msg->group_count, &ask, ret_plan,
                       &field) < 0
               ? field
               : NULL;
}

static struct run *run_new(struct monitor *m, const struct run_owner *owner,
                           const struct wire_run_start *msg, const struct plan *plan)
{
    struct run *run = calloc(1, sizeof(*run));

    if (!run)
        return NULL;
    run->timer = evtimer_new(m->base, on_timer, run);
    if (!run->timer) {
        free(run);
        return NULL;
    }
    run->monitor = m;
    run->owner = owner;
    run->is_doctors = owner->is_doctor;
    run->tag = msg->head.tag;
    run->spawned = (struct spawned){.sock = -1, .pidfd = -1};
    run->waiter = (struct canary_waiter){.fn = on_canary, .arg = run};
    run->request = (struct spawn_request){
        .kind = SPAWN_RUN,
        .uid = msg->uid,
        .gid = msg->gid,
        .net = msg->net,
        .group_count = msg->group_count,
        .plan = *plan,
    };
    memcpy(run->request.groups, msg->groups, sizeof(run->request.groups));
    memcpy(run->request.name, msg->name, sizeof(run->request.name));
    memcpy(run->run_id, msg->run_id, sizeof(run->run_id));
    run->disk_user = (struct disk_user){.uid = msg->uid,
                                        .name = run->request.name,
                                        .size = &run->request.plan.disk,
                                        .is_run = true,
                                        .fn = on_disk,
                                        .arg = run};
    run->next = m->runs;
    m->runs = run;
    m->run_count++;
    return run;
}

void run_start(struct monitor *m, const struct run_owner *owner, const struct wire_run_start *msg,
               struct msg_extra *extra)
{
    const char *fault = request_fault(owner, msg);
    char unmet[PLAN_UNMET_SIZE];
    struct plan plan;
    struct run *run;

    if (!fault && run_find(m, owner, msg->head.tag))
        fault = "tag";
    if (!fault)
        fault = plan_fault(m, msg, &plan);
    if (!fault)
        fault = fds_fault(msg, extra);
    if (fault) {
        log_error("a run is refused field=%s", fault);
        run_answer_failed(owner, msg->head.tag, WIRE_STEP_REQUEST, EINVAL, fault);
        return;
    }
    if (!request_mode_is_met(msg->cgroup_mode, cgroup_mode(m->cgroup))) {
        run_answer_failed(owner, msg->head.tag, WIRE_STEP_CGROUP, ENOTSUP,
                          "the mode that is asked for");
        return;
    }
    if (plan_unmet(&plan, msg->limits_required, cgroup_limits(m->cgroup), unmet)) {
        log_notice("a run is refused uid=%u what=%s", msg->uid, unmet);
        run_answer_failed(owner, msg->head.tag, WIRE_STEP_CGROUP, ENOTSUP, unmet);
        return;
    }
    run = m->run_count < WIRE_RUNS_MAX ? run_new(m, owner, msg, &plan) : NULL;
    if (!run) {
        run_answer_failed(owner, msg->head.tag, WIRE_STEP_BUSY, EAGAIN, "");
        return;
    }
    memcpy(run->fds, extra->fds, sizeof(run->fds));
    extra->nfds = 0;
    disk_start(run);
}

static void kill_one(struct run *run)
{
    run->kill_asked = true;
    if (run->state == RUN_STATE_CANARY)
        run_fail_now(run, WIRE_STEP_CANARY, ECANCELED, "cancelled");
    else
        run_stop(run);
}

void run_kill(struct monitor *m, const struct run_owner *owner, uint32_t tag)
{
    struct run *run = run_find(m, owner, tag);

    if (run)
        kill_one(run);
}

void run_kill_user(struct monitor *m, uint32_t uid)
{
    for (struct run *run = m->runs, *next; run; run = next) {
        next = run->next;
        if (run->request.uid == uid)
            kill_one(run);
    }
}

bool run_any_public(const struct monitor *m)
{
    for (const struct run *run = m->runs; run; run = run->next) {
        if (run->request.net == WIRE_NET_PUBLIC)
            return true;
    }
    return false;
}

void run_kill_public(struct monitor *m)
{
    for (struct run *run = m->runs; run; run = run->next) {
        if (run->request.net != WIRE_NET_PUBLIC || run->state == RUN_STATE_CANARY)
            continue;
        run->unsafe = true;
        run_note_failure(run, WIRE_STEP_CANARY, 0, "the network rules stopped to hold");
        run_stop(run);
    }
}

void run_kill_all(struct monitor *m, const struct run_owner *owner)
{
    for (struct run *run = m->runs, *next; run; run = next) {
        next = run->next;
        if (run->owner != owner || run->mute)
            continue;
        run->mute = true;
        kill_one(run);
    }
}

uint32_t run_count_of(const struct monitor *m, const struct run_owner *owner)
{
    uint32_t n = 0;

    for (const struct run *run = m->runs; run; run = run->next)
        n += run->owner == owner && !run->mute;
    return n;
}
