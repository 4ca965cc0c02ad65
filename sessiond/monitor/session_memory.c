/* SPDX-License-Identifier: ISC */
/*
 * session_memory.c - memory of a session where no control group limits it.
 *
 * As the kernel does with a group: the process that has the most goes, the session stays. Whoever
 * makes new ones faster than that ends all of it, and so does who has so many processes that
 * sessiond cannot look at all of them: memory would hide behind their number.
 */
#include <errno.h>
#include <inttypes.h>

#include "common/cleanup.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/session_internal.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* Half as much again as it may have. */
static bool is_far_over(const struct session *s)
{
    const uint64_t limit = s->request.plan.leaf.memory_max_bytes;

    return s->proc_watch.memory_bytes > limit + limit / 2;
}

/* The number may be another's by now: only in the session's PID namespace. */
static void process_kill(const struct session *s, pid_t pid)
{
    cleanup_close int fd = pidfd_of(pid);
    uint64_t inodes[WIRE_NS__COUNT];

    if (fd >= 0 && receipt_namespaces(pid, inodes) == 0 &&
        inodes[WIRE_NS_PID] == s->record.receipt.ns_inode[WIRE_NS_PID])
        pidfd_kill(fd);
}

static void on_over(void *arg, enum proc_over over, pid_t largest)
{
    struct session *s = arg;

    if (over == PROC_OVER_PIDS) {
        log_notice("a session has more processes than can be looked at, and is ended session=%s "
                   "uid=%u",
                   s->record.session_id, s->record.uid);
        session_end(s, WIRE_SESSION_END_KILLED);
        return;
    }
    if (is_far_over(s)) {
        log_notice("a session has far more memory than it may, and is ended session=%s uid=%u",
                   s->record.session_id, s->record.uid);
        s->oom_kills++;
        session_end(s, WIRE_SESSION_END_KILLED);
        return;
    }
    if (largest <= 0 || largest == s->oom_pid) /* that one is about to go */
        return;
    s->oom_pid = largest;
    s->oom_kills++;
    log_notice("a session ran out of memory session=%s uid=%u killed=1", s->record.session_id,
               s->record.uid);
    process_kill(s, largest);
}

int session_memory_watch(struct session *s)
{
    const bool is_grouped = s->leaf && (cgroup_limits(s->monitor->cgroup) & WIRE_LIMIT_MEMORY) != 0;
    int r;

    if (is_grouped || !proc_watch_works())
        return 0;
    s->proc_watch = (struct proc_watch){
        .of = PROC_WATCH_MEMORY,
        .uid = s->record.uid,
        .init = (pid_t)s->record.init_pid,
        .login = (pid_t)s->record.holder_pid,
        .plan = &s->request.plan,
        .on_over = on_over,
        .arg = s,
    };
    r = proc_watch_start(&s->proc_watch, s->monitor->base);
    if (r < 0) {
        s->proc_watch.of = 0;
        log_warning("the memory of a session is not watched uid=%u errno=%d", s->record.uid, -r);
    }
    return r;
}

uint64_t session_memory_watched(const struct session *s)
{
    return s->proc_watch.of != 0 ? s->request.plan.leaf.memory_max_bytes : 0;
}
