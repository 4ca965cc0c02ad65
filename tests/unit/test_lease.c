/* SPDX-License-Identifier: ISC */
/* test_lease.c - is a part of a login stopped, and what limit has it? Asked of real processes. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sessiond/monitor/lease.h"
#include "sessiond/monitor/receipt.h"

#include "common/banned.h"

static pid_t child_make(const char *name)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_NAME, name);
        for (;;)
            (void)pause();
    }
    return pid;
}

static void child_end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Until the kernel says so: a signal takes effect when its target runs. */
static void state_wait(pid_t pid, int options)
{
    int status;

    assert_int_equal(waitpid(pid, &status, options), pid);
}

static void a_stopped_child_is_seen_and_one_that_goes_on_is_not(void **state)
{
    /* A name that looks like the end of another and a state. */
    pid_t one = child_make(") T 1 (x"), two = child_make("two");

    (void)state;
    assert_true(one > 0 && two > 0);
    assert_false(lease_is_stopped(getpid()));
    (void)kill(two, SIGSTOP);
    state_wait(two, WUNTRACED);
    assert_true(lease_is_stopped(getpid()));
    (void)kill(two, SIGCONT);
    state_wait(two, WCONTINUED);
    assert_false(lease_is_stopped(getpid()));
    child_end(one);
    child_end(two);
}

static void nobody_has_no_stopped_children(void **state)
{
    pid_t gone = child_make("gone");

    (void)state;
    child_end(gone);
    assert_false(lease_is_stopped(gone));
}

/* What the receipt says of a process with these limits. */
static uint64_t core_said(rlim_t soft, rlim_t hard)
{
    const struct rlimit limit = {soft, hard};
    struct wire_receipt r = {0};
    pid_t pid = child_make("core");

    assert_true(pid > 0);
    assert_int_equal(prlimit(pid, RLIMIT_CORE, &limit, NULL), 0);
    assert_int_equal(receipt_read(pid, NULL, &r), 0);
    child_end(pid);
    return r.rlimit_core;
}

static void a_core_limit_of_nothing_is_no_match_and_neither_is_more_than_one(void **state)
{
    static const struct plan_ask nothing;
    static struct policy policy;
    struct rlimit now;
    struct wire_receipt r = {0};
    const char *field;
    struct plan plan;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_CORE, &now), 0);
    if (now.rlim_max < 2) {
        print_message("skipped: the hard limit of core files is too low for this\n");
        skip();
    }
    assert_int_equal(core_said(0, 0), 0);
    assert_int_equal(core_said(0, 2), 0);
    assert_int_equal(core_said(1, 1), 1);
    assert_int_equal(core_said(1, 2), 2);
    assert_int_equal(core_said(1, now.rlim_max), now.rlim_max);
    policy_defaults(&policy);
    assert_int_equal(policy_plan(&policy, POLICY_LOGIN, 10001, NULL, 0, &nothing, &plan, &field),
                     0);
    for (uint64_t core = 0; core < 3; core++) {
        r.rlimit_core = core;
        assert_int_equal(receipt_limits_match(&r, &plan), core == 1);
    }
    r.rlimit_core = UINT64_MAX;
    assert_false(receipt_limits_match(&r, &plan));
    /* Of others less is stronger, and more is none. */
    r.rlimit_core = 1;
    r.rlimit_nofile = UINT64_MAX;
    assert_false(receipt_limits_match(&r, &plan));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_child_is_seen_and_one_that_goes_on_is_not),
        cmocka_unit_test(a_core_limit_of_nothing_is_no_match_and_neither_is_more_than_one),
        cmocka_unit_test(nobody_has_no_stopped_children),
    };

    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
