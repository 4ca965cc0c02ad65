/* SPDX-License-Identifier: ISC */
/*
 * init.c - PID 1 of a run.
 *
 * Order:
 *   1. death signal, then look whether the monitor still lives   (the other way round leaves a gap)
 *   2. file tree, host name                                      (need CAP_SYS_ADMIN)
 *   3. fork the payload                                          (it takes its own steps, child.c)
 *   4. close everything but the run's socket, drop every capability
 *   5. reap until the payload is gone, report, exit
 * Its exit is the end of the run: the kernel kills and reaps everything that is left in the PID
 * namespace before the monitor's pidfd becomes readable.
 */
#include "sessiond/monitor/init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "sessiond/monitor/child.h"
#include "sessiond/monitor/tree.h"

#include "common/banned.h"

#define HOST_NAME "atelier"

_Noreturn void run_step_failed(int sock, enum wire_step step, int error, const char *what)
{
    struct report rep = {.kind = REPORT_FAILED, .step = step, .error = (uint32_t)error};

    str_cut(rep.what, sizeof(rep.what), what);
    (void)msg_send(sock, &rep, sizeof(rep), NULL, 0);
    _exit(1);
}

/* The far end is the monitor's; nothing but its death closes it. */
static bool is_orphan(int sock)
{
    struct pollfd p = {.fd = sock, .events = POLLIN};

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
}

static void bind_to_parent(int sock)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        run_step_failed(sock, WIRE_STEP_INIT, errno, "death signal");
    if (is_orphan(sock))
        _exit(1);
    (void)prctl(PR_SET_NAME, "atelier-init");
    /* CLONE_CLEAR_SIGHAND leaves ignored signals ignored. The spawner ignores these two: SIGCHLD
     * would cost us the payload's status, SIGPIPE would surprise every program. */
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
}

static uint64_t timeval_us(struct timeval tv)
{
    return (uint64_t)tv.tv_sec * 1000000u + (uint64_t)tv.tv_usec;
}

static void capabilities_drop(int sock)
{
    cap_t none = cap_init();

    if (!none || cap_set_proc(none) < 0)
        run_step_failed(sock, WIRE_STEP_CAPS, errno, "init");
    (void)cap_free(none);
}

static _Noreturn void reap(int sock, pid_t payload)
{
    struct report rep = {.kind = REPORT_EXITED};
    struct rusage usage;

    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);

        if (pid < 0 && errno != EINTR)
            _exit(1);
        if (pid == payload) {
            rep.status = status;
            break;
        }
    }
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        rep.cpu_user_us = timeval_us(usage.ru_utime);
        rep.cpu_sys_us = timeval_us(usage.ru_stime);
        rep.rss_peak_kib = (uint64_t)usage.ru_maxrss;
    }
    (void)msg_send(sock, &rep, sizeof(rep), NULL, 0);
    _exit(0);
}

_Noreturn void init_main(const struct spawner_setup *setup, const struct spawn_request *req,
                         int fds[SPAWN_FD_COUNT], const int *tree_fds)
{
    int sock = fds[SPAWN_FD_SOCKET], r;
    const char *what = "";
    pid_t payload;

    bind_to_parent(sock);
    r = tree_add_run(req, &setup->texts, fds[SPAWN_FD_WORK], tree_fds, &what);
    if (r < 0)
        run_step_failed(sock, WIRE_STEP_MOUNT, -r, what);
    if (sethostname(HOST_NAME, strlen(HOST_NAME)) < 0)
        run_step_failed(sock, WIRE_STEP_HOSTNAME, errno, HOST_NAME);

    payload = fork();
    if (payload < 0)
        run_step_failed(sock, WIRE_STEP_INIT, errno, "fork");
    if (payload == 0)
        child_main(setup, req, fds);

    /* Nothing of the run stays open here but the socket, or its pipes would never end. */
    if (dup2(sock, 0) < 0 || syscall(SYS_close_range, 1u, ~0u, 0u) < 0)
        run_step_failed(sock, WIRE_STEP_INIT, errno, "descriptors");
    capabilities_drop(0);
    reap(0, payload);
}
