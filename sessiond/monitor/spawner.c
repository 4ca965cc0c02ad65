/* SPDX-License-Identifier: ISC */
/*
 * spawner.c - the small process that clones the inits.
 *
 * Start, in this order:
 *   1. death signal and parent check      (first: nothing of ours may outlive the monitor)
 *   2. close every descriptor but its own (before anything is cloned from it)
 *   3. the prepared tree                  (needs the host's tree, gives it up for good)
 *   4. drop the bounding set, once for every run to come; ids and capabilities stay, the inits
 *      need them for mounts and ids
 *   5. tell the monitor, then serve
 * Per request: clone3 with all namespaces, into the control group (version 2), send the init's
 * pidfd over the run's socket, close everything of the run. Where the groups are of version 1 the
 * new init steps into them, and makes its cgroup namespace, before anything else. Zombies are
 * reaped by the kernel (SIGCHLD ignored); the monitor watches the pidfds.
 */
#include "sessiond/monitor/spawner.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/sabotage.h"
#include "sessiond/monitor/cgroup_join.h"
#include "sessiond/monitor/child.h"
#include "sessiond/monitor/init.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/session_init.h"
#include "sessiond/monitor/spawn_wire.h"

#include "common/banned.h"

/* First word of the spawner: how its start went. */
struct spawner_hello {
    int32_t error; /* 0 or a positive errno */
    char what[WIRE_PATH_SIZE];
};

#define SPAWN_SEND_LIMIT_S 1

static void report_failure(int sock, enum wire_step step, int error, const char *what)
{
    struct report rep = {.kind = REPORT_FAILED, .step = step, .error = (uint32_t)error};

    str_cut(rep.what, sizeof(rep.what), what);
    (void)msg_send(sock, &rep, sizeof(rep), NULL, 0);
}

static uint64_t namespaces(const struct spawn_request *req)
{
    uint64_t flags = 0;

    if (!SABOTAGED("mntns"))
        flags |= CLONE_NEWNS;
    if (!SABOTAGED("utsns"))
        flags |= CLONE_NEWUTS;
    if (!SABOTAGED("ipcns"))
        flags |= CLONE_NEWIPC;
    if (!cgroup_is_entered_by_init(req) && !SABOTAGED("cgroupns"))
        flags |= CLONE_NEWCGROUP;
    if (!SABOTAGED("pidns"))
        flags |= CLONE_NEWPID;
    /* Never CLONE_NEWUSER: the owner rules match the real uid (see DESIGN in ARCHITECTURE.md). */
    if (req->net != WIRE_NET_PUBLIC && !SABOTAGED("netns"))
        flags |= CLONE_NEWNET;
    return flags;
}

static void request_serve(const struct spawner_setup *setup, int sock,
                          const struct spawn_request *req, int fds[SPAWN_FD_COUNT],
                          const int groups[], const int *trees)
{
    struct report rep = {.kind = REPORT_SPAWNED};
    cleanup_close int pidfd = -1;
    struct clone_args args = {
        .flags = namespaces(req) | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
    };
    long pid;

    if (cgroup_is_entered_by_clone(req)) {
        args.flags |= (uint64_t)CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)(unsigned)groups[req->cgroup_fds - 1];
    }
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        const char *what;
        int r;

        (void)close(sock);
        r = cgroup_join(req, groups, &what);
        if (r < 0)
            run_step_failed(fds[SPAWN_FD_SOCKET], WIRE_STEP_CGROUP, -r, what);
        if (req->kind == SPAWN_SESSION)
            session_init_main(setup, req, fds, trees);
        init_main(setup, req, fds, trees);
    }
    rep.pid = (int32_t)pid;
    if (pid < 0)
        report_failure(fds[SPAWN_FD_SOCKET], WIRE_STEP_CLONE, errno, "clone3");
    else if (msg_send(fds[SPAWN_FD_SOCKET], &rep, sizeof(rep), &pidfd, 1) < 0)
        pidfd_kill(pidfd);
}

