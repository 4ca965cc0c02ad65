/* SPDX-License-Identifier: ISC */
/* cgroups.c - control groups: being born in one, limits, who pays for memory, and their end. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/kernel/group.h"
#include "tests/kernel/prove.h"

#include "common/banned.h"

#define AT_ONCE_MS 2000
#define NEVER_MS   200
#define MIB        (1ul << 20)
/* A group that is asked for more than a fork or two costs. */
#define LIMIT_BYTES (24 * MIB)
/* What the kernel charges at once: MEMCG_CHARGE_BATCH, 64 pages of 4 KiB. */
#define CHARGE_BYTES (256u << 10)

static void wait_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        (void)pause();
}

/* A child that is born in the group. */
static pid_t born_in(const struct group *g, unsigned long flags, void (*function)(void *),
                     void *arg)
{
    int dir = open(g->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP | flags,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)(unsigned)dir,
    };
    long pid;

    SETUP(dir >= 0);
    pid = syscall(SYS_clone3, &args, sizeof(args));
    SETUP(pid >= 0);
    if (pid == 0) {
        function(arg);
        _exit(0);
    }
    (void)close(dir);
    return (pid_t)pid;
}

/* --- version 2, with or without controllers -------------------------------------------------- */

#define NO_V2 "there is no version 2 tree, or nothing can be made in it"

static void a_child_is_born_in_a_group(void)
{
    struct group g;
    pid_t pid;

    NEED(group_make(NULL, &g), NO_V2);
    CONTROL(!group_has(&g, child_start(wait_for_ever, NULL)));
    pid = born_in(&g, 0, wait_for_ever, NULL);
    MUST(group_has(&g, pid) && !group_has(&g, getpid()));
}

static void look_at_root(void *arg)
{
    char text[2048];

    (void)arg;
    SETUP(file_read("/proc/self/cgroup", text, sizeof(text)));
    _exit(strstr(text, "0::/\n") ? 10 : 0);
}

static void its_group_is_the_root_of_its_cgroup_namespace(void)
{
    struct group g;

    NEED(group_make(NULL, &g), NO_V2);
    CONTROL(child_end(born_in(&g, 0, look_at_root, NULL)) == 0);
    MUST(child_end(born_in(&g, CLONE_NEWCGROUP, look_at_root, NULL)) == 10);
}

static void fork_and_wait(void *arg)
{
    (void)child_start(wait_for_ever, NULL);
    (void)child_start(wait_for_ever, NULL);
    wait_for_ever(arg);
}

static void cgroup_kill_kills_all_in_it(void)
{
    int alive[2];
    struct group g;
    pid_t pid, other;

    NEED(group_make(NULL, &g), NO_V2);
    NEED(access(group_file(&g, "cgroup.kill"), W_OK) == 0,
         "this kernel has no cgroup.kill (Linux 5.14)");
    SETUP(pipe2(alive, O_CLOEXEC) == 0);
    pid = born_in(&g, 0, fork_and_wait, NULL);
    (void)close(alive[1]);
    other = child_start(wait_for_ever, NULL);
    CONTROL(!is_readable(alive[0], NEVER_MS));
    SETUP(group_write(&g, "cgroup.kill", "1") == 0);
    MUST(is_readable(alive[0], AT_ONCE_MS) && child_end(pid) == 128 + SIGKILL);
    MUST(!is_readable(pidfd_of(other), 0)); /* who is not in it lives */
}

static void a_group_in_use_cannot_be_removed(void)
{
    struct group g;
    char byte;
    pid_t pid;
    int file;

    NEED(group_make(NULL, &g), NO_V2);
    pid = born_in(&g, 0, wait_for_ever, NULL);
    file = open(group_file(&g, "cgroup.procs"), O_RDONLY | O_CLOEXEC);
    MUST(rmdir(g.path) < 0 && errno == EBUSY);
    SETUP(kill(pid, SIGKILL) == 0 && child_end(pid) == 128 + SIGKILL);
    CONTROL(rmdir(g.path) == 0);
    /* Who has a file of it open is told. */
    MUST(read(file, &byte, 1) < 0 && errno == ENODEV);
}

