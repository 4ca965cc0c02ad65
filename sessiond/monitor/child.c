/* SPDX-License-Identifier: ISC */
/*
 * child.c - the process that becomes the user and then the program.
 *
 * Order, and what a swap would break:
 *   STDIO    own session, then 0 1 2                  (a tty of ours must not be its own)
 *   RLIMIT   while capabilities are there             (a hard limit cannot be raised later)
 *   MOUNT    /proc becomes read-only: after RLIMIT, which writes to it; needs CAP_SYS_ADMIN
 *   GROUPS   before IDS                               (setgroups needs CAP_SETGID)
 *   IDS      gid, then uid; read back                 (after the uid nothing can change the gid)
 *   CAPS     inheritable and ambient too              (exec would bring them back)
 *   NNP      before FILTER                            (seccomp(2) asks for it)
 *   FILTER   before PAYLOAD                           (whoever parses bytes of the api is confined)
 *   PAYLOAD  last, as the user
 *   ready / go: the monitor reads the receipt from /proc at this point
 *   EXEC     everything but 0 1 2 is close-on-exec
 */
#include "sessiond/monitor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/payload.h"
#include "common/sabotage.h"
#include "policy/plan.h"
#include "sessiond/monitor/procfs.h"

#include "common/banned.h"

#define PATH_ROOM 256

static int null_open(void)
{
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static int step_stdio(const int fds[SPAWN_FD_COUNT])
{
    if (setsid() < 0)
        return -errno;
    for (int i = 0; i < 3; i++) {
        /* The probe has no standard input or output, and must not keep the daemon's. */
        int fd = fds[SPAWN_FD_STDIN] >= 0 ? fds[SPAWN_FD_STDIN + i] : null_open();

        if (fd < 0 || dup2(fd, i) < 0)
            return -errno;
    }
    /* What is not close-on-exec, because somebody forgot it, and nothing that would close it. */
    if (SABOTAGED("descriptors"))
        return dup(fds[SPAWN_FD_SOCKET]) < 0 ? -errno : 0;
    /* From here on nothing above 2 survives exec. The socket and the payload are used till then. */
    if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) < 0)
        return -errno;
    return 0;
}

/* Never as important as whatever started us: the first to go when memory ends, at normal nice. */
static int priority_reset(void)
{
    cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    char score[16];

    (void)snprintf(score, sizeof(score), "%d", PLAN_RUN_OOM_SCORE);
    if (fd < 0)
        return -errno;
    if (setpriority(PRIO_PROCESS, 0, 0) < 0)
        return -errno;
    return fd_write_full(fd, score, strlen(score));
}

static int step_rlimit(const struct plan *plan)
{
    int r = SABOTAGED("priority") ? 0 : priority_reset();

    if (r < 0 || SABOTAGED("rlimit"))
        return r;
    for (uint32_t i = 0; i < plan->rlimit_count && i < PLAN_RLIMITS_MAX; i++) {
        const struct plan_rlimit *p = &plan->rlimits[i];
        struct rlimit now, wanted;

        if (getrlimit((__rlimit_resource_t)p->resource, &now) < 0)
            return -errno;
        wanted.rlim_max = p->resource == RLIMIT_CPU ? p->value + 1 : p->value;
        if (wanted.rlim_max > now.rlim_max && !p->is_exact)
            wanted.rlim_max = now.rlim_max;
        wanted.rlim_cur = p->value < wanted.rlim_max ? p->value : wanted.rlim_max;
        if (setrlimit((__rlimit_resource_t)p->resource, &wanted) < 0)
            return -errno;
    }
    return 0;
}

static int step_groups(const struct spawn_request *req)
{
    gid_t list[WIRE_GROUPS_MAX + 1];

    /* As initgroups(3) does it: the primary group is in the list, too. */
    list[0] = req->gid;
    for (uint32_t i = 0; i < req->group_count; i++)
        list[i + 1] = req->groups[i].gid;
    return setgroups(req->group_count + 1, list) < 0 ? -errno : 0;
}

static int step_ids(const struct spawn_request *req)
{
    uid_t r, e, s;
    gid_t rg, eg, sg;

    if (setresgid(req->gid, req->gid, req->gid) < 0 || setresuid(req->uid, req->uid, req->uid) < 0)
        return -errno;
    if (getresuid(&r, &e, &s) < 0 || getresgid(&rg, &eg, &sg) < 0)
        return -errno;
    if (r != req->uid || e != req->uid || s != req->uid || rg != req->gid || eg != req->gid ||
        sg != req->gid)
        return -EPERM;
    return 0;
}

