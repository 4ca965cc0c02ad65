/* SPDX-License-Identifier: ISC */
/*
 * status.c - what /proc says of another process: the receipt of a run, the lease of a login, and a
 * session that a new sessiond takes over are read from there.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

static int ready[2];

static void wait_for_ever(void)
{
    SETUP(write(ready[1], "", 1) == 1);
    for (;;)
        (void)pause();
}

static pid_t start(void (*function)(void *))
{
    pid_t pid;
    char byte;

    SETUP(pipe2(ready, O_CLOEXEC) == 0);
    pid = child_start(function, NULL);
    SETUP(read(ready[0], &byte, 1) == 1);
    return pid;
}

static void as_it_is(void *arg)
{
    (void)arg;
    wait_for_ever();
}

static void without_rights(void *arg)
{
    (void)arg;
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        SETUP(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0);
    SETUP(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    become(uid_a);
    wait_for_ever();
}

/* It is not dumpable (creds), and root reads all the same. */
static void status_tells_root_of_rights(void)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    pid_t with = start(as_it_is), without = start(without_rights);

    CONTROL(status_number(with, "CapBnd", 16) != 0 && status_number(with, "NoNewPrivs", 10) == 0);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        MUST(status_number(without, sets[i], 16) == 0);
    MUST(status_number(without, "NoNewPrivs", 10) == 1);
    MUST((uid_t)status_number(without, "Uid", 10) == uid_a);
    MUST((gid_t)status_number(without, "Gid", 10) == uid_a);
}

static void in_groups(void *arg)
{
    const gid_t groups[] = {30003, 30001, 30002};

    (void)arg;
    SETUP(setgroups(3, groups) == 0);
    wait_for_ever();
}

static void status_lists_groups_sorted(void)
{
    char path[64], text[8192];
    pid_t pid = start(in_groups), none;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    SETUP(file_read(path, text, sizeof(text)));
    MUST(strstr(text, "\nGroups:\t30001 30002 30003 \n") != NULL);
    SETUP(setgroups(0, NULL) == 0);
    none = start(as_it_is);
    (void)snprintf(path, sizeof(path), "/proc/%d/status", none);
    SETUP(file_read(path, text, sizeof(text)));
    CONTROL(strstr(text, "\nGroups:\t30001") == NULL);
}

static void apart(void *arg)
{
    (void)arg;
    SETUP(unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET) == 0);
    wait_for_ever();
}

/* stat(2) of the link gives the number of the namespace; readlink(2) gives it as a text. */
static void namespaces_are_told_by_number(void)
{
    static const char *const names[] = {"mnt", "ipc", "uts", "net"};
    char same[16], other[16], path[64], text[64], wanted[64];
    ssize_t n;

    (void)snprintf(same, sizeof(same), "%d", start(as_it_is));
    (void)snprintf(other, sizeof(other), "%d", start(apart));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CONTROL(ns_of(same, names[i]) == ns_of("self", names[i]));
        MUST(ns_of(other, names[i]) != 0 && ns_of(other, names[i]) != ns_of("self", names[i]));
    }
    (void)snprintf(path, sizeof(path), "/proc/%s/ns/net", other);
    n = readlink(path, text, sizeof(text) - 1);
    SETUP(n > 0);
    text[n] = '\0';
    (void)snprintf(wanted, sizeof(wanted), "net:[%lu]", (unsigned long)ns_of(other, "net"));
    MUST(strcmp(text, wanted) == 0);
}

/* Field 22 of proc(5), counted from behind the name, which may have blanks in it. */
static unsigned long long start_time(pid_t pid)
{
    char path[64], text[1024], *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    SETUP(file_read(path, text, sizeof(text)));
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    SETUP(at != NULL);
    return strtoull(at, NULL, 10);
}

static void exec_and_wait(void *arg)
{
    char *argv[] = {(char[]){"sleep"}, (char[]){"1000"}, NULL};

    (void)arg;
    (void)execvp(argv[0], argv);
    _exit(127);
}

/* With the pid it is a name for a process that no other will have. */
static void the_start_time_stays_by_exec(void)
{
    pid_t pid = start(as_it_is), later;
    unsigned long long before, after;
    char path[64], text[64] = "";

    before = start_time(pid);
    pause_ms(50); /* some clock ticks */
    later = child_start(exec_and_wait, NULL);
    after = start_time(later);
    CONTROL(after > before);
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", later);
    for (int i = 0; i < 200 && strcmp(text, "sleep\n") != 0; i++) {
        pause_ms(10);
        SETUP(file_read(path, text, sizeof(text)));
    }
    SETUP(strcmp(text, "sleep\n") == 0);
    MUST(start_time(later) == after);
}

static void stopped(void *arg)
{
    (void)arg;
    SETUP(write(ready[1], "", 1) == 1);
    (void)raise(SIGSTOP);
    for (;;)
        (void)pause();
}

static char state_of(pid_t pid)
{
    char path[64], text[1024], *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (!file_read(path, text, sizeof(text)))
        return '?';
    at = strrchr(text, ')');
    SETUP(at != NULL);
    return at[2];
}

