/* SPDX-License-Identifier: ISC */
/* shared.c - what processes of one user share whatever namespace they are in, and what they do not.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define APART (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)

static void wait_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        (void)pause();
}

/* In namespaces of its own, as a user. What function returns by _exit() is the result. */
struct apart {
    uid_t uid;
    void (*function)(void *arg);
    void *arg;
    int flags;
};

static void apart_main(void *arg)
{
    const struct apart *a = arg;
    pid_t pid;

    SETUP(unshare(a->flags) == 0);
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        become(a->uid);
        a->function(a->arg);
        _exit(0);
    }
    _exit(child_end(pid));
}

static int run_apart(uid_t uid, int flags, void (*function)(void *), void *arg)
{
    struct apart a = {.uid = uid, .function = function, .arg = arg, .flags = flags};

    return child_run(apart_main, &a);
}

static pid_t start_apart(uid_t uid, int flags, void (*function)(void *), void *arg)
{
    static struct apart a;

    a = (struct apart){.uid = uid, .function = function, .arg = arg, .flags = flags};
    return child_start(apart_main, &a);
}

/* Somebody who waits as this user; root starts any, a user their own. */
static pid_t user_start(uid_t uid, bool is_dumpable)
{
    int ready[2];
    char byte;
    pid_t pid;

    SETUP(pipe2(ready, O_CLOEXEC) == 0);
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        if (getuid() != uid)
            become(uid);
        SETUP(prctl(PR_SET_DUMPABLE, is_dumpable, 0, 0, 0) == 0);
        SETUP(write(ready[1], "", 1) == 1);
        wait_for_ever(NULL);
    }
    SETUP(read(ready[0], &byte, 1) == 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

/* --- limits --------------------------------------------------------------------------------- */

#define PROCESSES 10u

/* How many children one can have under a limit of PROCESSES. */
static void fork_till_refused(void *arg)
{
    const struct rlimit few = {PROCESSES, PROCESSES};
    unsigned n = 0;

    (void)arg;
    SETUP(setrlimit(RLIMIT_NPROC, &few) == 0);
    for (; n < 100; n++) {
        pid_t pid = fork();

        if (pid < 0)
            break;
        if (pid == 0)
            wait_for_ever(NULL);
    }
    _exit(errno == EAGAIN ? (int)n : 255);
}

static int started[2];

static void start_five(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5; i++)
        (void)child_start(wait_for_ever, NULL);
    SETUP(write(started[1], "", 1) == 1);
    wait_for_ever(NULL);
}

static void process_limit_counts_the_uid_in_all_namespaces(void)
{
    char byte;

    CONTROL(run_apart(uid_a, APART, fork_till_refused, NULL) == PROCESSES - 1);
    SETUP(pipe2(started, O_CLOEXEC) == 0);
    (void)start_apart(uid_a, APART, start_five, NULL);
    SETUP(read(started[0], &byte, 1) == 1);
    MUST(run_apart(uid_a, APART, fork_till_refused, NULL) == PROCESSES - 1 - 6);
    CONTROL(run_apart(uid_b, APART, fork_till_refused, NULL) == PROCESSES - 1);
}

static void exec_over_the_limit(void *arg)
{
    const struct rlimit few = {5, 5};
    char *argv[] = {(char[]){"/tmp/plain"}, (char[]){ACT_IDS}, NULL};

    SETUP(setrlimit(RLIMIT_NPROC, &few) == 0);
    become(arg ? uid_a : uid_b);
    (void)execv(argv[0], argv);
    _exit(errno);
}

/* Not setuid, but the exec after it is refused. */
static void over_the_process_limit_exec_is_refused(void)
{
    char byte;

    self_copy("/tmp/plain", 0, 0, 0755);
    SETUP(pipe2(started, O_CLOEXEC) == 0);
    (void)start_apart(uid_a, APART, start_five, NULL);
    SETUP(read(started[0], &byte, 1) == 1);
    CONTROL(child_run(exec_over_the_limit, NULL) == 0);
    MUST(child_run(exec_over_the_limit, started) == EAGAIN);
}

static int limit_set(pid_t pid, rlim_t soft, rlim_t hard)
{
    const struct rlimit limit = {soft, hard};

    return prlimit(pid, RLIMIT_FSIZE, &limit, NULL) == 0 ? 0 : errno;
}

static void limits_of_others(void *arg)
{
    pid_t neighbour = *(pid_t *)arg, own;

    SETUP(limit_set(0, 4096, 4096) == 0);
    become(uid_a);
    own = child_start(wait_for_ever, NULL);
    CONTROL(limit_set(own, 1024, 4096) == 0); /* of the same user: it is changed */
    MUST(limit_set(own, 8192, 8192) == EPERM);
    MUST(limit_set(0, 8192, 8192) == EPERM);
    MUST(limit_set(neighbour, 1024, 1024) == EPERM);
}

static void limits_of_ones_own_processes_can_be_changed_but_not_raised(void)
{
    pid_t neighbour = user_start(uid_b, true);

    SETUP(child_run(limits_of_others, &neighbour) == 0);
}

static void inotify_till_refused(void *arg)
{
    int n = 0;

    (void)arg;
    while (n < 250 && inotify_init1(IN_CLOEXEC) >= 0)
        n++;
    SETUP(write(started[1], "", 1) == 1);
    wait_for_ever(NULL);
}

static void inotify_one(void *arg)
{
    (void)arg;
    _exit(inotify_init1(IN_CLOEXEC) >= 0 ? 0 : errno);
}

