/* SPDX-License-Identifier: ISC */
/*
 * session_init.c - PID 1 of a session.
 *
 * Order:
 *   1. SIGCHLD blocked, a descriptor for it   (before there can be a child to miss)
 *   2. file tree, host name                   (need CAP_SYS_ADMIN)
 *   3. close everything else, drop every capability
 *   4. READY; wait for "go". Until then the end of the monitor is the end of the session: nobody
 *      else knows of it
 *   5. from then on the login's process alone counts: the session outlives sessiond, and ends with
 *      its login even while no sessiond runs
 * There is no death signal: the parent is the spawner, which a restart of sessiond ends. The exit
 * of this process is the end of the session: the kernel kills everything in the PID namespace.
 *
 * Signals of participants: a PID 1 gets none from inside that it has no handler for
 * (pid_namespaces(7)), and it has no handlers.
 */
#include "sessiond/monitor/session_init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/sabotage.h"
#include "sessiond/monitor/child.h"
#include "sessiond/monitor/tree.h"

#include "common/banned.h"

#define HOST_NAME "atelier"

/* Where the descriptors end up. */
enum {
    FD_MONITOR,
    FD_HOLDER,
    FD_CHILDREN,
    FD__COUNT,
};

static int children_watch(void)
{
    sigset_t set;
    int fd;

    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
        return -errno;
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

/* Only the three are left, as 0, 1 and 2. */
static int fds_settle(const int fds[SPAWN_SESSION_FD_COUNT], int children)
{
    const int wanted[FD__COUNT] = {fds[SPAWN_SESSION_FD_SOCKET], fds[SPAWN_SESSION_FD_HOLDER],
                                   children};

    /* The spawner holds 0 to 3, so none of these is where another one goes. */
    for (int i = 0; i < FD__COUNT; i++) {
        if (wanted[i] < FD__COUNT)
            return -EBADF;
    }
    for (int i = 0; i < FD__COUNT; i++) {
        if (dup2(wanted[i], i) < 0)
            return -errno;
    }
    return syscall(SYS_close_range, (unsigned)FD__COUNT, ~0u, 0u) < 0 ? -errno : 0;
}

static int capabilities_drop(void)
{
    cap_t none = cap_init();
    int r = 0;

    if (!none || cap_set_proc(none) < 0)
        r = -errno;
    if (none)
        (void)cap_free(none);
    return r;
}

static void children_reap(void)
{
    struct signalfd_siginfo info;

    while (read(FD_CHILDREN, &info, sizeof(info)) == (ssize_t)sizeof(info))
        ;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* Return: true once the monitor said "go"; false if there is nothing to read yet. */
static bool is_go(void)
{
    char go = 0;
    ssize_t n = recv(FD_MONITOR, &go, 1, MSG_DONTWAIT);

    if (n == 1 && go == 1)
        return true;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    _exit(1);
}

static _Noreturn void serve(void)
{
    struct pollfd p[FD__COUNT] = {
        [FD_MONITOR] = {.fd = FD_MONITOR, .events = POLLIN},
        [FD_HOLDER] = {.fd = FD_HOLDER, .events = POLLIN},
        [FD_CHILDREN] = {.fd = FD_CHILDREN, .events = POLLIN},
    };

    if (SABOTAGED("lease"))
        p[FD_HOLDER].fd = -1;
    for (;;) {
        if (poll(p, FD__COUNT, -1) < 0 && errno != EINTR)
            _exit(1);
        if (p[FD_HOLDER].revents != 0)
            _exit(0);
        if (p[FD_MONITOR].revents != 0 && is_go()) {
            (void)close(FD_MONITOR);
            p[FD_MONITOR].fd = -1;
        }
        if (p[FD_CHILDREN].revents != 0)
            children_reap();
    }
}

_Noreturn void session_init_main(const struct spawner_setup *setup, const struct spawn_request *req,
                                 const int fds[SPAWN_SESSION_FD_COUNT], const int *tree_fds)
{
    struct report ready = {.kind = REPORT_READY};
    int sock = fds[SPAWN_SESSION_FD_SOCKET];
    int children = children_watch(), r;
    const char *what = "";

    (void)prctl(PR_SET_NAME, "atelier-login");
    if (children < 0)
        run_step_failed(sock, WIRE_STEP_INIT, -children, "signals");
    r = tree_add_session(req, &setup->texts, fds[SPAWN_SESSION_FD_HOME], tree_fds, &what);
    if (r < 0)
        run_step_failed(sock, WIRE_STEP_MOUNT, -r, what);
    if (sethostname(HOST_NAME, strlen(HOST_NAME)) < 0)
        run_step_failed(sock, WIRE_STEP_HOSTNAME, errno, HOST_NAME);
    r = fds_settle(fds, children);
    if (r < 0)
        run_step_failed(sock, WIRE_STEP_INIT, -r, "descriptors");
    r = capabilities_drop();
    if (r < 0)
        run_step_failed(FD_MONITOR, WIRE_STEP_CAPS, -r, "init");
    if (msg_send(FD_MONITOR, &ready, sizeof(ready), NULL, 0) < 0)
        _exit(1);
    serve();
}
