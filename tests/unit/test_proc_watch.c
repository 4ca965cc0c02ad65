/* SPDX-License-Identifier: ISC */
/*
 * test_proc_watch.c - what is seen of processes below another, and what is made of it.
 *
 * The program's own child stands for the init; no PID namespace is needed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "policy/policy.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/proc_watch.h"
#include "sessiond/monitor/procs.h"

#include "common/banned.h"

#define MIB (1ull << 20)

static uint64_t group_kills;

void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct wire_usage *ret_usage)
{
    (void)leaf;
    *ret_usage = (struct wire_usage){.oom_kills = group_kills};
}

/* What the process that stands for the init does before it says that it is ready. */
struct scene {
    int forks;         /* children of it */
    int threads;       /* of the first of them, beside its own */
    uint64_t mapped;   /* bytes of memory, private, from before the children: they share it */
    uint64_t own;      /* of each child alone */
    unsigned spins_ms; /* processor time of a child that has been waited for */
    int dropped;       /* children of @dropped_ms each, of whom the kernel drops the time */
    unsigned dropped_ms;
    bool is_held; /* it begins when somebody writes to it */
    bool orphan;  /* a grandchild whose parent is gone */
};

static int ready[2], go[2];

static void fill(uint64_t bytes)
{
    char *p;

    if (bytes == 0)
        return;
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        _exit(1);
    memset(p, 1, bytes);
}

static void *thread_wait(void *arg)
{
    (void)pause();
    return arg;
}

static void say_ready(void)
{
    (void)!write(ready[1], "x", 1);
}

static _Noreturn void child(const struct scene *scene, bool has_threads)
{
    pthread_t thread;

    fill(scene->own);
    for (int i = 0; has_threads && i < scene->threads; i++)
        (void)pthread_create(&thread, NULL, thread_wait, NULL);
    say_ready();
    for (;;)
        (void)pause();
}

static void spin(unsigned ms)
{
    clock_t end = clock() + (clock_t)(ms * (CLOCKS_PER_SEC / 1000));

    while (clock() < end)
        ;
}

/* One after the other, each gone before anybody looks; nobody can wait for them. */
static _Noreturn void short_ones(const struct scene *scene)
{
    (void)signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < scene->dropped; i++) {
        if (fork() == 0) {
            spin(scene->dropped_ms);
            _exit(0);
        }
        (void)waitpid(-1, NULL, 0); /* ECHILD, when it is gone */
    }
    say_ready();
    for (;;)
        (void)pause();
}

static _Noreturn void init(const struct scene *scene)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)prctl(PR_SET_NAME, "a) S 1 (b");
    if (scene->is_held && read(go[0], &(char){0}, 1) != 1)
        _exit(1);
    fill(scene->mapped);
    if (scene->dropped > 0 && fork() == 0)
        short_ones(scene);
    if (scene->spins_ms > 0) {
        pid_t pid = fork();

        if (pid == 0) {
            spin(scene->spins_ms);
            _exit(0);
        }
        (void)waitpid(pid, NULL, 0);
    }
    if (scene->orphan) {
        pid_t pid = fork();

        if (pid == 0) {
            if (fork() == 0)
                child(scene, false);
            _exit(0);
        }
        (void)waitpid(pid, NULL, 0);
    }
    for (int i = 0; i < scene->forks; i++) {
        if (fork() == 0)
            child(scene, i == 0);
    }
    say_ready();
    for (;;)
        (void)pause();
}

/* The init. */
static pid_t scene_start(const struct scene *scene)
{
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        init(scene);
    }
    assert_true(pid > 0);
    (void)setpgid(pid, pid);
    return pid;
}

/* All of its children are ready. */
static void scene_wait(const struct scene *scene)
{
    int wanted = scene->forks + 1 + (scene->orphan ? 1 : 0) + (scene->dropped > 0 ? 1 : 0);
    char c;

    for (int i = 0; i < wanted; i++)
        assert_int_equal(read(ready[0], &c, 1), 1);
}

static pid_t scene_begin(const struct scene *scene)
{
    pid_t pid = scene_start(scene);

    scene_wait(scene);
    return pid;
}

static void scene_end(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)close(go[0]);
    (void)close(go[1]);
}

static struct procs look_at(const struct scene *scene, uint32_t most)
{
    pid_t pid = scene_begin(scene);
    struct procs procs = {0};

