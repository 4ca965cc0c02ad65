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
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/sabotage.h"
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
    if (!SABOTAGED("deathsignal") && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
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

/*
 * Of a process that has ended and was not waited for: the count that RLIMIT_CPU is held against,
 * all of its threads and no children. clock_getcpuclockid(3) has another one, which the limit does
 * not know. Source: include/linux/posix-timers_types.h of the kernel, CPUCLOCK_PROF.
 */
static uint64_t rlimit_cpu_us(pid_t pid)
{
    const clockid_t prof = (clockid_t)(~(unsigned)pid << 3);
    struct timespec ts;

    if (clock_gettime(prof, &ts) < 0)
        return 0;
    return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

/*
 * The run's own file systems without a block or an inode left. Asked while they are there, after
 * the program, before whatever it has left running: what was freed again until now is not seen.
 */
static uint64_t full_places(void)
{
    static const char *const paths[PLAN_PLACE__COUNT] = {
#define PLACE_PATH(id, target, key) [PLAN_PLACE_##id] = "/" target,
        PLAN_PLACES(PLACE_PATH)
#undef PLACE_PATH
    };
    uint64_t full = 0;

    for (unsigned i = 0; i < PLAN_PLACE__COUNT; i++) {
        struct statfs fs;

        if (statfs(paths[i], &fs) == 0 && (fs.f_bfree == 0 || fs.f_ffree == 0))
            full |= 1u << i;
    }
    return full;
}

static _Noreturn void reap(int sock, pid_t payload)
{
    struct report rep = {.kind = REPORT_EXITED};
    struct rusage usage;

    for (;;) {
        siginfo_t child = {0};
        int status;
        pid_t pid;

        if (waitid(P_ALL, 0, &child, WEXITED | WNOWAIT) == 0 && child.si_pid == payload)
            rep.main_cpu_us = rlimit_cpu_us(payload);
        pid = waitpid(child.si_pid > 0 ? child.si_pid : -1, &status, 0);
        if (pid < 0 && errno != EINTR)
            _exit(1);
        if (pid == payload) {
            rep.status = status;
            break;
        }
    }
    if (rep.status != 0)
        rep.full_places = full_places();
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