/* A process of ours, by number, as sshd's monitor; its children are born there. */
static void a_process_is_moved_and_its_children_with_it(void)
{
    int ends[2];
    struct group g;
    char text[16];
    pid_t pid, child = 0;

    NEED(group_make(NULL, &g), NO_V2);
    SETUP(pipe2(ends, O_CLOEXEC) == 0);
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        SETUP(kill(getpid(), SIGSTOP) == 0);
        child = child_start(wait_for_ever, NULL);
        SETUP(write(ends[1], &child, sizeof(child)) == sizeof(child));
        wait_for_ever(NULL);
    }
    CONTROL(!group_has(&g, pid));
    (void)snprintf(text, sizeof(text), "%d", pid);
    SETUP(group_write(&g, "cgroup.procs", text) == 0);
    MUST(group_has(&g, pid));
    while (kill(pid, SIGCONT) == 0 && !is_readable(ends[0], 20))
        ; /* it may not have stopped yet */
    SETUP(read(ends[0], &child, sizeof(child)) == sizeof(child));
    MUST(group_has(&g, child));
}

/* Of memory, not of pids and cpu alone: those may be given to threads. */
static void controllers_below_keep_processes_out(void)
{
    struct group g, below;

    NEED(group_make("memory", &g) && g.version == 2, "version 2 of this host has no controllers");
    CONTROL(child_end(born_in(&g, 0, look_at_root, NULL)) == 0);
    SETUP(group_write(&g, "cgroup.subtree_control", "+memory") == 0);
    group_below(&g, &below);
    MUST(group_join(&g) == EBUSY);
    CONTROL(group_join(&below) == 0);
}

/* --- pids ----------------------------------------------------------------------------------- */

#define NO_PIDS "there is no pids controller, or nothing can be made in its tree"

static void join_and_fork(void *arg)
{
    const struct group *g = arg;
    int n = 0;

    SETUP(group_join(g) == 0);
    while (n < 50) {
        pid_t pid = fork();

        if (pid < 0)
            break;
        if (pid == 0)
            wait_for_ever(NULL);
        n++;
    }
    _exit(n < 50 && errno == EAGAIN ? n : 255);
}

static void pids_max_refuses_to_fork(void)
{
    struct group g;

    NEED(group_make("pids", &g), NO_PIDS);
    CONTROL(child_run(join_and_fork, &g) == 255);
    SETUP(group_make("pids", &g));
    group_limit(&g, "pids.max", "pids.max", 10);
    MUST(child_run(join_and_fork, &g) == 9);
    MUST(group_number(&g, "pids.current", NULL) == 9); /* whose parent has gone */
    MUST(group_number(&g, "pids.events", "max") >= 1);
    if (g.version == 2)
        prove_fact("pids_peak", access(group_file(&g, "pids.peak"), R_OK) == 0 ? "yes" : "no");
}

/* So a leaf needs no room for who is moved into it, and its limit is no limit for that. */
static void a_process_is_moved_over_pids_max(void)
{
    struct group g;

    NEED(group_make("pids", &g), NO_PIDS);
    group_limit(&g, "pids.max", "pids.max", 0);
    MUST(group_join(&g) == 0);
    MUST(fork() < 0 && errno == EAGAIN);
    group_limit(&g, "pids.max", "pids.max", 10);
    CONTROL(child_run(look_at_root, NULL) != 255);
}

static void pids_events_are_counted(void)
{
    struct group g, below;
    bool is_local;

    NEED(group_make("pids", &g) && g.version == 2, "version 2 of this host has no controllers");
    SETUP(group_write(&g, "cgroup.subtree_control", "+pids") == 0);
    group_below(&g, &below);
    group_limit(&g, "", "pids.max", 5);
    CONTROL(group_number(&below, "pids.events", "max") + group_number(&g, "pids.events", "max") ==
            0);
    MUST(child_run(join_and_fork, &below) == 4);
    /* The limit is above: whose is the event? */
    is_local = group_number(&below, "pids.events", "max") > 0;
    prove_fact("pids_events_of", is_local ? "who-forked" : "whose-limit");
    MUST(is_local || group_number(&g, "pids.events", "max") > 0);
}

