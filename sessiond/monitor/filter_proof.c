/* SPDX-License-Identifier: ISC */
/* filter_proof.c - which filter has a process? */
#include "sessiond/monitor/filter_proof.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/sabotage.h"
#include "sessiond/shared/log.h"
#include "sessiond/shared/sha256.h"

#include "common/banned.h"

#define LOOK_FIRST_US 100
#define LOOK_LAST_US  10000
#define TRIAL_LOOKS   2000 /* a second or more, at the start of sessiond */

struct program {
    const struct sock_filter *insns;
    size_t count;
    uint8_t hash[SHA256_SIZE];
};
_Static_assert(SHA256_SIZE == WIRE_HASH_SIZE, "a hash fits");

struct filter_proof {
    pid_t pid;
    enum filter_profile profile;
    struct event *timer;
    suseconds_t wait_us;
    filter_proof_fn fn; /* NULL: not asked for yet, or not wanted any more */
    void *arg;
    bool is_orphan;
};

static struct event_base *proof_base;
static struct program programs[2];
static enum wire_filter_how proof_how = WIRE_FILTER_LOADED;

/* --- one process ----------------------------------------------------------------------------- */

static int attach(pid_t pid)
{
    /* No options: if we die the process goes on, finds that nobody says "go", and ends. */
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        return -errno;
    return ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 ? -errno : 0;
}

/*
 * Has it stopped? A signal that it stopped for is given back to it when it is let go.
 *
 * Return: 0, -EAGAIN (not yet), -ESRCH (it has ended, and this has reaped what was ours to reap),
 * or a negative errno.
 */
static int stop_look(pid_t pid, int *ret_signal)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOHANG | __WALL) < 0)
        return -errno;
    if (info.si_pid == 0)
        return -EAGAIN;
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
        return -ESRCH;
    /* An event of ptrace's own is in the second byte. */
    *ret_signal = info.si_status > 0xff ? 0 : info.si_status;
    return 0;
}

/* The newest filter is the last. Return: 0, -EBADMSG, or a negative errno. */
static int program_compare(pid_t pid, const struct program *p)
{
    static struct sock_filter seen[BPF_MAXINSNS];
    unsigned long newest = 0;
    long n;

    while (ptrace(PTRACE_SECCOMP_GET_FILTER, pid, newest + 1, NULL) >= 0)
        newest++;
    if (errno == EINVAL) /* none at all */
        return -EBADMSG;
    if (errno != ENOENT)
        return -errno;
    n = ptrace(PTRACE_SECCOMP_GET_FILTER, pid, newest, seen);
    if (n < 0)
        return -errno;
    if ((size_t)n != p->count || memcmp(seen, p->insns, p->count * sizeof(*seen)) != 0)
        return -EBADMSG;
    return 0;
}

/* Return: as stop_look() and program_compare(); but for -EAGAIN the process is on its own again. */
static int proof_look(pid_t pid, const struct program *p)
{
    int signal = 0, r = stop_look(pid, &signal);

    if (r < 0)
        return r;
    r = program_compare(pid, p);
    if (ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)signal) < 0)
        return -errno;
    return r;
}

/* --- at the start ---------------------------------------------------------------------------- */

/* A child that has the program and stands still. */
static _Noreturn void trial_child(const struct program *p, int ready_fd)
{
    struct sock_fprog prog = {.len = (unsigned short)p->count,
                              .filter = (struct sock_filter *)(uintptr_t)p->insns};
    char word = 1;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &prog) < 0 ||
        write(ready_fd, &word, 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

static int trial_look(pid_t pid, const struct program *p)
{
    const struct timespec pause_ns = {.tv_nsec = 500 * 1000};
    int r = attach(pid);

    for (int i = 0; r == 0 && i < TRIAL_LOOKS; i++) {
        r = proof_look(pid, p);
        if (r != -EAGAIN)
            return r;
        (void)nanosleep(&pause_ns, NULL);
        r = 0;
    }
    return r < 0 ? r : -ETIMEDOUT;
}

static int trial(const struct program *p)
{
    cleanup_close int ready = -1, theirs = -1;
    char word;
    int pipes[2], r = -EIO;
    pid_t pid;

    if (pipe(pipes) < 0)
        return -errno;
    ready = pipes[0];
    theirs = pipes[1];
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        trial_child(p, theirs);
    cleanup_close_p(&theirs);
    if (read(ready, &word, 1) == 1)
        r = trial_look(pid, p);
    (void)kill(pid, SIGKILL); /* our own child, not waited for: the number is its own */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return r;
}

void filter_proof_program(enum filter_profile profile, const struct sock_filter *insns,
                          size_t count)
{
    programs[profile] = (struct program){.insns = insns, .count = count};
    sha256(insns, count * sizeof(*insns), programs[profile].hash);
}

int filter_proof_init(struct event_base *base)
{
    int r = trial(&programs[FILTER_RUN]);

    proof_base = base;
    switch (r) {
    case 0:
        proof_how = WIRE_FILTER_KERNEL;
        return 0;
    case -EIO:    /* the kernel has no such call */
    case -EACCES: /* a filter on ourselves: seccomp_get_filter() of the kernel */
    case -EPERM:  /* nobody may attach: Yama, or another security module */
        log_notice("the kernel gives no filter back: receipts say \"loaded\" errno=%d", -r);
        return 0;
    default:
        return r;
    }
}

enum wire_filter_how filter_proof_how(void)
{
    return proof_how;
}

/* --- life ------------------------------------------------------------------------------------ */

static void proof_free(struct filter_proof *p)
{
    event_free(p->timer);
    free(p);
}

static void proof_go_on(struct filter_proof *p)
{
    filter_proof_fn fn = p->fn;
    void *arg = p->arg;
    int r = proof_look(p->pid, &programs[p->profile]);

    if (r == -EAGAIN) {
        struct timeval tv = {.tv_usec = p->wait_us};

        if (p->wait_us < LOOK_LAST_US)
            p->wait_us *= 2;
        if (event_add(p->timer, &tv) == 0)
            return;
        r = -ENOMEM;
    }
    proof_free(p);
    if (fn)
        fn(arg, r);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    proof_go_on(arg);
}

int filter_proof_begin(pid_t pid, enum filter_profile profile, struct filter_proof **ret_proof)
{
    struct filter_proof *p;
    int r;

    if (proof_how != WIRE_FILTER_KERNEL || SABOTAGED("verify")) {
        *ret_proof = NULL;
        return 0;
    }
    p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    *p = (struct filter_proof){.pid = pid, .profile = profile, .wait_us = LOOK_FIRST_US};
    p->timer = evtimer_new(proof_base, on_timer, p);
    if (!p->timer) {
        free(p);
        return -ENOMEM;
    }
    r = attach(pid);
    if (r < 0) {
        proof_free(p);
        return r;
    }
    *ret_proof = p;
    return 0;
}

void filter_proof_finish(struct filter_proof *p, filter_proof_fn fn, void *arg)
{
    if (!p) {
        fn(arg, 0);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    proof_go_on(p);
}

void filter_proof_cancel(struct filter_proof *p)
{
    if (!p)
        return;
    p->fn = NULL;
    if (!event_pending(p->timer, EV_TIMEOUT, NULL))
        proof_go_on(p);
}

void filter_proof_fill(enum filter_profile profile, struct wire_receipt *r)
{
    r->filter_how = SABOTAGED("verify") ? WIRE_FILTER_UNKNOWN : proof_how;
    if (r->filter_how != WIRE_FILTER_UNKNOWN)
        memcpy(r->filter_sha256, programs[profile].hash, sizeof(r->filter_sha256));
}
