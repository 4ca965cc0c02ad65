/* SPDX-License-Identifier: ISC */
/*
 * probe_local.c - the program by a child of ours: in a session, or with nothing to confine it.
 *
 * A login as sshd and pam_atelier make it, by the same code:
 *
 *   doctor --fork--> keeper: OPEN, join, LEASE (probe_join.c); stays root, outside of the PID
 * namespace, as sshd's monitor does; its death ends the session
 *                      |--fork--> groups, gid, uid; the program
 *
 * The keeper dies with the doctor. Of the other doors the child becomes the uid, or stays root, and
 * is the program at once; it dies with the doctor, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/doctor/probe.h"
#include "ctl/doctor/probe_join.h"

#include "common/banned.h"

#define PROGRAM   ATELIER_PROGRAMS_DIR "/attack"
#define HOME      ATELIER_HOMES_DIR "/doctor"
#define WORDS_MAX (SESSION_PROBE_WORDS_MAX + 2)

/* Where the keeper has its descriptors; the program has none but 0, 1 and 2. */
enum {
    FD_REPORT = 3, /* to the doctor: struct kept */
    FD_FREE = 4,
};

/* What the keeper says, once. */
struct kept {
    uint32_t has_failed;
    int32_t error; /* negative errno */
    char step[32];
    int32_t status; /* of wait(2) */
};

static _Noreturn void keeper_end(struct kept *kept)
{
    (void)!write(FD_REPORT, kept, sizeof(*kept));
    _exit(0);
}

static _Noreturn void keeper_fail(const char *step, int error)
{
    struct kept kept = {.has_failed = 1, .error = error};

    (void)snprintf(kept.step, sizeof(kept.step), "%s", step);
    keeper_end(&kept);
}

/* 0 is /dev/null, 1 and 2 are the output, FD_REPORT the report; nothing else of the doctor's. */
static void descriptors_settle(int out, int report)
{
    int null = open("/dev/null", O_RDWR);
    int high_out = fcntl(out, F_DUPFD, 64), high_report = fcntl(report, F_DUPFD, 64);

    if (null < 0 || high_out < 0 || high_report < 0 || dup2(null, 0) < 0 || dup2(high_out, 1) < 0 ||
        dup2(high_out, 2) < 0 || dup2(high_report, FD_REPORT) < 0 ||
        syscall(SYS_close_range, (unsigned)FD_FREE, ~0u, 0u) < 0)
        _exit(1);
    (void)fcntl(FD_REPORT, F_SETFD, FD_CLOEXEC);
}

/* Dies with the doctor; asked after it was set, in case that it is gone already. */
static void tie_to(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
}