    assert_int_equal(procs_look(pid, 0, most, &procs), 0);
    scene_end(pid);
    assert_int_equal(procs_look(pid, 0, most, &procs), -ESRCH);
    return procs;
}

static void processes_and_threads_are_counted_with_the_orphans(void **state)
{
    struct procs procs;
    pid_t login;

    (void)state;
    assert_int_equal(procs_check(), 0);
    assert_int_equal(look_at(&(struct scene){.forks = 0}, 100).tasks, 1);
    assert_int_equal(look_at(&(struct scene){.forks = 3, .threads = 4}, 100).tasks, 8);
    assert_int_equal(look_at(&(struct scene){.forks = 2, .orphan = true}, 100).tasks, 4);
    login = scene_begin(&(struct scene){.forks = 2});
    assert_int_equal(procs_look(login, 0, 100, &procs), 0);
    assert_int_equal(procs.tasks, 3);
    /* This program is the parent of that one. */
    assert_int_equal(procs_look(login, getpid(), 100, &procs), 0);
    assert_int_equal(procs.tasks, 7);
    scene_end(login);
    procs = look_at(&(struct scene){.forks = 5}, 6);
    assert_int_equal(procs.tasks, 6);
    assert_false(procs.is_cut);
    procs = look_at(&(struct scene){.forks = 50}, 6);
    assert_true(procs.is_cut);
    assert_int_equal(procs.tasks, 7);
}

static void time_of_children_that_were_waited_for_counts(void **state)
{
    (void)state;
    assert_true(look_at(&(struct scene){.spins_ms = 200}, 9).cpu_us >= 190000);
    assert_true(look_at(&(struct scene){.forks = 1}, 9).cpu_us < 150000);
}

#define LONG_US 5000000

static uint64_t memory_of(const struct scene *scene, int64_t patience_us, uint64_t *ret_rss)
{
    const struct plan none = {0};
    pid_t pid = scene_begin(scene);
    struct procs procs;
    uint64_t bytes;

    assert_int_equal(procs_look(pid, 0, 100, &procs), 0);
    bytes = procs_memory(procs_places(pid, &none), patience_us);
    *ret_rss = procs.rss_bytes;
    scene_end(pid);
    return bytes;
}

static void shared_memory_counts_once_and_private_memory_for_each(void **state)
{
    uint64_t rss, bytes;

    (void)state;
    bytes = memory_of(&(struct scene){.forks = 4, .mapped = 64 * MIB}, LONG_US, &rss);
    assert_in_range(bytes, 60 * MIB, 80 * MIB);
    assert_true(rss >= 5 * 64 * MIB);
    bytes = memory_of(&(struct scene){.forks = 4, .own = 32 * MIB}, LONG_US, &rss);
    assert_in_range(bytes, 124 * MIB, 150 * MIB);
    for (int i = 0; i < 500 && procs_memory(0, LONG_US) > 0; i++) /* who was killed goes */
        (void)usleep(10000);
    assert_int_equal(procs_memory(0, LONG_US), 0);
    assert_int_equal(procs_memory(7 * MIB, LONG_US) / MIB, 7);
}

/* Whoever holds a look up, by the lock on the memory of its processes, has each page in full. */
static void what_nobody_waits_for_counts_in_full(void **state)
{
    uint64_t rss;

    (void)state;
    assert_true(memory_of(&(struct scene){.forks = 4, .mapped = 64 * MIB}, 0, &rss) >=
                5 * 64 * MIB);
    /* By the clock, too: four times as long as the look until the next. */
    assert_int_equal(proc_watch_delay_ms(10, 1000000, 1), 4000);
}

static void looks_take_a_tenth_of_a_processor_at_most(void **state)
{
    (void)state;
    assert_int_equal(proc_watch_delay_ms(10, 0, 1), PROC_WATCH_MS);
    assert_int_equal(proc_watch_delay_ms(100, 0, 50), PROC_WATCH_MS);
    assert_int_equal(proc_watch_delay_ms(1000, 0, 20), 200);
    assert_int_equal(proc_watch_delay_ms(50000, 0, 256), PROC_WATCH_LATE_MS);
}

struct seen {
    struct event_base *base;
    enum proc_over over;
    pid_t largest;
};

