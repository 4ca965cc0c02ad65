/* SPDX-License-Identifier: ISC */
/* cpu_watch.c - an eye on the processor time of a run. */
#include "sessiond/monitor/cpu_watch.h"

#include <errno.h>
#include <stddef.h>
#include <sys/sysinfo.h>

#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t cpu_watch_delay_ms(const struct cpu_watch *watch, uint64_t left_us, unsigned processors)
{
    int64_t by_processors = (int64_t)(left_us / processors / 1000), by_quota = 0;
    uint64_t periods = watch->quota_us > 0 ? left_us / watch->quota_us : 0;

    /* Of the periods at both ends each may give its whole quota at once. */
    if (periods > 2)
        by_quota = (int64_t)((periods - 2) * watch->period_us / 1000);
    return larger(larger(by_processors, by_quota),
                  larger(CPU_WATCH_LEAST_MS, watch->plan->cpu_ms / CPU_WATCH_PART));
}

static uint64_t used_us(const struct cpu_watch *watch)
{
    struct wire_usage usage;

    cgroup_leaf_usage(watch->leaf, &usage);
    return usage.cpu_us;
}

static int look_later(const struct cpu_watch *watch, uint64_t left_us)
{
    struct timeval tv =
        ms_timeval(cpu_watch_delay_ms(watch, left_us, (unsigned)larger(get_nprocs(), 1)));

    return event_add(watch->timer, &tv) < 0 ? -ENOMEM : 0;
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct cpu_watch *watch = arg;
    uint64_t cpu_us = used_us(watch);

    (void)fd;
    (void)what;
    if (cpu_watch_is_over(watch, cpu_us)) {
        watch->on_over(watch->arg);
        return;
    }
    /* A leaf that cannot be read is one that was taken away, with all that was in it. */
    if (look_later(watch, cpu_us == WIRE_NOT_KNOWN ? 0 : watch->end_us - cpu_us) < 0)
        log_error("no more looks at processor time: RLIMIT_CPU has to do");
}

int cpu_watch_start(struct cpu_watch *watch, struct event_base *base,
                    const struct cgroup_leaf *leaf, const struct plan *plan,
                    const struct wire_receipt *receipt, void (*on_over)(void *arg), void *arg)
{
    uint64_t cpu_us;
    int r;

    *watch = (struct cpu_watch){
        .leaf = leaf,
        .plan = plan,
        .quota_us = receipt->cgroup_cpu_quota_us,
        .period_us = receipt->cgroup_cpu_period_us,
        .on_over = on_over,
        .arg = arg,
    };
    cpu_us = used_us(watch);
    if (cpu_us == WIRE_NOT_KNOWN)
        return -ENODATA;
    watch->end_us = cpu_us + plan->cpu_ms * 1000ull;
    watch->timer = evtimer_new(base, on_look, watch);
    r = watch->timer ? look_later(watch, plan->cpu_ms * 1000ull) : -ENOMEM;
    if (r < 0)
        cpu_watch_done(watch);
    return r;
}

bool cpu_watch_is_over(const struct cpu_watch *watch, uint64_t cpu_us)
{
    return watch->end_us > 0 && cpu_us != WIRE_NOT_KNOWN && cpu_us >= watch->end_us;
}

void cpu_watch_done(struct cpu_watch *watch)
{
    if (watch->timer)
        event_free(watch->timer);
    watch->timer = NULL;
}