/* --- memory --------------------------------------------------------------------------------- */

#define NO_MEMORY "there is no memory controller, or nothing can be made in its tree"

static bool memory_group(struct group *ret)
{
    if (!group_make("memory", ret))
        return false;
    group_limit(ret, "memory.limit_in_bytes", "memory.max", LIMIT_BYTES);
    if (ret->version == 2)
        (void)group_write(ret, "memory.swap.max", "0");
    return true;
}

static unsigned long memory_of(const struct group *g)
{
    return group_number(g, g->version == 1 ? "memory.usage_in_bytes" : "memory.current", NULL);
}

static unsigned long oom_kills(const struct group *g)
{
    return group_number(g, g->version == 1 ? "memory.oom_control" : "memory.events", "oom_kill");
}

static void touch(size_t bytes)
{
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    SETUP(map != MAP_FAILED);
    memset(map, 1, bytes);
}

static void touch_a_little(void *g)
{
    SETUP(group_join(g) == 0);
    touch(LIMIT_BYTES / 4);
}

static void touch_too_much(void *g)
{
    SETUP(group_join(g) == 0);
    touch(4 * LIMIT_BYTES);
}

static void memory_over_the_limit_is_a_kill_that_is_counted(void)
{
    struct group g;

    NEED(memory_group(&g), NO_MEMORY);
    CONTROL(child_run(touch_a_little, &g) == 0 && oom_kills(&g) == 0);
    MUST(child_run(touch_too_much, &g) == 128 + SIGKILL);
    MUST(oom_kills(&g) == 1);
    if (g.version == 2)
        prove_fact("memory_peak", access(group_file(&g, "memory.peak"), R_OK) == 0 ? "yes" : "no");
}

static void write_file(const char *path, size_t bytes)
{
    static char block[64 << 10];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    SETUP(fd >= 0);
    for (size_t n = 0; n < bytes; n += sizeof(block))
        SETUP(write(fd, block, sizeof(block)) == sizeof(block));
    (void)close(fd);
}

static void fill_a_little(void *g)
{
    SETUP(group_join(g) == 0);
    write_file("/tmp/paid/file", 8 * MIB);
}

static void read_all(void *g)
{
    static char block[64 << 10];
    int fd = open("/tmp/paid/file", O_RDONLY | O_CLOEXEC);

    SETUP(group_join(g) == 0 && fd >= 0);
    while (read(fd, block, sizeof(block)) > 0)
        ;
}

static void tmpfs_at(const char *path, const char *options)
{
    SETUP(mkdir(path, 0755) == 0 && mount("tmpfs", path, "tmpfs", 0, options) == 0);
}

/* Not who mounted it; and it stays charged when they are gone. */
static void tmpfs_is_charged_to_who_writes_until_it_is_unmounted(void)
{
    struct group writer, reader;

    NEED(memory_group(&writer) && memory_group(&reader), NO_MEMORY);
    tmpfs_at("/tmp/paid", NULL);
    SETUP(child_run(fill_a_little, &writer) == 0);
    MUST(memory_of(&writer) >= 8 * MIB);
    SETUP(child_run(read_all, &reader) == 0);
    CONTROL(memory_of(&reader) < 4 * MIB);
    SETUP(umount2("/tmp/paid", 0) == 0);
    for (int i = 0; i < 100 && memory_of(&writer) >= 4 * MIB; i++)
        pause_ms(10); /* counted in batches */
    MUST(memory_of(&writer) < 4 * MIB);
}

static void fill_too_much(void *g)
{
    SETUP(group_join(g) == 0);
    write_file("/tmp/large/file", 4 * LIMIT_BYTES);
}

