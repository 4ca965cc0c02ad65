/* SPDX-License-Identifier: ISC */
/* process.c - attacks on other processes, and what a process leaves behind. */
#include "attack/attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
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

#include "common/banned.h"

#define TEXT_ROOM 4096
#define LINGER_S  20 /* and then it is gone wherever it was started */

int attack_kill(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        long pid = number(argv[i], 1 << 22, 0);

        if (pid == 0)
            return -EINVAL;
        say(name, argv[i], kill((pid_t)pid, 0) < 0 ? -errno : 0);
    }
    return 0;
}

static int look_status(long pid)
{
    char path[32];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    (void)close(fd);
    return 0;
}

static int look_pidfd(long pid)
{
    long fd = syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return -errno;
    (void)close((int)fd);
    return 0;
}

int attack_look(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        long pid = number(argv[i], 1 << 22, 0);
        char target[32];

        if (pid == 0)
            return -EINVAL;
        (void)snprintf(target, sizeof(target), "proc/%ld", pid);
        say(name, target, look_status(pid));
        (void)snprintf(target, sizeof(target), "pidfd/%ld", pid);
        say(name, target, look_pidfd(pid));
    }
    return 0;
}

/* Is @text, backwards, so that our own arguments are no find, in those of this process? */
static bool has_text(const char *pid, const char *text)
{
    char path[300], room[TEXT_ROOM], word[64] = "";
    size_t len = strlen(text);
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, room, sizeof(room));
    if (fd >= 0)
        (void)close(fd);
    if (n <= 0 || len == 0 || len >= sizeof(word))
        return false;
    for (size_t i = 0; i < len; i++)
        word[i] = text[len - 1 - i];
    return memmem(room, (size_t)n, word, len) != NULL;
}

int attack_arguments(const char *name, int argc, char *argv[])
{
    DIR *proc = opendir("/proc");
    char found[32] = "";
    int count = 0;

    if (!proc)
        return -errno;
    for (struct dirent *e; argc > 0 && (e = readdir(proc));) {
        if (number(e->d_name, 1 << 22, 0) == 0)
            continue;
        count++;
        if (has_text(e->d_name, argv[0]))
            (void)snprintf(found, sizeof(found), "%.16s", e->d_name);
    }
    (void)closedir(proc);
    if (found[0])
        say_reached(name, "others", "of process %s", found);
    else
        say_refused(name, "others", 0, "%d processes are seen", count);
    return 0;
}

/* Twice away from its parent, in a session of its own, with nothing open. */
int attack_linger(const char *name, int argc, char *argv[])
{
    pid_t pid = fork();

    (void)argc;
    (void)argv;
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        (void)setsid();
        pid = fork();
        if (pid == 0) {
            (void)signal(SIGTERM, SIG_IGN);
            (void)signal(SIGHUP, SIG_IGN);
            (void)prctl(PR_SET_NAME, "attack-linger");
            (void)syscall(SYS_close_range, 0u, ~0u, 0u);
            (void)sleep(LINGER_S);
        }
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    say_reached(name, "process", "of its own for %d s", LINGER_S);
    return 0;
}

int attack_core(const char *name, int argc, char *argv[])
{
    struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY}, limit;
    int status = 0;
    pid_t pid;

    (void)argc;
    (void)argv;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        most.rlim_cur = most.rlim_max = limit.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &most);
    }
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        if (chdir("/tmp") == 0)
            abort();
        _exit(1);
    }
    (void)waitpid(pid, &status, 0);
    (void)getrlimit(RLIMIT_CORE, &limit);
    /* At 0 a handler that is a pipe gets it all the same, and the status says so (core(5)). */
    if (WCOREDUMP(status) || limit.rlim_cur == 0 || limit.rlim_max > 1)
        say_reached(name, "dump", "limit %lu to %lu%s", (unsigned long)limit.rlim_cur,
                    (unsigned long)limit.rlim_max, WCOREDUMP(status) ? ", dumped" : "");
    else
        say_refused(name, "dump", 0, "limit %lu to %lu, none", (unsigned long)limit.rlim_cur,
                    (unsigned long)limit.rlim_max);
    return 0;
}

/* --- what the kernel says ----------------------------------------------------------------------
 */

static const char *const keys[] = {"Uid",    "Gid",    "Groups", "CapInh",     "CapPrm",
                                   "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"};
static const char *const namespaces[] = {"mnt", "pid", "ipc", "uts", "net", "cgroup", "user"};

/* As `self KEY reached - VALUE`: nothing of it is an attack. */
int attack_self(const char *name, int argc, char *argv[])
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[TEXT_ROOM], path[32];

    (void)argc;
    (void)argv;
    if (!status)
        return -errno;
    while (fgets(line, sizeof(line), status)) {
        char *colon = strchr(line, ':');

        if (!colon)
            continue;
        *colon = '\0';
        colon[1 + strcspn(colon + 1, "\n")] = '\0';
        for (char *p = colon + 1; *p; p++)
            *p = *p == '\t' ? ' ' : *p;
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            if (strcmp(line, keys[i]) == 0)
                say_reached(name, keys[i], "%s", colon + 1 + strspn(colon + 1, " "));
        }
    }
    (void)fclose(status);
    for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
        struct stat st;

        (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i]);
        if (stat(path, &st) == 0)
            say_reached(name, namespaces[i], "%lu", (unsigned long)st.st_ino);
    }
    return 0;
}

int attack_nap(const char *name, int argc, char *argv[])
{
    long ms = argc > 0 ? number(argv[0], 60000, 0) : 0;
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    say_reached(name, "begun", "%s", "");
    (void)nanosleep(&ts, NULL);
    say_reached(name, "ended", "%s", "");
    return 0;
}