static void stat_tells_who_is_stopped(void)
{
    pid_t sleeps = start(as_it_is), pid = start(stopped);

    for (int i = 0; i < 200 && state_of(pid) != 'T'; i++)
        pause_ms(10);
    MUST(state_of(pid) == 'T');
    CONTROL(state_of(sleeps) == 'S');
}

static bool text_has(pid_t pid, const char *file, const char *wanted)
{
    char path[64], text[4096];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
    return file_read(path, text, sizeof(text)) && strstr(text, wanted) != NULL;
}

static void with_limit(void *arg)
{
    const struct rlimit files = {123, 456};

    (void)arg;
    SETUP(setrlimit(RLIMIT_NOFILE, &files) == 0);
    become(uid_a);
    wait_for_ever();
}

/* prlimit(2) would want CAP_SYS_RESOURCE for it. */
static void limits_are_told(void)
{
    CONTROL(!text_has(start(as_it_is), "limits", "Max open files            123 "));
    MUST(text_has(start(with_limit), "limits",
                  "Max open files            123                  456 "));
}

static void children_are_listed(void)
{
    char file[32], wanted[32];
    pid_t child, other;

    (void)snprintf(file, sizeof(file), "task/%d/children", getpid());
    child = start(as_it_is);
    (void)snprintf(wanted, sizeof(wanted), "%d ", child);
    NEED(text_has(getpid(), file, ""), "this kernel lists no children");
    MUST(text_has(getpid(), file, wanted));
    (void)snprintf(file, sizeof(file), "task/%d/children", child);
    other = start(as_it_is);
    SETUP(other > 0);
    CONTROL(text_has(child, file, "") && !text_has(child, file, wanted)); /* none of its own */
}

/* What was sent to, and died, is not another one with the same number. */
static void a_pidfd_is_of_the_process_not_of_the_number(void)
{
    pid_t pid = start(as_it_is);
    int fd = pidfd_of(pid);

    CONTROL(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0);
    SETUP(kill(pid, SIGKILL) == 0 && child_end(pid) == 128 + SIGKILL);
    MUST(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 && errno == ESRCH);
}

static void only_three_left(void *arg)
{
    (void)arg;
    SETUP(write(ready[1], "", 1) == 1);
    SETUP(syscall(SYS_close_range, 3, ~0u, 0) == 0);
    for (;;)
        (void)pause();
}

static bool has_fd(pid_t pid, int fd)
{
    struct stat st;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    return lstat(path, &st) == 0;
}

static void close_range_closes_all_from_three_on(void)
{
    int fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC), high = fcntl(fd, F_DUPFD, 900);
    pid_t with = start(as_it_is), without = start(only_three_left);

    SETUP(fd >= 3 && high >= 900);
    CONTROL(has_fd(with, fd) && has_fd(with, high));
    for (int i = 0; i < 200 && has_fd(without, high); i++)
        pause_ms(10);
    MUST(!has_fd(without, fd) && !has_fd(without, high) && has_fd(without, 0));
}

/* --- processor time ------------------------------------------------------------------------- */

#define US_PER_S 1000000u

static uint64_t cpu_us(clockid_t clock)
{
    struct timespec ts;

    SETUP(clock_gettime(clock, &ts) == 0);
    return (uint64_t)ts.tv_sec * US_PER_S + (uint64_t)ts.tv_nsec / 1000;
}

/* As init.c has it. */
static clockid_t limit_clock(pid_t pid)
{
    return (clockid_t)(~(unsigned)pid << 3);
}

/* Dies of the limit, or raises its signal before. */
static void spin_to_the_limit(void *arg)
{
    const struct rlimit one = {.rlim_cur = 1, .rlim_max = 2};
    uint64_t most_us = *(const uint64_t *)arg;

    SETUP(setrlimit(RLIMIT_CPU, &one) == 0);
    while (cpu_us(CLOCK_PROCESS_CPUTIME_ID) < most_us) {
    }
    (void)raise(SIGXCPU);
}

/* What the process had used by the count of RLIMIT_CPU, asked when it was dead and not waited for.
 */
static uint64_t used_when_dead(uint64_t most_us)
{
    pid_t pid = child_start(spin_to_the_limit, &most_us);
    siginfo_t info = {0};
    uint64_t us;

    SETUP(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    SETUP(info.si_code != CLD_EXITED && info.si_status == SIGXCPU);
    us = cpu_us(limit_clock(pid));
    SETUP(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0);
    return us;
}

static void the_count_of_a_cpu_limit_is_told_of_the_dead(void)
{
    CONTROL(used_when_dead(US_PER_S / 5) < US_PER_S);
    MUST(used_when_dead(20 * US_PER_S) >= US_PER_S);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(status_tells_root_of_rights),
    BEHAVIOUR(status_lists_groups_sorted),
    BEHAVIOUR(namespaces_are_told_by_number),
    BEHAVIOUR(the_start_time_stays_by_exec),
    BEHAVIOUR(stat_tells_who_is_stopped),
    BEHAVIOUR(limits_are_told),
    BEHAVIOUR(children_are_listed),
    BEHAVIOUR(a_pidfd_is_of_the_process_not_of_the_number),
    BEHAVIOUR(close_range_closes_all_from_three_on),
    BEHAVIOUR(the_count_of_a_cpu_limit_is_told_of_the_dead),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "status", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