static void fill_small(void *g)
{
    static char block[64 << 10];
    int fd = open("/tmp/small/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    SETUP(group_join(g) == 0);
    while (write(fd, block, sizeof(block)) > 0)
        ;
    _exit(errno == ENOSPC ? 10 : 255);
}

static void tmpfs_over_the_limit_is_a_kill_not_a_full_disk(void)
{
    struct group g;

    NEED(memory_group(&g), NO_MEMORY);
    tmpfs_at("/tmp/small", "size=4m");
    tmpfs_at("/tmp/large", "size=1g");
    CONTROL(child_run(fill_small, &g) == 10);
    MUST(child_run(fill_too_much, &g) == 128 + SIGKILL && oom_kills(&g) == 1);
}

static int bystander_pipe[2];

static void with_bystander(void *arg)
{
    const struct group *g = arg;

    SETUP(group_join(g) == 0);
    if (fork() == 0)
        wait_for_ever(NULL);
    (void)close(bystander_pipe[1]);
    touch(4 * LIMIT_BYTES);
}

/* Whether the one that took nothing has gone with the one that took too much. */
static bool bystander_dies(const struct group *g)
{
    SETUP(pipe2(bystander_pipe, O_CLOEXEC) == 0);
    {
        struct group copy = *g;
        pid_t pid = child_start(with_bystander, &copy);

        (void)close(bystander_pipe[1]);
        SETUP(child_end(pid) == 128 + SIGKILL);
    }
    return is_readable(bystander_pipe[0], NEVER_MS);
}

/* Was it this group's own limit? By the word of the kernel in version 2, by the peak in version 1.
 */
static bool is_own(const struct group *g)
{
    if (g->version == 2)
        return group_number(g, "memory.events", "oom") > 0;
    return group_number(g, "memory.max_usage_in_bytes", NULL) + CHARGE_BYTES >=
           group_number(g, "memory.limit_in_bytes", NULL);
}

static void a_kill_tells_whose_limit_it_was(void)
{
    struct group above, below;

    NEED(memory_group(&above), NO_MEMORY);
    if (above.version == 2)
        SETUP(group_write(&above, "cgroup.subtree_control", "+memory") == 0);
    group_below(&above, &below);
    /* First far above that of the group above, then below it. */
    group_limit(&below, "memory.limit_in_bytes", "memory.max", 16 * LIMIT_BYTES);
    SETUP(child_run(touch_a_little, &below) == 0 && !is_own(&below));
    SETUP(child_run(touch_too_much, &below) == 128 + SIGKILL);
    MUST(oom_kills(&below) == 1 && !is_own(&below));
    group_limit(&below, "memory.limit_in_bytes", "memory.max", LIMIT_BYTES / 2);
    SETUP(child_run(touch_too_much, &below) == 128 + SIGKILL);
    CONTROL(oom_kills(&below) == 2 && is_own(&below));
}

static void oom_group_takes_all_of_the_group(void)
{
    struct group one, all;

    NEED(memory_group(&one), NO_MEMORY);
    NEED(one.version == 2, "version 1 has no kill of a whole group");
    SETUP(memory_group(&all));
    CONTROL(!bystander_dies(&one));
    SETUP(group_write(&all, "memory.oom.group", "1") == 0);
    MUST(bystander_dies(&all));
}

/* --- cpu, freezer --------------------------------------------------------------------------- */

#define SPIN_MS 1000
/* Of that; the quota below gives a fifth of it, and the kernel some more in its first slices. */
#define CPU_MS 100

static void spin(void *g)
{
    struct timespec begin, now;
    struct rusage used;

    SETUP(group_join(g) == 0);
    SETUP(clock_gettime(CLOCK_MONOTONIC, &begin) == 0);
    do
        SETUP(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < SPIN_MS);
    SETUP(getrusage(RUSAGE_SELF, &used) == 0);
    _exit(used.ru_utime.tv_sec > 0 || used.ru_utime.tv_usec + used.ru_stime.tv_usec > CPU_MS * 1000
              ? 10
              : 0);
}

/* How much a process gets without a quota is up to the rest of the machine: the group tells. */
static void cpu_time_over_the_quota_is_not_given(void)
{
    struct group g, unlimited;

    NEED(group_make("cpu", &g), "there is no cpu controller, or nothing can be made in its tree");
    NEED(access(group_file(&g, g.version == 1 ? "cpu.cfs_quota_us" : "cpu.max"), W_OK) == 0,
         "this kernel has no CPU quota");
    if (g.version == 1) {
        SETUP(group_write(&g, "cpu.cfs_period_us", "100000") == 0);
        SETUP(group_write(&g, "cpu.cfs_quota_us", "2000") == 0);
    } else {
        SETUP(group_write(&g, "cpu.max", "2000 100000") == 0);
    }
    SETUP(group_make("cpu", &unlimited));
    SETUP(child_run(spin, &unlimited) % 10 == 0);
    CONTROL(group_number(&unlimited, "cpu.stat", "nr_throttled") == 0);
    MUST(child_run(spin, &g) == 0);
    MUST(group_number(&g, "cpu.stat", "nr_throttled") > 0);
}

/* Uses half a second in a child of its own, which it does not wait for. */
static void spin_in_a_child(void *g)
{
    pid_t pid;

    SETUP(group_join(g) == 0);
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        struct rusage used;

        do
            (void)getrusage(RUSAGE_SELF, &used);
        while (used.ru_utime.tv_sec == 0 && used.ru_utime.tv_usec + used.ru_stime.tv_usec < 500000);
        for (;;)
            (void)pause();
    }
    pause_ms(20);
}