static int step_caps(void)
{
    cap_t none = cap_init();
    int r = 0;

    if (!none || cap_set_proc(none) < 0 || cap_reset_ambient() < 0)
        r = -errno;
    if (none)
        (void)cap_free(none);
    return r;
}

static int code_write(const struct spawn_request *req, const struct payload *p)
{
    char path[PATH_ROOM];
    cleanup_close int fd = -1;

    if (!p->code_name)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/%s/%s", ATELIER_HOMES_DIR, req->name, p->code_name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    return fd_write_full(fd, p->code, p->code_bytes);
}

static int step_payload(const struct spawn_request *req, int fd, struct payload *ret_p)
{
    char path[PATH_ROOM];
    struct stat st;
    void *mem;
    int r;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size <= 0 || st.st_size > PAYLOAD_SIZE_MAX)
        return -EBADMSG;
    /* Private: execve reads the strings from here, and the memfd is sealed against writing. */
    mem = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (mem == MAP_FAILED)
        return -errno;
    r = payload_parse(mem, (size_t)st.st_size, ret_p);
    if (r == 0)
        r = code_write(req, ret_p);
    if (r < 0)
        return r;
    (void)snprintf(path, sizeof(path), "%s/%s/work", ATELIER_HOMES_DIR, req->name);
    return chdir(path) < 0 ? -errno : 0;
}

static int step_filter(const struct spawner_setup *setup)
{
    struct sock_fprog prog = {.len = (unsigned short)setup->filter_count, .filter = setup->filter};
    struct sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

    /* One filter, as it should be, but another one: status does not tell it from ours. */
    if (SABOTAGED("filter"))
        prog = (struct sock_fprog){.len = 1, .filter = nothing};

    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &prog) < 0)
        return -errno;
    return 0;
}

/* Stand still until the monitor has read the receipt. Its death, or "no", ends us. */
static void wait_for_go(int sock)
{
    struct report rep = {.kind = REPORT_READY};
    char go = 0;

    if (msg_send(sock, &rep, sizeof(rep), NULL, 0) < 0)
        _exit(1);
    for (;;) {
        ssize_t n = read(sock, &go, 1);

        if (n == 1 && go == 1)
            return;
        if (n < 0 && errno == EINTR)
            continue;
        _exit(1);
    }
}

static _Noreturn void exec_payload(int sock, const struct payload *p)
{
    struct report rep = {.kind = REPORT_NO_EXEC};

    (void)execve(p->argv[0], p->argv, p->envp);
    rep.error = (uint32_t)errno;
    (void)msg_send(sock, &rep, sizeof(rep), NULL, 0);
    _exit(127);
}

static void step(int sock, enum wire_step id, int r)
{
    if (r < 0)
        run_step_failed(sock, id, -r, "");
}

_Noreturn void child_main(const struct spawner_setup *setup, const struct spawn_request *req,
                          int fds[SPAWN_FD_COUNT])
{
    int sock = fds[SPAWN_FD_SOCKET];
    struct payload payload = {0};

    (void)umask(PLAN_RUN_UMASK);
    step(sock, WIRE_STEP_STDIO, step_stdio(fds));
    step(sock, WIRE_STEP_RLIMIT, step_rlimit(&req->plan));
    step(sock, WIRE_STEP_MOUNT, procfs_close());
    if (!SABOTAGED("groups"))
        step(sock, WIRE_STEP_GROUPS, step_groups(req));
    if (!SABOTAGED("setuid")) {
        step(sock, WIRE_STEP_IDS, step_ids(req));
        step(sock, WIRE_STEP_CAPS, step_caps());
    }
    if (!SABOTAGED("nnp") && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        step(sock, WIRE_STEP_NNP, -errno);
    if (!SABOTAGED("seccomp"))
        step(sock, WIRE_STEP_FILTER, step_filter(setup));
    if (req->kind == SPAWN_RUN)
        step(sock, WIRE_STEP_PAYLOAD, step_payload(req, fds[SPAWN_FD_PAYLOAD], &payload));
    wait_for_go(sock);
    if (req->kind == SPAWN_PROBE)
        probe_main(sock);
    exec_payload(sock, &payload);
}
