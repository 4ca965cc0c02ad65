/* SPDX-License-Identifier: ISC */
/* times.c - processor time of a process and of all that come from it: what counts it, what drops
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

/* Each child uses so much, and there are so many. */
#define CHILD_US 40000u
#define CHILDREN 10u
#define ALL_US   (CHILD_US * CHILDREN)
/* More than it takes to make and to end them, on an emulated machine, too. */
#define LITTLE_US (ALL_US / 2)
/* The clocks differ by what a process does before its first look at one, and by interrupts. */
#define NEARLY(us) ((us) / 10 * 9)

static int gate[2];

static uint64_t used_us(void)
{
    struct timespec ts;

    SETUP(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) == 0);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void spin(void *arg)
{
    (void)arg;
    while (used_us() < CHILD_US) {
    }
}

/* One after the other. */
static void chain(void)
{
    for (unsigned i = 0; i < CHILDREN; i++) {
        pid_t pid = child_start(spin, NULL);

        /* Who ignores SIGCHLD has nothing to wait for: ECHILD, when it is gone. */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
}

static void gate_pass(void)
{
    char byte;

    SETUP(read(gate[0], &byte, 1) == 1);
}

static void chain_waited(void *arg)
{
    (void)arg;
    gate_pass();
    chain();
}

static void chain_ignored(void *arg)
{
    gate_pass();
    (void)signal(SIGCHLD, SIG_IGN);
    (void)arg;
    chain();
}

static void chain_unwatched(void *arg)
{
    const struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};

    gate_pass();
    SETUP(sigaction(SIGCHLD, &action, NULL) == 0);
    (void)arg;
    chain();
}

/* By one whose parent is gone: the end of the pipe says when it is. */
static void chain_of_an_orphan(void *arg)
{
    int over[2];
    char byte;
    pid_t pid;

    (void)arg;
    gate_pass();
    SETUP(pipe(over) == 0);
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        if (fork() == 0) {
            while (getppid() == pid)
                pause_ms(1);
            (void)signal(SIGCHLD, SIG_IGN);
            chain();
        }
        _exit(0);
    }
    SETUP(child_end(pid) == 0);
    SETUP(close(over[1]) == 0);
    SETUP(read(over[0], &byte, 1) == 0);
}

/* As task_clock.c has it. */
static int clock_of(pid_t pid, bool inherit)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .inherit = inherit,
    };

    return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

struct counts {
    uint64_t kernel_us; /* the sum that who waits is told */
    uint64_t clock_us;  /* of perf */
};

static struct counts counts_of(void (*function)(void *), void *arg, bool inherit)
{
    struct counts counts;
    struct rusage usage;
    uint64_t ns;
    int fd, status;
    pid_t pid;

    SETUP(pipe2(gate, O_CLOEXEC) == 0);
    pid = child_start(function, arg);
    fd = clock_of(pid, inherit);
    SETUP(fd >= 0);
    SETUP(write(gate[1], "", 1) == 1);
    SETUP(wait4(pid, &status, 0, &usage) == pid && status == 0);
    SETUP(read(fd, &ns, sizeof(ns)) == (ssize_t)sizeof(ns));
    SETUP(close(fd) == 0 && close(gate[0]) == 0 && close(gate[1]) == 0);
    counts.kernel_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    counts.clock_us = ns / 1000;
    return counts;
}

static void time_of_children_is_dropped_where_sigchld_is_ignored(void)
{
    CONTROL(counts_of(chain_waited, NULL, true).kernel_us >= NEARLY(ALL_US));
    MUST(counts_of(chain_ignored, NULL, true).kernel_us < LITTLE_US);
    MUST(counts_of(chain_unwatched, NULL, true).kernel_us < LITTLE_US);
}

static void the_task_clock_counts_whom_nobody_waits_for(void)
{
    CONTROL(counts_of(chain_ignored, NULL, false).clock_us < LITTLE_US);
    MUST(counts_of(chain_ignored, NULL, true).clock_us >= NEARLY(ALL_US));
    MUST(counts_of(chain_unwatched, NULL, true).clock_us >= NEARLY(ALL_US));
    MUST(counts_of(chain_of_an_orphan, NULL, true).clock_us >= NEARLY(ALL_US));
}

/* --- another program -------------------------------------------------------------------------- */

struct program {
    const char *path, *act;
};

static void execute(void *arg)
{
    const struct program *program = arg;

    gate_pass();
    become(uid_a);
    (void)execl(program->path, program->path, program->act, (char *)NULL);
    _exit(127);
}

static uint64_t clock_of_program(const char *path, const char *act)
{
    struct program program = {path, act};

    return counts_of(execute, &program, true).clock_us;
}

static void the_task_clock_goes_on_in_another_program(void)
{
    self_copy("/tmp/readable", 0, 0, 0755);
    CONTROL(clock_of_program("/tmp/readable", ACT_NOTHING) < ACT_SPIN_US / 2);
    MUST(clock_of_program("/tmp/readable", ACT_SPIN) >= NEARLY(ACT_SPIN_US));
}

/* It is not for who watches to see what runs there. */
static void the_task_clock_ends_at_an_unreadable_program(void)
{
    self_copy("/tmp/readable", uid_a, 0, 0500);
    self_copy("/tmp/unreadable", uid_a, 0, 0100);
    CONTROL(clock_of_program("/tmp/readable", ACT_SPIN) >= NEARLY(ACT_SPIN_US));
    MUST(clock_of_program("/tmp/unreadable", ACT_SPIN) < ACT_SPIN_US / 2);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(time_of_children_is_dropped_where_sigchld_is_ignored),
    BEHAVIOUR(the_task_clock_counts_whom_nobody_waits_for),
    BEHAVIOUR(the_task_clock_goes_on_in_another_program),
    BEHAVIOUR(the_task_clock_ends_at_an_unreadable_program),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "times", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