static void cpu_usage_counts_who_was_not_waited_for(void)
{
    unsigned long least = 0;
    struct group g;

    NEED(group_make("cpuacct", &g) || group_make("cpu", &g),
         "there is no controller that counts, or nothing can be made in its tree");
    SETUP(child_run(spin_in_a_child, &g) == 0);
    for (int i = 0; i < 400 && least < 400; i++) {
        pause_ms(10);
        least = g.version == 1 ? group_number(&g, "cpuacct.usage", NULL) / 1000000
                               : group_number(&g, "cpu.stat", "usage_usec") / 1000;
        if (i == 0)
            CONTROL(least < 400);
    }
    MUST(least >= 400);
}

static void sigkill_waits_in_a_frozen_group_of_version_1(void)
{
    struct group g;
    char text[16];
    pid_t pid;

    NEED(group_make("freezer", &g) && g.version == 1, "there is no freezer of version 1");
    pid = child_start(wait_for_ever, NULL);
    (void)snprintf(text, sizeof(text), "%d", pid);
    SETUP(group_write(&g, "cgroup.procs", text) == 0);
    SETUP(group_write(&g, "freezer.state", "FROZEN") == 0);
    SETUP(kill(pid, SIGKILL) == 0);
    MUST(!is_readable(pidfd_of(pid), NEVER_MS));
    SETUP(group_write(&g, "freezer.state", "THAWED") == 0);
    CONTROL(is_readable(pidfd_of(pid), AT_ONCE_MS));
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(a_child_is_born_in_a_group),
    BEHAVIOUR(its_group_is_the_root_of_its_cgroup_namespace),
    BEHAVIOUR(cgroup_kill_kills_all_in_it),
    BEHAVIOUR(a_group_in_use_cannot_be_removed),
    BEHAVIOUR(a_process_is_moved_and_its_children_with_it),
    BEHAVIOUR(controllers_below_keep_processes_out),
    BEHAVIOUR(pids_max_refuses_to_fork),
    BEHAVIOUR(a_process_is_moved_over_pids_max),
    BEHAVIOUR(pids_events_are_counted),
    BEHAVIOUR(memory_over_the_limit_is_a_kill_that_is_counted),
    BEHAVIOUR(tmpfs_is_charged_to_who_writes_until_it_is_unmounted),
    BEHAVIOUR(tmpfs_over_the_limit_is_a_kill_not_a_full_disk),
    BEHAVIOUR(a_kill_tells_whose_limit_it_was),
    BEHAVIOUR(oom_group_takes_all_of_the_group),
    BEHAVIOUR(cpu_time_over_the_quota_is_not_given),
    BEHAVIOUR(cpu_usage_counts_who_was_not_waited_for),
    BEHAVIOUR(sigkill_waits_in_a_frozen_group_of_version_1),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "cgroups", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      groups_clean);
}
