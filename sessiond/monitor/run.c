/* SPDX-License-Identifier: ISC */
/* run.c - the life of a run in the root process. */
#include "sessiond/monitor/run.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/payload.h"
#include "common/sabotage.h"
#include "sessiond/monitor/canary.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/cpu_watch.h"
#include "sessiond/monitor/disk.h"
#include "sessiond/monitor/fdcheck.h"
#include "sessiond/monitor/filter_proof.h"
#include "sessiond/monitor/home.h"
#include "sessiond/monitor/home_fleeting.h"
#include "sessiond/monitor/hosttree.h"
#include "sessiond/monitor/proc_watch.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/request.h"
#include "sessiond/monitor/spawned.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define SETUP_LIMIT_MS 5000 /* from the spawner's request to the payload's stop point */

enum run_state {
    RUN_STATE_CANARY,
    RUN_STATE_SPAWNING, /* and, last, until the receipt is complete */
    RUN_STATE_RUNNING,
};

struct run {
    struct run *next;
    struct monitor *monitor;
    const struct run_owner *owner;
    uint32_t tag;
    enum run_state state;
    bool mute; /* whoever asked is gone; owner is not used any more */
    bool is_doctors;
    bool kill_asked;
    bool timed_out;
    bool cpu_is_used; /* its processor time: killed for it */
    bool unsafe;      /* its network was no longer what it was promised to be */
    bool exited;      /* the init reported */
    struct report exit;
    uint32_t exec_error;
    struct wire_run_failed failed; /* step and error, if one was reported */
    bool has_failed;

    int64_t started_us;
    struct event *timer; /* set-up limit, then wall limit */
    struct cpu_watch cpu_watch;
    struct hosttree_id mounts[PLAN_MOUNTS_MAX];
    struct proc_watch proc_watch;
    enum proc_over over; /* killed for it */
    struct canary_waiter waiter;
    struct disk_user disk_user;
    struct spawned spawned;
    struct spawn_request request;
    struct filter_proof *proof;       /* under way, or NULL */
    struct wire_run_started *started; /* to be told when it is there; NULL before and after */
    struct cgroup_leaf *leaf;         /* NULL: not made yet, or no control groups */
    char run_id[WIRE_SESSION_ID_SIZE];
    int fds[WIRE_RUN_FD_COUNT];
};

/* --- answers ------------------------------------------------------------------------------- */

static void answer_failed(const struct run_owner *owner, uint32_t tag, enum wire_step step,
                          int error, const char *what)
{
    struct wire_run_failed msg = {
        .head = {.type = WIRE_RUN_FAILED, .size_bytes = sizeof(msg), .tag = tag},
        .step = step,
        .error = (uint32_t)error,
    };

    str_cut(msg.what, sizeof(msg.what), what);
    owner->tell(owner->arg, &msg.head);
}

static void run_note_failure(struct run *run, enum wire_step step, int error, const char *what)
{
    if (run->has_failed)
        return;
    run->has_failed = true;
    run->failed.step = step;
    run->failed.error = (uint32_t)error;
    str_cut(run->failed.what, sizeof(run->failed.what), what);
}

/*
 * Did the processor time run out of a program that we did not kill for it? Either all of it
 * together had used it before somebody looked, or RLIMIT_CPU ended the program's own process. That
 * one from a program that raises SIGXCPU itself is told by what the process has used, by the same
 * count. The hard limit, a second later, is SIGKILL.
 */
static bool cpu_was_used(const struct run *run, const struct wire_usage *usage)
{
    const struct plan *plan = &run->request.plan;
    int signal = WIFSIGNALED(run->exit.status) ? WTERMSIG(run->exit.status) : 0;
    uint64_t limit_s = 0;

    for (uint32_t i = 0; i < plan->rlimit_count; i++) {
        if (plan->rlimits[i].resource == RLIMIT_CPU)
            limit_s = plan->rlimits[i].value + (signal == SIGKILL ? 1 : 0);
    }
    if (limit_s > 0 && (signal == SIGXCPU || signal == SIGKILL) &&
        run->exit.main_cpu_us >= limit_s * 1000000)
        return true;
    if ((run->proc_watch.of & PROC_WATCH_CPU) &&
        run->exit.cpu_user_us + run->exit.cpu_sys_us >= plan->cpu_ms * 1000ull)
        return true;
    return cpu_watch_is_over(&run->cpu_watch, usage->cpu_us);
}