static size_t fds_wanted(const struct spawn_request *req)
{
    switch ((enum spawn_kind)req->kind) {
    case SPAWN_RUN:
        return SPAWN_FD_COUNT;
    case SPAWN_SESSION:
        return SPAWN_SESSION_FD_COUNT;
    case SPAWN_PROBE:
        return 1;
    case SPAWN_PING:
        return 0;
    }
    return 0;
}

static _Noreturn void spawner_loop(const struct spawner_setup *setup, int sock)
{
    for (;;) {
        struct spawn_request req;
        int fds[SPAWN_FD_COUNT];
        struct msg_extra extra;
        size_t n, want, more;

        if (msg_recv(sock, &req, sizeof(req), &n, &extra) < 0 || n == 0)
            _exit(0);
        want = n == sizeof(req) && req.cgroup_fds <= SPAWN_GROUPS_MAX &&
                       req.plan.tree_count <= POLICY_TREES_MAX &&
                       req.plan.skill_count <= POLICY_SKILLS_MAX
                   ? fds_wanted(&req)
                   : 0;
        more = want > 0 ? req.cgroup_fds + plan_mount_count(&req.plan) : 0;
        if (want > 0 && extra.nfds == want + more) {
            for (size_t i = 0; i < SPAWN_FD_COUNT; i++)
                fds[i] = i < want ? extra.fds[i] : -1;
            request_serve(setup, sock, &req, fds, extra.fds + want,
                          extra.fds + want + req.cgroup_fds);
        }
        msg_extra_done(&extra);
    }
}

static int bounding_set_drop(void)
{
    for (cap_value_t cap = 0; cap < cap_max_bits(); cap++) {
        if (cap_drop_bound(cap) < 0)
            return -errno;
    }
    return 0;
}

static _Noreturn void spawner_main(const struct spawner_setup *setup, int sock, pid_t parent)
{
    struct spawner_hello hello = {0};
    const char *what = "death signal";
    int r = 0;

    (void)signal(SIGCHLD, SIG_IGN);
    (void)umask(0); /* the plans give every mode in full */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        r = -ESRCH;
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)prctl(PR_SET_NAME, "atelier-spawn");
    if (r == 0) {
        what = "descriptors";
        if (dup2(sock, 3) < 0 || syscall(SYS_close_range, 4u, ~0u, 0u) < 0)
            r = -errno;
        sock = 3;
    }
    if (r == 0)
        r = tree_enter_base(&setup->texts, &what);
    if (r == 0) {
        what = "bounding set";
        r = SABOTAGED("bounding") ? 0 : bounding_set_drop();
    }
    hello.error = -r;
    str_cut(hello.what, sizeof(hello.what), what);
    if (msg_send(sock, &hello, sizeof(hello), NULL, 0) < 0 || r < 0)
        _exit(1);
    spawner_loop(setup, sock);
}

int spawner_start(const struct spawner_setup *setup, int *ret_sock, int *ret_pidfd,
                  const char **ret_what)
{
    static struct spawner_hello hello;
    struct timeval limit = {.tv_sec = SPAWN_SEND_LIMIT_S};
    cleanup_close int ours = -1, pidfd = -1;
    struct msg_extra extra;
    pid_t parent = getpid(), pid;
    int pair[2], r;
    size_t n;

    *ret_what = "socketpair";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    ours = pair[0];
    *ret_what = "fork";
    pid = fork();
    if (pid == 0)
        spawner_main(setup, pair[1], parent);
    (void)close(pair[1]);
    if (pid < 0)
        return -errno;
    pidfd = pidfd_of(pid);
    if (pidfd < 0)
        return pidfd;
    *ret_what = "start of the spawner";
    r = msg_recv(ours, &hello, sizeof(hello), &n, &extra);
    if (r < 0)
        return r;
    msg_extra_done(&extra);
    if (n != sizeof(hello))
        return -EPIPE;
    hello.what[sizeof(hello.what) - 1] = '\0';
    *ret_what = hello.what;
    if (hello.error != 0)
        return -hello.error;
    *ret_what = "mount namespace of the spawner";
    r = receipt_learn_spawner(pid);
    if (r < 0)
        return r;
    if (setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
        return -errno;
    *ret_sock = fd_take(&ours);
    *ret_pidfd = fd_take(&pidfd);
    return 0;
}
