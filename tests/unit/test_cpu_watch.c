/* SPDX-License-Identifier: ISC */
/* test_cpu_watch.c - when sessiond looks at the processor time of a run, and what it makes of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/sysinfo.h>

#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/cpu_watch.h"

#include "common/banned.h"

#define MS 1000ull

/* In place of a leaf: a program that uses so much of each second since a moment. */
static uint64_t at_start_us;
static int64_t since_us;
static double speed;
static unsigned looks;
static bool is_gone;

static uint64_t now_used_us(void)
{
    return at_start_us + (uint64_t)(speed * (double)(clock_us() - since_us));
}

void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct wire_usage *ret_usage)
{
    (void)leaf;
    looks++;
    ret_usage->cpu_us = is_gone ? WIRE_NOT_KNOWN : now_used_us();
}

static struct plan plan_with(uint32_t cpu_ms, double processors)
{
    struct plan p = {.cpu_ms = cpu_ms};

    p.leaf.cpu_quota_us = (uint64_t)(processors * 100000);
    p.leaf.cpu_period_us = 100000;
    return p;
}

/* What the kernel shows of a leaf; the plan of a tree without the controller has a quota, too. */
static struct wire_receipt receipt_with(double processors)
{
    return (struct wire_receipt){
        .cgroup_cpu_quota_us = (uint64_t)(processors * 100000),
        .cgroup_cpu_period_us = processors > 0 ? 100000 : 0,
    };
}

static void a_look_is_as_far_off_as_what_is_left_could_be_used_up(void **state)
{
    static const struct {
        uint32_t cpu_ms;
        double processors; /* of the quota; 0: none */
        unsigned host;
        uint64_t left_us;
        int64_t delay_ms;
    } cases[] = {
        {1000, 1, 2, 1000 * MS, 800},  /* eight whole periods, and one at each end */
        {1000, 1, 1, 1000 * MS, 1000}, /* no more than the host has */
        {1000, 0, 4, 1000 * MS, 250},           {1000, 2, 16, 1000 * MS, 300},
        {1000, 0.5, 2, 1000 * MS, 1800},        {1000, 1, 2, 200 * MS, 100},
        {1000, 1, 2, 1, CPU_WATCH_LEAST_MS},    {1000, 1, 2, 0, CPU_WATCH_LEAST_MS},
        {1, 1, 2, 1 * MS, CPU_WATCH_LEAST_MS},  {60000, 1, 2, 1, 1200}, /* 2 percent */
        {3600000, 1, 1, 3600000 * MS, 3600000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan p = plan_with(cases[i].cpu_ms, cases[i].processors);
        struct wire_receipt r = receipt_with(cases[i].processors);
        struct cpu_watch w = {
            .plan = &p,
            .quota_us = r.cgroup_cpu_quota_us,
            .period_us = r.cgroup_cpu_period_us,
        };

        assert_int_equal(cpu_watch_delay_ms(&w, cases[i].left_us, cases[i].host),
                         cases[i].delay_ms);
    }
}

static void on_over(void *arg)
{
    struct event_base *base = arg;

    (void)event_base_loopbreak(base);
}

static struct wire_receipt shown;

/* Run until it is over, or so long. Return: whether it is over. */
static bool watch_for(struct cpu_watch *watch, const struct plan *plan, double with, int64_t ms)
{
    struct event_base *base = event_base_new();
    struct timeval tv = ms_timeval(ms);
    bool is_over;

    assert_non_null(base);
    at_start_us = 77 * MS; /* for what came before: it does not count */
    speed = with;
    since_us = clock_us();
    looks = 0;
    assert_int_equal(cpu_watch_start(watch, base, NULL, plan, &shown, on_over, base), 0);
    assert_int_equal(event_base_loopexit(base, &tv), 0);
    assert_true(event_base_dispatch(base) >= 0);
    is_over = event_base_got_break(base);
    cpu_watch_done(watch);
    event_base_free(base);
    return is_over;
}

static void what_is_used_up_is_noticed_in_few_looks_and_not_before(void **state)
{
    struct plan p = plan_with(300, 1);
    struct cpu_watch watch;
    int64_t took_us;

    (void)state;
    shown = receipt_with(1);
    assert_true(watch_for(&watch, &p, 1.0, 2000));
    took_us = clock_us() - since_us;
    assert_true(took_us >= (int64_t)(300 * MS));
    assert_in_range(looks, 2, 12);
    assert_true(cpu_watch_is_over(&watch, now_used_us()));
    /* What was used before, and 300 ms; on a busy machine time went by before the first look. */
    assert_in_range(watch.end_us, (77 + 300) * MS, (77 + 300 + 1000) * MS);
    assert_false(cpu_watch_is_over(&watch, watch.end_us - 1));
    assert_true(cpu_watch_is_over(&watch, watch.end_us));
    assert_false(cpu_watch_is_over(&watch, WIRE_NOT_KNOWN));
}

/* Two processors at once, of which the plan allows one twentieth: nobody enforces it. */
static void a_quota_that_is_not_in_force_is_not_gone_by(void **state)
{
    struct plan p = plan_with(300, 0.05);
    struct cpu_watch watch;

    (void)state;
    shown = receipt_with(0);
    assert_true(watch_for(&watch, &p, get_nprocs(), 1000));
    assert_true(clock_us() - since_us < (int64_t)(800 * MS));
    shown = receipt_with(0.05);
    assert_false(watch_for(&watch, &p, get_nprocs(), 600)); /* the first look is far off */
    shown = receipt_with(0);
}

static void who_sleeps_is_let_be_and_hardly_looked_at(void **state)
{
    struct plan p = plan_with(10000, 1);
    struct cpu_watch watch;

    (void)state;
    assert_false(watch_for(&watch, &p, 0.0, 300));
    assert_int_equal(looks, 1); /* that of the start */
    p.cpu_ms = 30;
    assert_false(watch_for(&watch, &p, 0.0, 300));
    assert_in_range(looks, 2, 300 / CPU_WATCH_LEAST_MS + 1);
}

static void a_leaf_that_does_not_count_is_no_watch_and_no_verdict(void **state)
{
    struct plan p = plan_with(30, 1);
    struct cpu_watch watch;

    (void)state;
    is_gone = true;
    assert_int_equal(cpu_watch_start(&watch, NULL, NULL, &p, &shown, on_over, NULL), -ENODATA);
    is_gone = false;
    assert_false(cpu_watch_is_over(&(struct cpu_watch){0}, UINT64_MAX - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_is_as_far_off_as_what_is_left_could_be_used_up),
        cmocka_unit_test(what_is_used_up_is_noticed_in_few_looks_and_not_before),
        cmocka_unit_test(a_quota_that_is_not_in_force_is_not_gone_by),
        cmocka_unit_test(who_sleeps_is_let_be_and_hardly_looked_at),
        cmocka_unit_test(a_leaf_that_does_not_count_is_no_watch_and_no_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
