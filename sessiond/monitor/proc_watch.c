/* SPDX-License-Identifier: ISC */
/* proc_watch.c - an eye on memory, processes and processor time where no group limits them. */
#include "sessiond/monitor/proc_watch.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/procs.h"
#include "sessiond/monitor/task_clock.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* Of a processor, for all looks: one part in so many. */
#define SHARE_PART 10
/* And so many times as long as a look took by the clock passes before the next. */
#define WAIT_PART 4
/* How long shared pages are counted exactly: some thousand processes on a host that is busy. */
#define PATIENCE_US 1000000

static struct proc_watch *watches;
static uint32_t watch_count;
static bool works, has_clock;

int proc_watch_init(void)
{
    int r = procs_check();

    works = r == 0;
    return r;
}

bool proc_watch_works(void)
{
    return works;
}

int proc_watch_clock_init(void)
{
    int fd, r = task_clock_open(0, &fd);

    has_clock = r == 0;
    if (has_clock)
        (void)close(fd);
    return r;
}

uint64_t proc_watch_user_memory(const struct plan *plan)
{
    const uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    return plan->user.memory_max_bytes < host / 2 ? plan->user.memory_max_bytes : host / 2;
}

int64_t proc_watch_delay_ms(int64_t took_us, int64_t wall_us, uint32_t count)
{
    int64_t ms = took_us * SHARE_PART * count / 1000;

    if (ms > PROC_WATCH_LATE_MS)
        ms = PROC_WATCH_LATE_MS;
    if (ms < wall_us * WAIT_PART / 1000)
        ms = wall_us * WAIT_PART / 1000;
    return ms > PROC_WATCH_MS ? ms : PROC_WATCH_MS;
}

static int64_t cpu_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* The larger of the two counts: each leaves something out, none has too much. */
static void cpu_note(struct proc_watch *watch, uint64_t of_procs_us)
{
    uint64_t us;

    if (of_procs_us > watch->cpu_us)
        watch->cpu_us = of_procs_us;
    if (watch->clock_fd >= 0 && task_clock_least_us(watch->clock_fd, &us) == 0 &&
        us > watch->cpu_us)
        watch->cpu_us = us;
}

/* Shared pages are counted once only when that can make a difference: it takes much longer. */
static int look(struct proc_watch *watch, bool is_exact, struct procs *ret_procs)
{
    /* More are looked at only where nobody counts them: memory hides behind no number of others. */
    const uint32_t most =
        watch->of & PROC_WATCH_PIDS ? (uint32_t)watch->plan->leaf.pids_max : UINT32_MAX;
    int r = watch->init > 0 ? procs_look(watch->init, watch->login, most, ret_procs) : -EAGAIN;
    uint64_t places;

    if (r < 0)
        return r;
    cpu_note(watch, ret_procs->cpu_us);
    if (!(watch->of & PROC_WATCH_MEMORY))
        return 0;
    places = procs_places(watch->init, watch->plan);
    watch->memory_bytes = ret_procs->rss_bytes + places;
    if (is_exact || watch->memory_bytes > watch->plan->leaf.memory_max_bytes)
        watch->memory_bytes = procs_memory(places, PATIENCE_US);
    return 0;
}

static uint64_t user_sum(uint32_t uid, struct proc_watch **ret_most)
{
    uint64_t sum = 0;

    *ret_most = NULL;
    for (struct proc_watch *w = watches; w; w = w->next) {
        if (w->uid != uid || !(w->of & PROC_WATCH_MEMORY))
            continue;
        sum += w->memory_bytes;
        if (!*ret_most || w->memory_bytes > (*ret_most)->memory_bytes)
            *ret_most = w;
    }
    return sum;
}

/* Has the user too much in all? Return: who has the most of it, or NULL. */
static struct proc_watch *user_over(const struct proc_watch *watch, pid_t *ret_largest)
{
    const uint64_t limit = proc_watch_user_memory(watch->plan);
    struct proc_watch *most;
    struct procs procs;

