/* SPDX-License-Identifier: ISC */
/* run_internal.h - what run.c, its answers and its stop point share. */
#ifndef ATELIER_RUN_INTERNAL_H
#define ATELIER_RUN_INTERNAL_H

#include <event2/event.h>
#include <stdbool.h>

#include "sessiond/monitor/canary.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/cpu_watch.h"
#include "sessiond/monitor/disk.h"
#include "sessiond/monitor/hosttree.h"
#include "sessiond/monitor/proc_watch.h"
#include "sessiond/monitor/run.h"
#include "sessiond/monitor/spawned.h"

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

/* When the state it is in has lasted too long. Return: 0 or -ENOMEM. */
int run_timer_set(struct run *run, int64_t ms);

/* Kill what there is; the end is told when the init is reaped. */
void run_stop(struct run *run);

/* --- run_answer.c */

/* The first failure counts. */
void run_note_failure(struct run *run, enum wire_step step, int error, const char *what);

/* There is no run: say why. */
void run_answer_failed(const struct run_owner *owner, uint32_t tag, enum wire_step step, int error,
                       const char *what);

/* The program was let go, and nothing of it is left: how it ended, and what it used. */
void run_answer_ended(struct run *run);

/* --- run_ready.c */

/* @pid stands at its stop point: compare what the kernel says with the plan, tell, let it go. */
void run_ready(struct run *run, pid_t pid);

#endif
