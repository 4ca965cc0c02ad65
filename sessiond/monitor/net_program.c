/* SPDX-License-Identifier: ISC */
/* net_program.c - the host's own iptables. */
#include "sessiond/monitor/net_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/listener.h"

#include "common/banned.h"

const struct net_family net_families[NET_FAMILIES] = {
    {NETRULES_V4,
     "IPv4",
     "iptables-restore",
     {"/usr/sbin/iptables-restore", "/sbin/iptables-restore"},
     {"/usr/sbin/iptables", "/sbin/iptables"},
     {"/usr/sbin/iptables-save", "/sbin/iptables-save"}},
    {NETRULES_V6,
     "IPv6",
     "ip6tables-restore",
     {"/usr/sbin/ip6tables-restore", "/sbin/ip6tables-restore"},
     {"/usr/sbin/ip6tables", "/sbin/ip6tables"},
     {"/usr/sbin/ip6tables-save", "/sbin/ip6tables-save"}},
};

bool net_family_exists(const struct net_family *f)
{
    return f->family == NETRULES_V4 || kernel_has_ipv6();
}

const char *net_program_find(const char *const places[2])
{
    for (int i = 0; i < 2; i++) {
        if (access(places[i], X_OK) == 0)
            return places[i];
    }
    return NULL;
}

/* posix_spawn(3) promises not to change the strings, but its type does not say so. */
static char *const *strings(const char *const v[])
{
    return (char *const *)(uintptr_t)v;
}

static int null_add(posix_spawn_file_actions_t *actions, int fd)
{
    return posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_WRONLY, 0);
}

int net_program_start(const char *const argv[], int stdin_fd, int stdout_fd, bool is_quiet,
                      pid_t *ret_pid)
{
    const char *const envp[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    posix_spawn_file_actions_t actions;
    int r;

    r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_adddup2(&actions, stdin_fd, STDIN_FILENO);
    if (r == 0 && stdout_fd >= 0)
        r = posix_spawn_file_actions_adddup2(&actions, stdout_fd, STDOUT_FILENO);
    else if (r == 0 && is_quiet)
        r = null_add(&actions, STDOUT_FILENO);
    if (r == 0 && is_quiet)
        r = null_add(&actions, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn(ret_pid, argv[0], &actions, NULL, strings(argv), strings(envp));
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

int net_program_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -EPROTO;
}

/* Hand over what is printed, to its end. Return: 0 or -errno. */
static int lines_read(int fd, net_line_fn fn, void *arg)
{
    FILE *file = fdopen(fd, "r");
    cleanup_free char *line = NULL;
    size_t size = 0;
    int r = 0;

    if (!file) {
        (void)close(fd);
        return -ENOMEM;
    }
    while (getline(&line, &size, file) > 0)
        fn(arg, line);
    if (ferror(file))
        r = -EIO;
    (void)fclose(file);
    return r;
}

int net_program_read(const char *const argv[], net_line_fn fn, void *arg)
{
    cleanup_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fds[2], r, code;
    pid_t pid;

    if (!argv[0])
        return -ENOENT;
    if (null < 0 || pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    r = net_program_start(argv, null, fds[1], true, &pid);
    (void)close(fds[1]);
    if (r < 0) {
        (void)close(fds[0]);
        return r;
    }
    r = lines_read(fds[0], fn, arg);
    code = net_program_wait(pid);
    return r < 0 ? r : code;
}

static int text_to_fd(const char *text)
{
    cleanup_close int fd = memfd_create("atelier-rules", MFD_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
    r = fd_write_full(fd, text, strlen(text));
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    return r < 0 ? r : fd_take(&fd);
}

int net_program_feed(const char *const argv[], const char *text, bool is_quiet)
{
    cleanup_close int fd = -1;
    pid_t pid;
    int r;

    if (!argv[0])
        return -ENOENT;
    fd = text_to_fd(text);
    if (fd < 0)
        return fd;
    r = net_program_start(argv, fd, -1, is_quiet, &pid);
    if (r == 0)
        r = net_program_wait(pid);
    return r > 0 ? -EPROTO : r;
}

int net_text_load(const struct net_family *f, const char *text)
{
    const char *const argv[] = {net_program_find(f->restore), "-w", NET_LOCK_WAIT_S, "--noflush",
                                NULL};

    return net_program_feed(argv, text, false);
}

void net_child_settle(const char *name, pid_t parent)
{
    sigset_t empty;

    /* Forked from a process with an event loop: neither handlers nor descriptors are for us. */
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&empty);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    (void)prctl(PR_SET_NAME, name);
    if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        syscall(SYS_close_range, 3u, ~0u, 0u) < 0)
        _exit(1);
}