static void on_over(void *arg, enum proc_over over, pid_t largest)
{
    struct seen *seen = arg;

    seen->over = over;
    seen->largest = largest;
    (void)event_base_loopbreak(seen->base);
}

static struct plan plan_of(uint64_t memory_mib, uint64_t pids, uint64_t user_mib)
{
    struct plan plan = {.cpu_ms = 100};

    plan.leaf.memory_max_bytes = memory_mib * MIB;
    plan.leaf.pids_max = pids;
    plan.user.memory_max_bytes = user_mib * MIB;
    return plan;
}

/* What a watch of a second says; at the start it writes to @go_fd, if there is one. */
static struct seen watch_and_go(struct proc_watch *watch, int go_fd)
{
    struct seen seen = {.base = event_base_new()};
    struct timeval second = {.tv_sec = 1};

    assert_non_null(seen.base);
    watch->on_over = on_over;
    watch->arg = &seen;
    assert_int_equal(proc_watch_start(watch, seen.base), 0);
    if (go_fd >= 0)
        assert_int_equal(write(go_fd, "x", 1), 1);
    assert_int_equal(event_base_loopexit(seen.base, &second), 0);
    assert_true(event_base_dispatch(seen.base) >= 0);
    proc_watch_done(watch);
    event_base_free(seen.base);
    return seen;
}

static struct seen watch_for(struct proc_watch *watch)
{
    return watch_and_go(watch, -1);
}

static void what_is_over_is_told_and_nothing_else(void **state)
{
    const struct scene scene = {.forks = 4, .own = 16 * MIB, .spins_ms = 200};
    const struct {
        uint64_t memory_mib, pids;
        unsigned of;
        enum proc_over over;
    } cases[] = {
        {200, 5, PROC_WATCH_MEMORY | PROC_WATCH_PIDS, PROC_OVER_NOTHING},
        {48, 5, PROC_WATCH_MEMORY | PROC_WATCH_PIDS, PROC_OVER_MEMORY},
        {48, 5, PROC_WATCH_PIDS, PROC_OVER_NOTHING},
        {200, 4, PROC_WATCH_MEMORY | PROC_WATCH_PIDS, PROC_OVER_PIDS},
        {200, 4, PROC_WATCH_MEMORY, PROC_OVER_NOTHING},
        {200, 5, PROC_WATCH_CPU, PROC_OVER_CPU},
    };
    pid_t pid = scene_begin(&scene);

    (void)state;
    assert_int_equal(proc_watch_init(), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct plan plan = plan_of(cases[i].memory_mib, cases[i].pids, 1000);
        struct proc_watch watch = {.of = cases[i].of, .uid = 10001, .init = pid, .plan = &plan};

        assert_int_equal(watch_for(&watch).over, cases[i].over);
    }
    scene_end(pid);
}

/*
 * A program that stands still when the watch begins, as a run's does. Return: what was counted;
 * ret_is_over: at a look, with a limit of 150 ms.
 */
static uint64_t time_of(const struct scene *scene, bool has_clock, bool *ret_is_over)
{
    struct plan plan = plan_of(1000, 100, 1000);
    pid_t pid = scene_start(scene);
    struct proc_watch watch = {.of = PROC_WATCH_CPU,
                               .uid = 10001,
                               .init = pid,
                               .payload = has_clock ? pid : 0,
                               .plan = &plan};

    plan.cpu_ms = 150;
    *ret_is_over = watch_and_go(&watch, go[1]).over == PROC_OVER_CPU;
    scene_end(pid);
    return watch.cpu_us;
}

static void time_that_the_kernel_drops_is_counted(void **state)
{
    const struct scene dropped = {.is_held = true, .dropped = 30, .dropped_ms = 10};
    const struct scene waited = {.is_held = true, .spins_ms = 120};
    uint64_t us;
    bool is_over;

    (void)state;
    assert_int_equal(proc_watch_init(), 0);
    if (proc_watch_clock_init() < 0) {
        print_message("not with the rights of this user: perf_event_open(2)\n");
        skip();
    }
    /* Positive control: without it the kernel's count has next to nothing of them. */
    us = time_of(&dropped, false, &is_over);
    assert_false(is_over);
    assert_true(us < 150000);
    us = time_of(&dropped, true, &is_over);
    assert_true(is_over);
    /* It is ended when it has half as much again as it may, which the last look sees. */
    assert_in_range(us, 150000, 400000);
    /* Who is counted by the kernel is counted by it, to the tick. */
    us = time_of(&waited, true, &is_over);
    assert_false(is_over);
    assert_in_range(us, 110000, 149999);
}

