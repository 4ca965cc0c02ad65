/* SPDX-License-Identifier: ISC */
/* flood.c - attacks on what everybody shares: processors, memory, processes, disk. */
#include "attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define MIB       ((size_t)1 << 20)
#define STEP_MIB  64
#define FORKS_MAX 4096

/* Until somebody ends it. Says that it has begun. */
int attack_loop(const char *name, int argc, char *argv[])
{
    (void)argc;
    (void)argv;
    say_reached(name, "begun", "%s", "");
    for (volatile unsigned long n = 0;; n++)
        ;
}

/* So long what was taken is held before it is said that all was had: for who looks now and then. */
static void hold(int argc, char *argv[])
{
    if (argc > 1)
        (void)sleep((unsigned)number(argv[1], 60, 0));
}

/* Each page is written. A line for each step, because whoever is over the limit says no more. */
int attack_memory(const char *name, int argc, char *argv[])
{
    long wanted = argc > 0 ? number(argv[0], 1 << 20, 0) : 0, page = sysconf(_SC_PAGESIZE);
    char target[32];

    for (long done = 0; done < wanted; done += STEP_MIB) {
        char *mem =
            mmap(NULL, STEP_MIB * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (mem == MAP_FAILED) {
            say_refused(name, "all", errno, "after %ld MiB", done);
            return 0;
        }
        for (size_t at = 0; at < STEP_MIB * MIB; at += (size_t)page)
            mem[at] = 'x';
        (void)snprintf(target, sizeof(target), "%ld", done + STEP_MIB);
        say_reached(name, target, "MiB");
    }
    hold(argc, argv);
    say_reached(name, "all", "%ld MiB", wanted);
    return 0;
}

int attack_forks(const char *name, int argc, char *argv[])
{
    static pid_t pids[FORKS_MAX];
    long wanted = argc > 0 ? number(argv[0], FORKS_MAX, 0) : 0, made = 0;
    int error = 0;

    while (made < wanted && error == 0) {
        pid_t pid = fork();

        if (pid == 0) {
            (void)pause();
            _exit(0);
        }
        if (pid < 0)
            error = errno;
        else
            pids[made++] = pid;
    }
    hold(error == 0 ? argc : 0, argv);
    if (error != 0)
        say_refused(name, "all", error, "after %ld", made);
    else
        say_reached(name, "all", "%ld", made);
    for (long i = 0; i < made; i++)
        (void)kill(pids[i], SIGKILL);
    for (long i = 0; i < made; i++)
        (void)waitpid(pids[i], NULL, 0);
    return 0;
}

/* Allocated, not only as long; removed at the end. */
int attack_fill(const char *name, int argc, char *argv[])
{
    long wanted = argc > 1 ? number(argv[1], 1 << 20, 0) : 0, done = 0;
    static char block[MIB];
    int fd, error = 0;

    if (argc != 2)
        return -EINVAL;
    memset(block, 'x', sizeof(block));
    fd = open(argv[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        say_refused(name, argv[0], errno, "after 0 MiB");
        return 0;
    }
    while (done < wanted && error == 0) {
        ssize_t n = write(fd, block, sizeof(block));

        if (n == (ssize_t)sizeof(block))
            done++;
        else
            error = n < 0 ? errno : ENOSPC;
    }
    (void)close(fd);
    (void)unlink(argv[0]);
    if (error != 0)
        say_refused(name, argv[0], error, "after %ld MiB", done);
    else
        say_reached(name, argv[0], "%ld MiB", done);
    return 0;
}