/* What the kernel would have counted for a kill of its own. */
static void usage_add(const struct run *run, struct wire_usage *usage)
{
    /* The report of the init is lost with it. */
    if (usage->cpu_us == WIRE_NOT_KNOWN && run->proc_watch.cpu_us > 0)
        usage->cpu_us = run->proc_watch.cpu_us;
    if (run->over == PROC_OVER_MEMORY || run->over == PROC_OVER_USER_MEMORY) {
        usage->oom_kills = 1;
        usage->oom_own = run->over == PROC_OVER_MEMORY ? 1 : 0;
    }
}

static enum wire_end end_of_over(enum proc_over over)
{
    switch (over) {
    case PROC_OVER_MEMORY:
    case PROC_OVER_USER_MEMORY:
    case PROC_OVER_GROUP:
        return WIRE_END_MEMORY;
    case PROC_OVER_PIDS:
        return WIRE_END_PIDS;
    case PROC_OVER_CPU:
        return WIRE_END_CPU;
    case PROC_OVER_NOTHING:
        break;
    }
    return WIRE_END_LOST;
}

static void answer_ended(struct run *run)
{
    struct wire_run_ended msg = {
        .head = {.type = WIRE_RUN_ENDED, .size_bytes = sizeof(msg), .tag = run->tag},
        .wall_us = (uint64_t)(clock_us() - run->started_us),
        .cpu_user_us = run->exit.cpu_user_us,
        .cpu_sys_us = run->exit.cpu_sys_us,
        .rss_peak_kib = run->exit.rss_peak_kib,
    };

    cgroup_leaf_usage(run->leaf, &msg.usage);
    usage_add(run, &msg.usage);
    msg.full_places = (uint32_t)run->exit.full_places;
    if (run->exited && run->exit.status != 0 && !run->is_doctors &&
        disk_is_full(run->monitor->disk, &run->disk_user))
        msg.full_places |= WIRE_FULL_WORK;
    msg.cpu_is_used = run->exited && cpu_was_used(run, &msg.usage);
    /*
     * The init's report comes before everything: once it is there the program ended by itself,
     * whatever arrived afterwards. Without one, who killed the init is known here.
     */
    if (run->exec_error != 0) {
        msg.end = WIRE_END_NO_EXEC;
        msg.value = run->exec_error;
    } else if (run->exited && WIFSIGNALED(run->exit.status)) {
        msg.end = WIRE_END_SIGNAL;
        msg.value = (uint32_t)WTERMSIG(run->exit.status);
    } else if (run->exited) {
        msg.end = WIRE_END_EXIT;
        msg.value = (uint32_t)WEXITSTATUS(run->exit.status);
    } else if (run->unsafe) {
        msg.end = WIRE_END_UNSAFE;
    } else if (run->cpu_is_used) {
        msg.end = WIRE_END_CPU;
    } else if (run->over != PROC_OVER_NOTHING) {
        msg.end = end_of_over(run->over);
    } else if (run->timed_out) {
        msg.end = WIRE_END_TIMEOUT;
    } else {
        msg.end = run->kill_asked ? WIRE_END_KILLED : WIRE_END_LOST;
    }
    run->owner->tell(run->owner->arg, &msg.head);
}

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
            answer_ended(run);
        else if (run->has_failed)
            answer_failed(run->owner, run->tag, run->failed.step, (int)run->failed.error,
                          run->failed.what);
        else
            answer_failed(run->owner, run->tag, WIRE_STEP_SPAWN,
                          run->kill_asked ? ECANCELED : EPIPE,
                          run->kill_asked ? "cancelled" : "the init died");
    }
    cgroup_leaf_drop(run->leaf);
    free(run);
}

/* The end of the init ends everything; the leaf, where it can, at one stroke. */
static void run_stop(struct run *run)
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