static void of_all_of_a_user_the_one_that_has_the_most_goes(void **state)
{
    const struct plan plan = plan_of(500, 100, 100);
    pid_t small = scene_begin(&(struct scene){.forks = 1, .own = 48 * MIB});
    pid_t large = scene_begin(&(struct scene){.forks = 1, .own = 80 * MIB});
    struct seen other = {0}, seen;
    struct proc_watch alone = {.of = PROC_WATCH_MEMORY, .uid = 10001, .init = small, .plan = &plan};
    struct proc_watch most = {.of = PROC_WATCH_MEMORY,
                              .uid = 10001,
                              .init = large,
                              .plan = &plan,
                              .on_over = on_over,
                              .arg = &other};

    (void)state;
    assert_int_equal(watch_for(&alone).over, PROC_OVER_NOTHING);
    other.base = event_base_new();
    assert_non_null(other.base);
    assert_int_equal(proc_watch_start(&most, other.base), 0);
    most.memory_bytes = 80 * MIB; /* as its own looks would say */
    most.uid = 10002;             /* positive control: another's */
    assert_int_equal(watch_for(&alone).over, PROC_OVER_NOTHING);
    assert_int_equal(other.over, PROC_OVER_NOTHING);
    most.uid = 10001;
    seen = watch_for(&alone);
    assert_int_equal(seen.over, PROC_OVER_NOTHING);
    assert_int_equal(other.over, PROC_OVER_USER_MEMORY);
    assert_true(other.largest > large);
    proc_watch_done(&most);
    event_base_free(other.base);
    scene_end(large);
    scene_end(small);
}

static void a_kill_that_the_group_counted_is_told(void **state)
{
    const struct plan plan = plan_of(1, 1, 1);
    struct proc_watch watch = {.of = PROC_WATCH_GROUP, .uid = 10001, .plan = &plan};

    (void)state;
    group_kills = 0;
    assert_int_equal(watch_for(&watch).over, PROC_OVER_NOTHING);
    group_kills = WIRE_NOT_KNOWN;
    assert_int_equal(watch_for(&watch).over, PROC_OVER_NOTHING);
    group_kills = 1;
    assert_int_equal(watch_for(&watch).over, PROC_OVER_GROUP);
}

/* The kernel lets nobody have more: what is_cut ends is no tree that the policy allows. */
static void there_is_room_for_all_that_the_policy_allows(void **state)
{
    static struct policy policy;
    const enum policy_kind kinds[] = {POLICY_RUN, POLICY_LOGIN};
    const uint64_t most = policy_keys[POLICY_KEY_PIDS].most;
    const struct plan_ask ask = {0};
    struct plan plan;
    const char *field;

    (void)state;
    policy_defaults(&policy);
    policy.profiles[POLICY_USER].values[POLICY_KEY_PIDS] = most;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        uint64_t nproc = 0;

        policy.profiles[kinds[i]].values[POLICY_KEY_PIDS] = most;
        assert_int_equal(policy_plan(&policy, kinds[i], 10001, NULL, 0, &ask, &plan, &field), 0);
        for (uint32_t k = 0; k < plan.rlimit_count; k++) {
            if (plan.rlimits[k].resource == RLIMIT_NPROC)
                nproc = plan.rlimits[k].value;
        }
        assert_in_range(nproc, most, PROCS_ROOM - 128);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_and_threads_are_counted_with_the_orphans),
        cmocka_unit_test(time_of_children_that_were_waited_for_counts),
        cmocka_unit_test(shared_memory_counts_once_and_private_memory_for_each),
        cmocka_unit_test(what_nobody_waits_for_counts_in_full),
        cmocka_unit_test(looks_take_a_tenth_of_a_processor_at_most),
        cmocka_unit_test(what_is_over_is_told_and_nothing_else),
        cmocka_unit_test(time_that_the_kernel_drops_is_counted),
        cmocka_unit_test(of_all_of_a_user_the_one_that_has_the_most_goes),
        cmocka_unit_test(a_kill_that_the_group_counted_is_told),
        cmocka_unit_test(there_is_room_for_all_that_the_policy_allows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