static void inotify_instances_are_of_the_uid(void)
{
    char byte, limit[32] = "";

    SETUP(file_read("/proc/sys/fs/inotify/max_user_instances", limit, sizeof(limit)));
    NEED(strtoul(limit, NULL, 10) <= 200,
         "this host gives a user more inotify instances than we take");
    SETUP(pipe2(started, O_CLOEXEC) == 0);
    (void)start_apart(uid_a, APART, inotify_till_refused, NULL);
    SETUP(read(started[0], &byte, 1) == 1);
    MUST(run_apart(uid_a, APART, inotify_one, NULL) == EMFILE);
    CONTROL(run_apart(uid_b, APART, inotify_one, NULL) == 0);
}

/* --- one process and another ---------------------------------------------------------------- */

static int attach(pid_t pid)
{
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        return errno;
    (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return 0;
}

static int memory_read(pid_t pid)
{
    char here = 0;
    struct iovec local = {&here, 1}, remote = {&here, 1};

    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 ? 0 : errno;
}

static int descriptor_take(pid_t pid)
{
    int pidfd = pidfd_of(pid);

    return syscall(SYS_pidfd_getfd, pidfd, 0, 0) >= 0 ? 0 : errno;
}

static void try_on_others(void *arg)
{
    pid_t neighbour = *(pid_t *)arg, own, closed;

    become(uid_a);
    own = user_start(uid_a, true);
    CONTROL(memory_read(own) == 0 && attach(own) == 0 && descriptor_take(own) == 0);
    MUST(memory_read(neighbour) == EPERM && attach(neighbour) == EPERM);
    MUST(descriptor_take(neighbour) == EPERM);
    closed = user_start(uid_a, false);
    MUST(memory_read(closed) == EPERM && attach(closed) == EPERM);
    MUST(descriptor_take(closed) == EPERM);
}

static void another_uid_or_not_dumpable_keeps_ptrace_out(void)
{
    pid_t neighbour = user_start(uid_b, true);
    char scope[8] = "";

    prove_fact("yama", file_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope))
                           ? "yes"
                           : "no");
    SETUP(child_run(try_on_others, &neighbour) == 0);
}

static void change_and_look(void *arg)
{
    (void)arg;
    CONTROL(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
    become(uid_a);
    MUST(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1);
}

/* So who has become a user, and has not executed their program yet, is not theirs to trace. */
static void a_change_of_uid_makes_not_dumpable(void)
{
    SETUP(child_run(change_and_look, NULL) == 0);
}

/* --- keys ----------------------------------------------------------------------------------- */

static long key_find(void)
{
    return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "left-behind", 0);
}

static void key_leave(void *arg)
{
    (void)arg;
    SETUP(syscall(SYS_add_key, "user", "left-behind", "x", 1, KEY_SPEC_USER_KEYRING) > 0);
    SETUP(key_find() > 0);
}

static void key_look(void *arg)
{
    (void)arg;
    _exit(key_find() > 0 ? 10 : 0);
}

static void key_remove(void *arg)
{
    (void)arg;
    (void)syscall(SYS_keyctl, KEYCTL_CLEAR, KEY_SPEC_USER_KEYRING);
}

static void keys_of_a_uid_outlive_its_namespaces(void)
{
    NEED(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) >= 0 ||
             errno != ENOSYS,
         "this kernel has no keyrings");
    CONTROL(run_apart(uid_a, APART, key_look, NULL) == 0);
    SETUP(run_apart(uid_a, APART, key_leave, NULL) == 0);
    MUST(run_apart(uid_a, APART, key_look, NULL) == 10);
    CONTROL(run_apart(uid_b, APART, key_look, NULL) == 0);
    SETUP(run_apart(uid_a, APART, key_remove, NULL) == 0);
}

/* --- System V and POSIX --------------------------------------------------------------------- */

#define KEY 0x61746c72

static void segment_look(void *arg)
{
    (void)arg;
    _exit(shmget(KEY, 0, 0) >= 0 ? 0 : errno);
}

static void shared_memory_ends_at_the_ipc_namespace(void)
{
    SETUP(shmget(KEY, 4096, IPC_CREAT | IPC_EXCL | 0666) >= 0);
    CONTROL(run_apart(uid_a, CLONE_NEWNS, segment_look, NULL) == 0); /* other users' as well */
    MUST(run_apart(uid_a, CLONE_NEWNS | CLONE_NEWIPC, segment_look, NULL) == ENOENT);
}

static void queue_look(void *arg)
{
    (void)arg;
    _exit(mq_open("/atelier", O_RDONLY) >= 0 ? 0 : errno);
}

static void message_queues_end_at_the_ipc_namespace(void)
{
    mqd_t queue = mq_open("/atelier", O_RDWR | O_CREAT | O_EXCL, 0666, NULL);

    NEED(queue >= 0 || errno != ENOSYS, "this kernel has no message queues");
    SETUP(queue >= 0 && fchmod((int)queue, 0666) == 0);
    CONTROL(run_apart(uid_a, CLONE_NEWNS, queue_look, NULL) == 0);
    MUST(run_apart(uid_a, CLONE_NEWNS | CLONE_NEWIPC, queue_look, NULL) == ENOENT);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(process_limit_counts_the_uid_in_all_namespaces),
    BEHAVIOUR(over_the_process_limit_exec_is_refused),
    BEHAVIOUR(limits_of_ones_own_processes_can_be_changed_but_not_raised),
    BEHAVIOUR(inotify_instances_are_of_the_uid),
    BEHAVIOUR(another_uid_or_not_dumpable_keeps_ptrace_out),
    BEHAVIOUR(a_change_of_uid_makes_not_dumpable),
    BEHAVIOUR(keys_of_a_uid_outlive_its_namespaces),
    BEHAVIOUR(shared_memory_ends_at_the_ipc_namespace),
    BEHAVIOUR(message_queues_end_at_the_ipc_namespace),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "shared", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
