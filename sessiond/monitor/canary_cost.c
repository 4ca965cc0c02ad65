/* SPDX-License-Identifier: ISC */
/* canary_cost.c - what the canary costs: rounds, wall and processor time. */
#include "sessiond/monitor/canary_cost.h"

#include <time.h>

#include "sessiond/monitor/clock.h"

#include "common/banned.h"

static int64_t thread_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The processor time of a process: all its threads, of those that live. 0 if it is gone. */
static uint64_t process_us(pid_t pid)
{
    struct timespec ts;
    clockid_t clock;

    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) < 0)
        return 0;
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t part_us(struct cost_part *part)
{
    uint64_t now = process_us(part->pid);

    if (now > part->seen_us)
        part->seen_us = now;
    return part->gone_us + part->seen_us;
}

void cost_part_set(struct cost_part *part, pid_t pid)
{
    part->gone_us += part->seen_us;
    part->seen_us = 0;
    part->pid = pid;
}

void cost_own_begin(struct canary_cost *c)
{
    c->own_ns = thread_ns();
}

void cost_own_end(struct canary_cost *c)
{
    if (c->own_ns != 0)
        c->total_ns += (uint64_t)(thread_ns() - c->own_ns);
    c->own_ns = 0;
}

static uint64_t cpu_us(struct canary_cost *c)
{
    return part_us(&c->probe) + part_us(&c->listener) + c->total_ns / 1000;
}

void cost_round_begin(struct canary_cost *c)
{
    c->round_us = clock_us();
    c->round_cpu_us = cpu_us(c);
}

void cost_round_end(struct canary_cost *c)
{
    if (c->round_us == 0)
        return;
    c->sum.rounds++;
    c->sum.wall_last_us = (uint64_t)(clock_us() - c->round_us);
    c->sum.wall_us += c->sum.wall_last_us;
    c->sum.cpu_last_us = cpu_us(c) - c->round_cpu_us;
    c->round_us = 0;
}

void cost_report(struct canary_cost *c, struct wire_canary_cost *ret_cost)
{
    *ret_cost = c->sum;
    ret_cost->cpu_probe_us = part_us(&c->probe);
    ret_cost->cpu_listener_us = part_us(&c->listener);
    ret_cost->cpu_own_us = c->total_ns / 1000;
}
