/* SPDX-License-Identifier: ISC */
/*
 * cpu_watch.h - an eye on the processor time of a run.
 *
 * No kernel ends a group that has used so much of it: its count is read, and the next look is as
 * far off as what is left could be used up, with all processors or the group's quota: that which
 * the kernel showed in the receipt, and not that of the plan, which a tree without the controller
 * does not enforce.
 */
#ifndef ATELIER_CPU_WATCH_H
#define ATELIER_CPU_WATCH_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"
#include "policy/plan.h"

struct cgroup_leaf;

/* Looks are no nearer than the larger of these: so much more than the limit may be used. */
#define CPU_WATCH_LEAST_MS 20
#define CPU_WATCH_PART     50 /* of the limit: 2 percent */

/* All 0: nothing is watched. */
struct cpu_watch {
    struct event *timer;
    const struct cgroup_leaf *leaf; /* borrowed until cpu_watch_done() */
    const struct plan *plan;        /* likewise */
    uint64_t quota_us, period_us;   /* as they were read back; 0: there is no quota */
    uint64_t end_us;                /* of the leaf's count */
    void (*on_over)(void *arg);     /* may call cpu_watch_done() */
    void *arg;
};

/**
 * cpu_watch_start() - From now on
 * @plan:    cpu_ms is above 0
 * @receipt: Of what is in the leaf; read from only now
 * @on_over: Called once, when the limit is used up
 *
 * What the leaf has used so far, to build the run, does not count.
 *
 * Return: 0; -ENODATA: the leaf does not count; -ENOMEM.
 */
int cpu_watch_start(struct cpu_watch *watch, struct event_base *base,
                    const struct cgroup_leaf *leaf, const struct plan *plan,
                    const struct wire_receipt *receipt, void (*on_over)(void *arg), void *arg);

/* Is the limit used up, by a count that was read just now? False of what is not watched. */
bool cpu_watch_is_over(const struct cpu_watch *watch, uint64_t cpu_us);

/* No more looks; cpu_watch_is_over() still answers. */
void cpu_watch_done(struct cpu_watch *watch);

/**
 * cpu_watch_delay_ms() - When to look again
 * @watch:      Its plan and quota
 * @left_us:    What may be used yet
 * @processors: Of the host; at least 1
 */
int64_t cpu_watch_delay_ms(const struct cpu_watch *watch, uint64_t left_us, unsigned processors);

#endif
