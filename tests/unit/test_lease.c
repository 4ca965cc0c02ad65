/* SPDX-License-Identifier: ISC */
/* test_lease.c - is a part of a login stopped? Asked of real processes. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sessiond/monitor/lease.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_child_is_seen_and_one_that_goes_on_is_not),
        cmocka_unit_test(nobody_has_no_stopped_children),
    };

    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