static int become(uint32_t uid)
{
    gid_t gid = uid;

    if (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return -errno;
    return 0;
}

static _Noreturn void program_exec(const struct probe_request *req)
{
    static const char *const envp[] = {"HOME=" HOME,     "USER=doctor",
                                       "LOGNAME=doctor", "PATH=/usr/local/bin:/usr/bin:/bin",
                                       "LANG=C.UTF-8",   NULL};
    const char *argv[WORDS_MAX] = {PROGRAM};

    for (size_t i = 0; req->words[i] && i < WORDS_MAX - 2; i++)
        argv[i + 1] = req->words[i];
    (void)execve(PROGRAM, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
    _exit(127);
}

/* --- session -------------------------------------------------------------------------------- */

static _Noreturn void keeper_main(const struct probe_request *req, int out, int report,
                                  pid_t parent)
{
    struct kept kept = {0};
    int conn, status = 0, r;
    const char *step;
    pid_t pid;

    tie_to(parent);
    descriptors_settle(out, report);
    r = probe_join(probe_uid(req->who), &conn, &step);
    if (r < 0)
        keeper_fail(step, r);
    pid = fork();
    if (pid == 0) {
        (void)close(conn);
        if (setsid() < 0 || become(probe_uid(req->who)) < 0 || chdir(HOME "/work") < 0)
            _exit(126);
        program_exec(req);
    }
    if (pid < 0)
        keeper_fail("fork", -errno);
    /* The output ends when the program's processes are gone; the keeper itself has no use for it.
     */
    (void)syscall(SYS_close_range, 0u, 2u, 0u);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    probe_leave(conn);
    kept.status = status;
    keeper_end(&kept);
}

/* --- not confined --------------------------------------------------------------------------- */

static _Noreturn void plain_main(const struct probe_request *req, int out, int report, pid_t parent)
{
    descriptors_settle(out, report);
    (void)setsid();
    if (req->door == PROBE_PLAIN && req->prepare && req->prepare(probe_uid(req->who)) < 0)
        _exit(126);
    if (chdir("/") < 0 || (req->door == PROBE_PLAIN && become(probe_uid(req->who)) < 0))
        _exit(126);
    /* A change of the uid has cleared it. */
    tie_to(parent);
    program_exec(req);
}

/* --- doctor ---------------------------------------------------------------------------------- */

static void status_take(struct probe_result *r, int status)
{
    r->is_started = true;
    if (WIFSIGNALED(status)) {
        r->end = WIRE_END_SIGNAL;
        r->value = (uint32_t)WTERMSIG(status);
    } else {
        r->end = WIRE_END_EXIT;
        r->value = (uint32_t)WEXITSTATUS(status);
    }
}

static void kept_take(struct probe_result *r, const struct kept *kept)
{
    if (!kept->has_failed) {
        status_take(r, kept->status);
        return;
    }
    (void)snprintf(r->why, sizeof(r->why), "no session: %s: %s", kept->step,
                   kept->error == -EACCES ? "sessiond denied it" : strerror(-kept->error));
}

/* Read both until their ends, or the time is over. Return: true if a report came. */
static bool both_read(struct probe_result *r, int out, int report, int64_t deadline_us,
                      struct kept *ret_kept)
{
    struct pollfd polls[2] = {{.fd = out, .events = POLLIN}, {.fd = report, .events = POLLIN}};
    bool has_kept = false;

    while (polls[0].fd >= 0 || polls[1].fd >= 0) {
        int64_t left_us = deadline_us - probe_now_us();

        if (left_us <= 0)
            break;
        if (poll(polls, 2, (int)(left_us / 1000 + 1)) <= 0)
            continue;
        if (polls[0].fd >= 0 && polls[0].revents != 0 && !probe_output_read(r, out))
            polls[0].fd = -1;
        if (polls[1].fd >= 0 && polls[1].revents != 0) {
            has_kept = read(report, ret_kept, sizeof(*ret_kept)) == (ssize_t)sizeof(*ret_kept);
            polls[1].fd = -1;
        }
    }
    return has_kept;
}

/* Wait for its end until then, and make one. Not reaped before, so the number is its own. */
static int child_end(pid_t pid, int64_t deadline_us)
{
    cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0u);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    int64_t left_us = deadline_us - probe_now_us();
    int status = 0;

    if (pidfd < 0 || poll(&p, 1, left_us > 0 ? (int)(left_us / 1000 + 1) : 0) <= 0)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int probe_local(const struct probe_request *req, int conn, struct probe_result *ret)
{
    int64_t begun_us = probe_now_us();
    pid_t parent = getpid(), pid;
    struct kept kept = {0};
    int out[2], report[2], status = 0;
    bool has_kept;

    (void)conn; /* every child closes it with all the rest */
    *ret = (struct probe_result){0};
    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(report, O_CLOEXEC) < 0) {
        (void)close(out[0]);
        (void)close(out[1]);
        return -EMFILE;
    }
    /* As sessiond does it for a run, so that /dev/stdout can be opened. */
    if (req->door != PROBE_ROOT)
        (void)!fchown(out[1], probe_uid(req->who), probe_uid(req->who));
    pid = fork();
    if (pid == 0) {
        if (req->door == PROBE_SESSION)
            keeper_main(req, out[1], report[1], parent);
        plain_main(req, out[1], report[1], parent);
    }
    (void)close(out[1]);
    (void)close(report[1]);
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    has_kept = pid > 0 &&
               both_read(ret, out[0], report[0], begun_us + (int64_t)req->wall_ms * 1000, &kept);
    if (pid > 0)
        status = child_end(pid, begun_us + (int64_t)req->wall_ms * 1000);
    (void)close(out[0]);
    (void)close(report[0]);
    ret->wall_us = (uint64_t)(probe_now_us() - begun_us);
    if (has_kept)
        kept_take(ret, &kept);
    else if (pid > 0 && req->door != PROBE_SESSION)
        status_take(ret, status);
    else
        (void)snprintf(ret->why, sizeof(ret->why), "its time was over");
    return ret->is_started ? 0 : -ECONNABORTED;
}