static void on_cpu_used(void *arg)
{
    struct run *run = arg;

    run->cpu_is_used = !run->kill_asked && !run->timed_out && !run->over && !run->exited;
    run_stop(run);
}

static void on_over(void *arg, enum proc_over over, pid_t largest)
{
    struct run *run = arg;

    (void)largest; /* all of it goes */
    if (!run->kill_asked && !run->timed_out && !run->cpu_is_used && !run->over && !run->exited)
        run->over = over;
    run_stop(run);
}

/* --- middle -------------------------------------------------------------------------------- */

static int timer_set(struct run *run, int64_t ms)
{
    struct timeval tv = ms_timeval(ms);

    return event_add(run->timer, &tv) < 0 ? -ENOMEM : 0;
}

static int cpu_limit_begin(struct run *run, const struct wire_receipt *receipt)
{
    const struct plan *plan = &run->request.plan;

    if (plan->cpu_ms == 0 || !cgroup_counts_cpu(run->monitor->cgroup))
        return 0;
    return cpu_watch_start(&run->cpu_watch, run->monitor->base, run->leaf, plan, receipt,
                           on_cpu_used, run);
}

/* What no control group limits is looked at, as far as this host can. */
static int watch_begin(struct run *run, const struct wire_receipt *receipt,
                       struct wire_watch *ret_watch)
{
    const struct plan *plan = &run->request.plan;
    uint32_t grouped = run->leaf ? cgroup_limits(run->monitor->cgroup) : 0;
    struct proc_watch *watch = &run->proc_watch;

    *watch = (struct proc_watch){
        .uid = run->request.uid,
        .init = run->spawned.pid,
        .plan = plan,
        .leaf = run->leaf,
        .on_over = on_over,
        .arg = run,
    };
    if (proc_watch_works()) {
        watch->of |= grouped & WIRE_LIMIT_MEMORY ? 0u : PROC_WATCH_MEMORY;
        watch->of |= grouped & WIRE_LIMIT_PIDS ? 0u : PROC_WATCH_PIDS;
        if (plan->cpu_ms > 0 && !cgroup_counts_cpu(run->monitor->cgroup))
            watch->of |= PROC_WATCH_CPU;
    }
    if ((grouped & WIRE_LIMIT_MEMORY) && plan->leaf.oom_group && receipt->cgroup_oom_group == 0)
        watch->of |= PROC_WATCH_GROUP;
    ret_watch->memory_max = watch->of & PROC_WATCH_MEMORY ? plan->leaf.memory_max_bytes : 0;
    ret_watch->pids_max = watch->of & PROC_WATCH_PIDS ? plan->leaf.pids_max : 0;
    return watch->of ? proc_watch_start(watch, run->monitor->base) : 0;
}

/* The proof first: while its process is held the init cannot end, for it has to reap it. */
static void run_refuse(struct run *run, enum wire_step step, int error, const char *what)
{
    filter_proof_cancel(run->proof);
    run->proof = NULL;
    run_note_failure(run, step, error, what);
    run_stop(run);
}

/* The last word of the kernel is there: tell, and let the payload go. */
static void on_filter(void *arg, int result)
{
    struct run *run = arg;
    struct monitor *m = run->monitor;
    cleanup_free struct wire_run_started *msg = run->started;

    run->proof = NULL;
    run->started = NULL;
    if (run->kill_asked || run->has_failed)
        return;
    if (result < 0) {
        run_refuse(run, WIRE_STEP_VERIFY, result == -EBADMSG ? 0 : -result, "filter");
        return;
    }
    filter_proof_fill(FILTER_RUN, &msg->receipt);
    monitor_rules_say(m, &msg->receipt);
    msg->receipt.canary_age_ms = canary_age_ms(m->canary);
    if (cpu_limit_begin(run, &msg->receipt) < 0) {
        run_refuse(run, WIRE_STEP_CGROUP, ENODATA, "processor time");
        return;
    }
    if (watch_begin(run, &msg->receipt, &msg->watch) < 0) {
        run_refuse(run, WIRE_STEP_CGROUP, ENOMEM, "a watch over memory and processes");
        return;
    }
    if (timer_set(run, run->request.plan.wall_ms) < 0 || spawned_go(&run->spawned) < 0) {
        run_refuse(run, WIRE_STEP_EXEC, EPIPE, "");
        return;
    }
    run->state = RUN_STATE_RUNNING;
    run->started_us = clock_us();
    if (!run->mute)
        run->owner->tell(run->owner->arg, &msg->head);
}