    if (!(watch->of & PROC_WATCH_MEMORY) || user_sum(watch->uid, &most) <= limit)
        return NULL;
    for (struct proc_watch *w = watches; w; w = w->next) {
        if (w->uid == watch->uid && look(w, true, &procs) < 0)
            w->memory_bytes = 0;
    }
    if (user_sum(watch->uid, &most) <= limit)
        return NULL;
    *ret_largest = look(most, true, &procs) == 0 ? procs.largest : 0;
    return most;
}

static bool group_has_killed(const struct proc_watch *watch)
{
    struct wire_usage usage;

    if (!(watch->of & PROC_WATCH_GROUP))
        return false;
    cgroup_leaf_usage(watch->leaf, &usage);
    return usage.oom_kills != WIRE_NOT_KNOWN && usage.oom_kills > 0;
}

/*
 * The first that is over: what was taken counts more than the time that it took. Of a tree that was
 * cut the rest is not known, whatever it is watched for.
 */
static enum proc_over over_of(const struct proc_watch *watch, const struct procs *procs)
{
    const struct plan *plan = watch->plan;

    if ((watch->of & PROC_WATCH_MEMORY) && watch->memory_bytes > plan->leaf.memory_max_bytes)
        return PROC_OVER_MEMORY;
    if (procs->is_cut)
        return PROC_OVER_PIDS;
    if ((watch->of & PROC_WATCH_CPU) && watch->cpu_us >= plan->cpu_ms * 1000ull)
        return PROC_OVER_CPU;
    return PROC_OVER_NOTHING;
}

static int timer_set(const struct proc_watch *watch, int64_t ms)
{
    struct timeval tv = ms_timeval(ms);

    return event_add(watch->timer, &tv) < 0 ? -ENOMEM : 0;
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct proc_watch *watch = arg, *most;
    const int64_t began_us = cpu_us(), began_wall_us = clock_us();
    struct procs procs = {0};
    enum proc_over over = PROC_OVER_NOTHING;
    pid_t largest = 0;

    (void)fd;
    (void)what;
    if (group_has_killed(watch))
        over = PROC_OVER_GROUP;
    else if ((watch->of & ~(unsigned)PROC_WATCH_GROUP) && look(watch, false, &procs) == 0)
        over = over_of(watch, &procs);
    most = over == PROC_OVER_NOTHING ? user_over(watch, &largest) : NULL;
    /* Before the call: it may end the watch. */
    if (timer_set(watch, proc_watch_delay_ms(cpu_us() - began_us, clock_us() - began_wall_us,
                                             watch_count)) < 0)
        log_error("no more looks at a run or session: out of memory uid=%u", watch->uid);
    if (over != PROC_OVER_NOTHING)
        watch->on_over(watch->arg, over, procs.largest);
    else if (most)
        most->on_over(most->arg, PROC_OVER_USER_MEMORY, largest);
}

static void clock_close(struct proc_watch *watch)
{
    if (watch->clock_fd >= 0)
        (void)close(watch->clock_fd);
    watch->clock_fd = -1;
}

int proc_watch_start(struct proc_watch *watch, struct event_base *base)
{
    int r = 0;

    if (!works && watch->of != PROC_WATCH_GROUP)
        return -EOPNOTSUPP;
    watch->clock_fd = -1;
    if (has_clock && (watch->of & PROC_WATCH_CPU) && watch->payload > 0)
        r = task_clock_open(watch->payload, &watch->clock_fd);
    if (r < 0)
        return r;
    watch->timer = evtimer_new(base, on_look, watch);
    r = watch->timer ? timer_set(watch, PROC_WATCH_MS) : -ENOMEM;
    if (r < 0) {
        if (watch->timer)
            event_free(watch->timer);
        watch->timer = NULL;
        clock_close(watch);
        return r;
    }
    watch->next = watches;
    watches = watch;
    watch_count++;
    return 0;
}

void proc_watch_done(struct proc_watch *watch)
{
    if (!watch->timer)
        return;
    event_free(watch->timer);
    watch->timer = NULL;
    cpu_note(watch, 0);
    clock_close(watch);
    for (struct proc_watch **p = &watches; *p; p = &(*p)->next) {
        if (*p == watch) {
            *p = watch->next;
            watch_count--;
            break;
        }
    }
}
