/* SPDX-License-Identifier: ISC */
/* pidns.c - PID namespaces: who dies with whom, who sees whom, and when one is really over. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define AT_ONCE_MS 2000
#define NEVER_MS   200

static void wait_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        (void)pause();
}

/* A PID 1 of new namespaces that does this. */
static pid_t init_start(unsigned long flags, void (*function)(void *), void *arg)
{
    struct clone_args args = {.flags = CLONE_NEWPID | flags, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    SETUP(pid >= 0);
    if (pid == 0) {
        function(arg);
        _exit(0);
    }
    return (pid_t)pid;
}

/* --- death ---------------------------------------------------------------------------------- */

static int alive[2];

/* PID 1 with two that sleep, one in a session of its own; each has the pipe open. */
static void with_two(void *ready)
{
    pid_t first = child_start(wait_for_ever, NULL);
    pid_t second = fork();

    SETUP(second >= 0);
    if (second == 0) {
        SETUP(setsid() > 0);
        wait_for_ever(NULL);
    }
    SETUP(first == 2 && second == 3);
    (void)close(alive[0]);
    SETUP(write(*(int *)ready, "", 1) == 1);
    (void)signal(SIGTERM, SIG_IGN);
    wait_for_ever(NULL);
}

static void death_of_pid_1_kills_all(void)
{
    int ready[2];
    char byte;
    pid_t init;

    SETUP(pipe2(alive, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
    init = init_start(0, with_two, &ready[1]);
    (void)close(alive[1]);
    SETUP(read(ready[0], &byte, 1) == 1);
    CONTROL(!is_readable(alive[0], NEVER_MS)); /* there is somebody who has it open */
    SETUP(kill(init, SIGKILL) == 0 && child_end(init) == 128 + SIGKILL);
    MUST(is_readable(alive[0], 0)); /* at once: all were gone before PID 1 was */
}

static void kill_everybody(void *arg)
{
    (void)arg;
    (void)kill(-1, SIGKILL);
}

static void kill_beside_another(void *arg)
{
    pid_t sibling = child_start(wait_for_ever, NULL);

    (void)arg;
    (void)child_run(kill_everybody, NULL);
    CONTROL(child_end(sibling) == 128 + SIGKILL);
}

static void kill_of_everybody_ends_at_the_namespace(void)
{
    int neighbour = pidfd_of(child_start(wait_for_ever, NULL));

    SETUP(child_end(init_start(0, kill_beside_another, NULL)) == 0);
    MUST(!is_readable(neighbour, NEVER_MS));
}

static void init_with_killer(void *signum)
{
    pid_t pid = fork();

    SETUP(pid >= 0);
    if (pid == 0) {
        SETUP(kill(1, *(int *)signum) == 0);
        _exit(0);
    }
    (void)child_end(pid);
    _exit(7); /* it lives */
}

static void init_term_itself(void *arg)
{
    (void)arg;
    (void)raise(SIGTERM);
    _exit(7);
}

/* Not even SIGKILL: so a participant's program must not be PID 1, and no child can kill our init.
 */
static void pid_1_ignores_signals_from_inside(void)
{
    int kill_signal = SIGKILL, term = SIGTERM;
    pid_t init = init_start(0, wait_for_ever, NULL);

    MUST(child_end(init_start(0, init_with_killer, &kill_signal)) == 7);
    MUST(child_end(init_start(0, init_with_killer, &term)) == 7);
    MUST(child_end(init_start(0, init_term_itself, NULL)) == 7);
    CONTROL(child_run(init_term_itself, NULL) == 128 + SIGTERM);
    SETUP(kill(init, SIGKILL) == 0);
    CONTROL(child_end(init) == 128 + SIGKILL);
}

static void abort_now(void *arg)
{
    (void)arg;
    abort();
}

static void abort_of_pid_1_does_not_say_so(void)
{
    CONTROL(child_run(abort_now, NULL) == 128 + SIGABRT);
    MUST(child_end(init_start(0, abort_now, NULL)) != 128 + SIGABRT);
}

/* --- the end of a namespace ----------------------------------------------------------------- */

/* Fork one that sleeps into the PID namespace of @init, as our own child. */
static pid_t start_inside(pid_t init)
{
    int pidfd = pidfd_of(init), own = pidfd_of(getpid());
    pid_t pid;

    SETUP(pidfd >= 0 && setns(pidfd, CLONE_NEWPID) == 0);
    pid = child_start(wait_for_ever, NULL);
    SETUP(setns(own, CLONE_NEWPID) == 0);
    (void)close(pidfd);
    (void)close(own);
    return pid;
}

/* As sshd: its child is in the session, and is not reaped while sshd waits for us. */
static void pidfd_of_pid_1_waits_for_who_is_not_reaped(void)
{
    pid_t alone = init_start(0, wait_for_ever, NULL), init = init_start(0, wait_for_ever, NULL);
    pid_t child = start_inside(init);
    int of_alone = pidfd_of(alone), of_init = pidfd_of(init), of_child = pidfd_of(child);

    SETUP(kill(alone, SIGKILL) == 0 && kill(init, SIGKILL) == 0);
    CONTROL(is_readable(of_alone, AT_ONCE_MS));
    SETUP(is_readable(of_child, AT_ONCE_MS)); /* dead, and nobody's yet */
    MUST(!is_readable(of_init, NEVER_MS));
    SETUP(child_end(child) == 128 + SIGKILL);
    MUST(is_readable(of_init, AT_ONCE_MS));
}

static void pidfd_tells_of_who_is_reaped_by_the_kernel(void)
{
    pid_t pid;
    int fd;

    CONTROL(waitpid(child_start(wait_for_ever, NULL), NULL, WNOHANG) == 0);
    (void)signal(SIGCHLD, SIG_IGN);
    pid = child_start(wait_for_ever, NULL);
    fd = pidfd_of(pid);
    CONTROL(!is_readable(fd, NEVER_MS));
    SETUP(kill(pid, SIGKILL) == 0);
    MUST(is_readable(fd, AT_ONCE_MS));
    MUST(waitpid(pid, NULL, 0) < 0 && errno == ECHILD);
}

/* Never unshare in sshd: its first child is PID 1, and after its end there are no more. */
static void unshare_leaves_no_fork_after_the_first_child(void)
{
    pid_t first;

    SETUP(unshare(CLONE_NEWPID) == 0);
    first = child_start(wait_for_ever, NULL);
    CONTROL(child_run(abort_now, NULL) == 128 + SIGABRT); /* a second one, while the first lives */
    SETUP(kill(first, SIGKILL) == 0 && child_end(first) == 128 + SIGKILL);
    MUST(fork() < 0 && errno == ENOMEM);
}

static void setns_into_a_dead_namespace_leaves_no_fork(void)
{
    pid_t init = init_start(0, wait_for_ever, NULL);
    int pidfd = pidfd_of(init), own = pidfd_of(getpid());

    SETUP(setns(pidfd, CLONE_NEWPID) == 0);
    CONTROL(child_run(abort_now, NULL) == 128 + SIGABRT);
    SETUP(setns(own, CLONE_NEWPID) == 0 && setns(pidfd, CLONE_NEWPID) == 0);
    SETUP(kill(init, SIGKILL) == 0 && child_end(init) == 128 + SIGKILL);
    MUST(fork() < 0 && errno == ENOMEM);
}

/* --- joining -------------------------------------------------------------------------------- */

#define ALL (CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS)

static void join_and_compare(void *arg)
{
    static const char *const names[] = {"mnt", "ipc", "uts"};
    char theirs[16];
    pid_t init = *(pid_t *)arg;
    int pidfd = pidfd_of(init);
    ino_t wanted[3], pid_ns;

    (void)snprintf(theirs, sizeof(theirs), "%d", init);
    for (int i = 0; i < 3; i++) {
        wanted[i] = ns_of(theirs, names[i]);
        CONTROL(wanted[i] != 0 && ns_of("self", names[i]) != wanted[i]);
    }
    pid_ns = ns_of(theirs, "pid");
    CONTROL(ns_of("self", "pid_for_children") != pid_ns);
    SETUP(setns(pidfd, ALL | CLONE_NEWPID) == 0);
    for (int i = 0; i < 3; i++)
        MUST(ns_of("self", names[i]) == wanted[i]);
    MUST(ns_of("self", "pid_for_children") == pid_ns && ns_of("self", "pid") != pid_ns);
}

static void setns_of_a_pidfd_joins_several_at_once(void)
{
    pid_t init = init_start(ALL, wait_for_ever, NULL);

    SETUP(child_run(join_and_compare, &init) == 0);
}

static void join_too_much(void *arg)
{
    pid_t init = *(pid_t *)arg;
    ino_t before = ns_of("self", "uts");

    /* Its user namespace is our own, which nobody may enter again. */
    MUST(setns(pidfd_of(init), ALL | CLONE_NEWPID | CLONE_NEWUSER) < 0 && errno == EINVAL);
    MUST(ns_of("self", "uts") == before);
    CONTROL(setns(pidfd_of(init), ALL | CLONE_NEWPID) == 0 && ns_of("self", "uts") != before);
}

static void setns_of_a_pidfd_joins_all_or_none(void)
{
    pid_t init = init_start(ALL, wait_for_ever, NULL);

    SETUP(child_run(join_too_much, &init) == 0);
}

static void *idle(void *arg)
{
    wait_for_ever(arg);
    return NULL;
}

static void join_with_thread(void *arg)
{
    pthread_t thread;
    ino_t before = ns_of("self", "mnt");
    int pidfd = pidfd_of(*(pid_t *)arg);

    SETUP(pthread_create(&thread, NULL, idle, NULL) == 0);
    CONTROL(setns(pidfd, CLONE_NEWNS) < 0 && errno == EINVAL);
    MUST(setns(pidfd, ALL | CLONE_NEWPID) == 0);
    MUST(ns_of("thread-self", "mnt") != before);
}

/* With a mount namespace alone it does. So join.c has to look by itself. */
static void setns_of_several_does_not_refuse_threads(void)
{
    pid_t init = init_start(ALL, wait_for_ever, NULL);

    SETUP(child_run(join_with_thread, &init) == 0);
}

/* --- /proc ---------------------------------------------------------------------------------- */

static void proc_mount(const char *path, const char *options)
{
    SETUP(mkdir(path, 0755) == 0);
    SETUP(mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0);
}

static bool sees(const char *proc, pid_t pid)
{
    struct stat st;
    char path[64];

    (void)snprintf(path, sizeof(path), "%s/%d", proc, pid);
    return stat(path, &st) == 0;
}

static void look_at_root(void *arg)
{
    pid_t root = *(pid_t *)arg;

    become(uid_a);
    CONTROL(sees("/tmp/open", root));
    MUST(!sees("/tmp/hidden", root));
    CONTROL(sees("/tmp/hidden", getpid()));
}

/* Two mounts of one PID namespace with different options: so ours says nothing of the host's. */
static void hidepid_hides_others_and_is_of_one_mount(void)
{
    pid_t self = getpid();

    proc_mount("/tmp/open", "hidepid=0");
    proc_mount("/tmp/hidden", "hidepid=2");
    SETUP(child_run(look_at_root, &self) == 0);
}

static void proc_mount_and_look(void *arg)
{
    char text[64] = "";

    (void)arg;
    SETUP(mount("proc", "/proc", "proc", 0, NULL) == 0);
    SETUP(readlink("/proc/self", text, sizeof(text) - 1) > 0);
    MUST(strcmp(text, "1") == 0);
    MUST(!sees("/proc", 2));
    CONTROL(child_start(wait_for_ever, NULL) == 2 && sees("/proc", 2));
}

static void proc_shows_its_own_namespace_only(void)
{
    SETUP(sees("/proc", 2)); /* that is us */
    SETUP(child_end(init_start(CLONE_NEWNS, proc_mount_and_look, NULL)) == 0);
}

static void proc_mount_and_wait(void *ready)
{
    SETUP(mkdir("/tmp/inner", 0755) == 0);
    SETUP(mount("proc", "/tmp/inner", "proc", 0, NULL) == 0);
    SETUP(write(*(int *)ready, "", 1) == 1);
    wait_for_ever(NULL);
}

/* As sshd's monitor in a session: its children are in the PID namespace, it is not. */
static void proc_self_is_missing_for_who_is_outside(void)
{
    char text[64], byte;
    int ready[2];

    SETUP(pipe2(ready, O_CLOEXEC) == 0);
    (void)init_start(0, proc_mount_and_wait, &ready[1]); /* in our mount namespace */
    SETUP(read(ready[0], &byte, 1) == 1);
    CONTROL(readlink("/proc/self", text, sizeof(text)) > 0);
    CONTROL(sees("/tmp/inner", 1));
    MUST(readlink("/tmp/inner/self", text, sizeof(text)) < 0 && errno == ENOENT);
}

static void look_into_init(void *arg)
{
    char path[64];
    pid_t pid = *(pid_t *)arg;

    become(uid_a);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", getpid());
    CONTROL(opendir(path) != NULL);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    MUST(opendir(path) == NULL && errno == EACCES);
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    MUST(open(path, O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    MUST(open(path, O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
    MUST(kill(pid, SIGKILL) < 0 && errno == EPERM);
}

static void another_uid_is_kept_out_of_pid_1(void)
{
    pid_t self = getpid();

    SETUP(child_run(look_into_init, &self) == 0);
}

/* --- signals -------------------------------------------------------------------------------- */

static void nothing(int signum)
{
    (void)signum;
}

static void handlers_tell(void *arg)
{
    (void)arg;
    _exit((signal(SIGUSR1, SIG_DFL) == SIG_DFL ? 10 : 0) +
          (signal(SIGUSR2, SIG_DFL) == SIG_IGN ? 20 : 0));
}

static int handlers_after_clone(unsigned long flags)
{
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    SETUP(pid >= 0);
    if (pid == 0)
        handlers_tell(NULL);
    return child_end((pid_t)pid);
}

/* So the inits undo what is ignored by themselves. */
static void clear_sighand_leaves_what_is_ignored(void)
{
    (void)signal(SIGUSR1, nothing);
    (void)signal(SIGUSR2, SIG_IGN);
    CONTROL(handlers_after_clone(0) == 20);
    MUST(handlers_after_clone(CLONE_CLEAR_SIGHAND) == 30);
}

/* --- other namespaces ----------------------------------------------------------------------- */

static void host_name_set(void *arg)
{
    SETUP(sethostname(arg, strlen(arg)) == 0);
}

static void host_name_is_of_the_uts_namespace(void)
{
    char name[65];

    SETUP(sethostname("one", 3) == 0);
    SETUP(child_end(init_start(CLONE_NEWUTS, host_name_set, (char[]){"two"})) == 0);
    SETUP(gethostname(name, sizeof(name)) == 0);
    MUST(strcmp(name, "one") == 0);
    SETUP(child_run(host_name_set, (char[]){"two"}) == 0);
    SETUP(gethostname(name, sizeof(name)) == 0);
    CONTROL(strcmp(name, "two") == 0);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(death_of_pid_1_kills_all),
    BEHAVIOUR(kill_of_everybody_ends_at_the_namespace),
    BEHAVIOUR(pid_1_ignores_signals_from_inside),
    BEHAVIOUR(abort_of_pid_1_does_not_say_so),
    BEHAVIOUR(pidfd_of_pid_1_waits_for_who_is_not_reaped),
    BEHAVIOUR(pidfd_tells_of_who_is_reaped_by_the_kernel),
    BEHAVIOUR(unshare_leaves_no_fork_after_the_first_child),
    BEHAVIOUR(setns_into_a_dead_namespace_leaves_no_fork),
    BEHAVIOUR(setns_of_a_pidfd_joins_several_at_once),
    BEHAVIOUR(setns_of_a_pidfd_joins_all_or_none),
    BEHAVIOUR(setns_of_several_does_not_refuse_threads),
    BEHAVIOUR(hidepid_hides_others_and_is_of_one_mount),
    BEHAVIOUR(proc_shows_its_own_namespace_only),
    BEHAVIOUR(proc_self_is_missing_for_who_is_outside),
    BEHAVIOUR(another_uid_is_kept_out_of_pid_1),
    BEHAVIOUR(clear_sighand_leaves_what_is_ignored),
    BEHAVIOUR(host_name_is_of_the_uts_namespace),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "pidns", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
