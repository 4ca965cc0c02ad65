/* SPDX-License-Identifier: ISC */
/*
 * proc_watch.h - an eye on memory, processes and processor time where no control group limits them.
 *
 * It sees what was, every 50 ms, where a control group refuses what would be too much: what is
 * taken within that time is taken. So it is no limit, and a policy that requires one is not met by
 * it (plan.h, required). Of a control group of version 1, which kills one process of many for want
 * of memory, it sees the count, and ends the rest.
 *
 * A look costs what there is to look at, and the next one is so far off, a second at most, that all
 * of them together take about a tenth of a processor.
 */
#ifndef ATELIER_PROC_WATCH_H
#define ATELIER_PROC_WATCH_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/plan.h"

struct cgroup_leaf;

#define PROC_WATCH_MS      50
#define PROC_WATCH_LATE_MS 1000

enum proc_over {
    PROC_OVER_NOTHING,
    PROC_OVER_MEMORY,      /* its own */
    PROC_OVER_USER_MEMORY, /* that of all runs and sessions of the user: this one has the most */
    PROC_OVER_PIDS,        /* or more processes than sessiond can look at, whatever is watched */
    PROC_OVER_CPU,
    PROC_OVER_GROUP, /* the kernel killed a part of it for memory */
};

/* What is looked at; bits. */
enum proc_watch_of {
    PROC_WATCH_MEMORY = 1,
    PROC_WATCH_PIDS = 2,
    PROC_WATCH_CPU = 4,
    PROC_WATCH_GROUP = 8,
};

/* All 0: nothing is watched. */
struct proc_watch {
    struct proc_watch *next;
    struct event *timer;
    unsigned of;
    uint32_t uid;
    pid_t init;                     /* 0: not known yet */
    pid_t login;                    /* of a session: sshd's process; 0: none */
    pid_t payload;                  /* of a run: its program, before it starts; 0: not known */
    const struct plan *plan;        /* borrowed until proc_watch_done() */
    const struct cgroup_leaf *leaf; /* likewise; may be NULL */
    uint64_t memory_bytes;          /* at the last look, or a little more */
    uint64_t cpu_us;                /* the most that was seen; when done, of all of its life */
    int clock_fd;                   /* counts from @payload on (task_clock.h); -1: nothing does */
    void (*on_over)(void *arg, enum proc_over over, pid_t largest);
    void *arg;
};

/* Can this host be watched so? Once, at start. Return: 0 or a negative errno. */
int proc_watch_init(void);
bool proc_watch_works(void);

/* Is the time of those seen, too, whom nobody waits for? Once, at start. Return: likewise. */
int proc_watch_clock_init(void);

/**
 * proc_watch_start() - From now on
 * @watch:   With @of, @uid, @init, @plan, @leaf, @on_over and @arg set; @of is not 0. For
 *           PROC_WATCH_CPU also @payload
 * @watch->on_over: Called at every look at which something is over; @largest: the process that has
 *           the most memory, 0 if none is known. May call proc_watch_done() of its own watch
 *
 * Return: 0; -EOPNOTSUPP: this kernel lists no children; -ENOMEM; another of task_clock_open().
 */
int proc_watch_start(struct proc_watch *watch, struct event_base *base);

/* No more looks; cpu_us is what it came to. */
void proc_watch_done(struct proc_watch *watch);

/* The limit of all runs and sessions of a user where no control group has it: never more than half
 * of the host. */
uint64_t proc_watch_user_memory(const struct plan *plan);

/**
 * proc_watch_delay_ms() - When to look again
 * @took_us: Processor time of the last look
 * @wall_us: Its time by the clock: who waits takes no processor, but the only thread
 * @watches: How many there are
 */
int64_t proc_watch_delay_ms(int64_t took_us, int64_t wall_us, uint32_t watches);

#endif
