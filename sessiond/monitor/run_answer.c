/* SPDX-License-Identifier: ISC */
/* run_answer.c - what is told of a run: that there is none, or how it ended and what it used. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/str.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/run_internal.h"

#include "common/banned.h"

void run_answer_failed(const struct run_owner *owner, uint32_t tag, enum wire_step step, int error,
                       const char *what)
{
    struct wire_run_failed msg = {
        .head = {.type = WIRE_RUN_FAILED, .size_bytes = sizeof(msg), .tag = tag},
        .step = step,
        .error = (uint32_t)error,
    };

    str_cut(msg.what, sizeof(msg.what), what);
    owner->tell(owner->arg, &msg.head);
}

void run_note_failure(struct run *run, enum wire_step step, int error, const char *what)
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
        (run->exit.cpu_user_us + run->exit.cpu_sys_us >= plan->cpu_ms * 1000ull ||
         run->proc_watch.cpu_us >= plan->cpu_ms * 1000ull))
        return true;
    return cpu_watch_is_over(&run->cpu_watch, usage->cpu_us);
}

/* What the kernel would have counted for a kill of its own. */
static void usage_add(const struct run *run, struct wire_usage *usage)
{
    /* The report of the init is lost with it, and has nothing of whom nobody waited for. */
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

void run_answer_ended(struct run *run)
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
