/* SPDX-License-Identifier: ISC */
/* pidfd.h - processes by descriptor: a pid may belong to somebody else by now, a descriptor never.
 */
#ifndef ATELIER_PIDFD_H
#define ATELIER_PIDFD_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <errno.h>

/* pidfd of an own, not yet reaped child. Return: descriptor (close-on-exec) or a negative errno. */
static inline int pidfd_of(pid_t pid)
{
    long fd = syscall(SYS_pidfd_open, pid, 0u);

    return fd < 0 ? -errno : (int)fd;
}

/* Is the process dead, reaped or not? -1 is no process and did not exit. */
static inline bool pidfd_has_exited(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return pidfd >= 0 && poll(&p, 1, 0) > 0;
}

/* SIGKILL. A process that is gone already is fine. */
static inline void pidfd_kill(int pidfd)
{
    if (pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0u);
}

/* Its directory in /proc, for *at(): no other process comes to be in it. Return: descriptor or a
 * negative errno. */
static inline int proc_open(pid_t pid)
{
    char path[32];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

#endif
