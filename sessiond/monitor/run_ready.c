/* SPDX-License-Identifier: ISC */
/*
 * run_ready.c - a payload at its stop point, between the load of its filter and exec.
 *
 * The filter is asked for first, which takes the kernel a moment; all else is read meanwhile. What
 * differs from the plan ends the run. Then the clocks are started, then the program is let go, then
 * whoever asked hears of it: a program that runs is one that was proven.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/sabotage.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/filter_proof.h"
#include "sessiond/monitor/net.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/run_internal.h"

#include "common/banned.h"

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
        .payload = (pid_t)receipt->pid,
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
    result = watch_begin(run, &msg->receipt, &msg->watch);
    if (result < 0) {
        run_refuse(run, WIRE_STEP_CGROUP, -result, "a watch over memory, processes and time");
        return;
    }
    if (run_timer_set(run, run->request.plan.wall_ms) < 0 || spawned_go(&run->spawned) < 0) {
        run_refuse(run, WIRE_STEP_EXEC, EPIPE, "");
        return;
    }
    run->state = RUN_STATE_RUNNING;
    run->started_us = clock_us();
    if (!run->mute)
        run->owner->tell(run->owner->arg, &msg->head);
}

/* The payload stands at its stop point: have the filter shown, read all else meanwhile, compare. */
void run_ready(struct run *run, pid_t pid)
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
