/* SPDX-License-Identifier: ISC */
/*
 * test_procs_room.c - a tree of more processes than there is room for ends, and hides nothing.
 *
 * What it tests is compiled with room for 24 processes (PROCS_ROOM in local.mk).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/proc_watch.h"
#include "sessiond/monitor/procs.h"

#include "common/banned.h"

void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct wire_usage *ret_usage)
{
    (void)leaf;
    *ret_usage = (struct wire_usage){0};
}

/* One in some hundred looks comes between two threads. */
#define HANDED_LOOKS 4000

static const unsigned none = 0;
static int ready[2];

static _Noreturn void wait_for_ever(void)
{
    (void)!write(ready[1], "x", 1);
    for (;;)
        (void)pause();
}

static void forks_make(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (fork() == 0)
            wait_for_ever();
    }
}

static void *thread_forks(void *count)
{
    forks_make(*(const unsigned *)count);
    (void)pause();
    return count;
}

static _Noreturn void init(unsigned children, unsigned of_thread, unsigned grandchildren)
{
    pthread_t thread;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (of_thread > 0)
        (void)pthread_create(&thread, NULL, thread_forks, &of_thread);
    forks_make(children);
    if (grandchildren > 0 && fork() == 0) {
        forks_make(grandchildren);
        wait_for_ever();
    }
    wait_for_ever();
}

/* What a look, and a watch of some looks, makes of a tree. */
struct verdict {
    uint32_t tasks;
    bool is_cut;
    enum proc_over over;
};

static void on_over(void *arg, enum proc_over over, pid_t largest)
{
    struct verdict *verdict = arg;

    (void)largest;
    verdict->over = over;
}

/* Watched for memory alone, of which there is enough: as a session is. */
static struct verdict watch_of(pid_t pid, const struct plan *plan)
{
    struct event_base *base = event_base_new();
    struct timeval some = {.tv_usec = 300000};
    struct verdict verdict = {0};
    struct proc_watch watch = {.of = PROC_WATCH_MEMORY,
                               .uid = 10001,
                               .init = pid,
                               .plan = plan,
                               .on_over = on_over,
                               .arg = &verdict};
    struct procs procs;

    assert_non_null(base);
    assert_int_equal(procs_look(pid, 0, UINT32_MAX, &procs), 0);
    assert_int_equal(proc_watch_start(&watch, base), 0);
    assert_int_equal(event_base_loopexit(base, &some), 0);
    assert_true(event_base_dispatch(base) >= 0);
    proc_watch_done(&watch);
    event_base_free(base);
    verdict.tasks = procs.tasks;
    verdict.is_cut = procs.is_cut;
    return verdict;
}

static struct verdict verdict_of(unsigned children, unsigned of_thread, unsigned grandchildren)
{
    unsigned wanted = 1 + children + of_thread + grandchildren + (grandchildren > 0 ? 1 : 0);
    struct plan plan = {0};
    struct verdict verdict;
    pid_t pid;
    char c;

    plan.leaf.memory_max_bytes = plan.user.memory_max_bytes = 1ull << 40;
    plan.leaf.pids_max = 1;
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        init(children, of_thread, grandchildren);
    }
    assert_true(pid > 0);
    (void)setpgid(pid, pid);
    for (unsigned i = 0; i < wanted; i++)
        assert_int_equal(read(ready[0], &c, 1), 1);
    verdict = watch_of(pid, &plan);
    (void)kill(-pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return verdict;
}

static void who_has_more_processes_than_there_is_room_for_is_ended(void **state)
{
    static const struct {
        unsigned children, of_thread, grandchildren;
        uint32_t tasks; /* that are looked at */
        bool is_cut;
    } cases[] = {
        {PROCS_ROOM - 1, 0, 0, PROCS_ROOM, false}, /* with the init, as many as there is room for */
        {PROCS_ROOM, 0, 0, 1, true},
        {10, PROCS_ROOM - 11, 0, PROCS_ROOM + 1, false}, /* the thread takes no room */
        {10, PROCS_ROOM - 10, 0, 2, true},
        {0, 0, PROCS_ROOM - 2, PROCS_ROOM, false},
        {0, 0, PROCS_ROOM - 1, 2, true},
        {0, 0, 3 * PROCS_ROOM, 2, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verdict v =
            verdict_of(cases[i].children, cases[i].of_thread, cases[i].grandchildren);

        assert_int_equal(v.tasks, cases[i].tasks);
        assert_int_equal(v.is_cut, cases[i].is_cut);
        assert_int_equal(v.over, cases[i].is_cut ? PROC_OVER_PIDS : PROC_OVER_NOTHING);
    }
}

/* Whoever has the children begins the next thread, and ends: then they are that one's. */
static void *thread_hands_on(void *count)
{
    pthread_attr_t attr;
    pthread_t next;

    forks_make(*(const unsigned *)count);
    (void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    if (pthread_attr_init(&attr) != 0 ||
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) != 0)
        _exit(1);
    while (pthread_create(&next, &attr, thread_hands_on, (void *)(uintptr_t)&none) != 0)
        ;
    return NULL;
}

static void children_that_are_handed_on_count_once(void **state)
{
    static const unsigned count = 2 * PROCS_ROOM / 3;
    bool has_failed = false;
    unsigned most = 0;
    pthread_t thread;
    pid_t pid;
    char c;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)pthread_create(&thread, NULL, thread_hands_on, (void *)(uintptr_t)&count);
        pthread_exit(NULL); /* the first thread would have them for ever */
    }
    assert_true(pid > 0);
    (void)setpgid(pid, pid);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(read(ready[0], &c, 1), 1);
    for (unsigned i = 0; i < HANDED_LOOKS; i++) {
        struct procs procs = {0};

        has_failed = has_failed || procs_look(pid, 0, UINT32_MAX, &procs) < 0 || procs.is_cut;
        most = procs.tasks > most ? procs.tasks : most;
    }
    (void)kill(-pid, SIGKILL); /* before anything fails: they would outlive the test */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ready[0]);
    (void)close(ready[1]);
    assert_false(has_failed);
    assert_true(most > count); /* control: they were seen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_that_are_handed_on_count_once),
        cmocka_unit_test(who_has_more_processes_than_there_is_room_for_is_ended),
    };

    if (proc_watch_init() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