/* The payload stands at its stop point: have the filter shown, read all else meanwhile, compare. */
static void payload_ready(struct run *run, pid_t pid)
{
    struct wire_run_started *msg = calloc(1, sizeof(*msg));
    const char *what = "";
    int r;

    if (!msg || run->started) {
        free(msg);
        run_refuse(run, WIRE_STEP_RECEIPT, msg ? EPROTO : ENOMEM, "");
        return;
    }
    run->started = msg;
    msg->head =
        (struct wire_head){.type = WIRE_RUN_STARTED, .size_bytes = sizeof(*msg), .tag = run->tag};
    r = filter_proof_begin(pid, FILTER_RUN, &run->proof);
    if (r == 0)
        r = receipt_read(pid, run->leaf, &msg->receipt);
    if (r < 0) {
        run_refuse(run, WIRE_STEP_RECEIPT, -r, "");
        return;
    }
    if (!SABOTAGED("verify") &&
        receipt_verify(&msg->receipt, &run->request, run->leaf, &what) < 0) {
        run_refuse(run, WIRE_STEP_VERIFY, 0, what);
        return;
    }
    if (hosttree_verify(pid, &run->request.plan, run->mounts) < 0) {
        run_refuse(run, WIRE_STEP_VERIFY, 0, "trees");
        return;
    }
    receipt_note_skills(&msg->receipt, &run->request.plan);
    r = run->is_doctors ? 0 : disk_read(run->monitor->disk, &run->disk_user, pid, &msg->receipt);
    if (r < 0 && !SABOTAGED("verify")) {
        run_refuse(run, WIRE_STEP_VERIFY, -r, "disk");
        return;
    }
    filter_proof_finish(run->proof, on_filter, run);
}

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
            payload_ready(run, extra->pid);
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
        r = timer_set(run, SETUP_LIMIT_MS);
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

static void on_disk(void *arg, int error, const char *what)
{
    struct run *run = arg;

    if (error != 0)
        run_fail_now(run, WIRE_STEP_DISK, error, what);
    else
        run_spawn(run);
}

static void on_canary(void *arg, enum wire_canary verdict, const char *what)
{
    struct run *run = arg;

    switch (verdict) {
    case WIRE_CANARY_HOLDS:
        /* Nothing of the doctor's is on the disk. */
        if (run->is_doctors)
            run_spawn(run);
        else
            disk_require(run->monitor->disk, &run->disk_user);
        return;
    case WIRE_CANARY_LEAK:
    case WIRE_CANARY_NO_PROBE:
    case WIRE_CANARY_NO_TARGET:
    case WIRE_CANARY_UNKNOWN:
        run_fail_now(run, WIRE_STEP_CANARY, 0, what);
        return;
    }
    run_fail_now(run, WIRE_STEP_CANARY, 0, what);
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
        answer_failed(owner, msg->head.tag, WIRE_STEP_REQUEST, EINVAL, fault);
        return;
    }
    if (!request_mode_is_met(msg->cgroup_mode, cgroup_mode(m->cgroup)) ||
        (msg->limits_required & ~cgroup_limits(m->cgroup)) != 0) {
        answer_failed(owner, msg->head.tag, WIRE_STEP_CGROUP, ENOTSUP, "limits that are required");
        return;
    }
    run = m->run_count < WIRE_RUNS_MAX ? run_new(m, owner, msg, &plan) : NULL;
    if (!run) {
        answer_failed(owner, msg->head.tag, WIRE_STEP_BUSY, EAGAIN, "");
        return;
    }
    memcpy(run->fds, extra->fds, sizeof(run->fds));
    extra->nfds = 0;
    canary_require(m->canary, &run->waiter);
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
