/* SPDX-License-Identifier: ISC */
/* listener.c - what the canary must not reach and root must. */
#include "sessiond/monitor/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sessiond/monitor/pidfd.h"

#include "common/banned.h"

#define BACKLOG 1024 /* anybody on the host may knock; root must get through */

bool kernel_has_ipv6(void)
{
    cleanup_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0 || errno != EAFNOSUPPORT;
}

/*
 * Drop everything whose source is not its own destination. A connection of this host to one of its
 * addresses has that address on both ends; one from outside never has (the kernel drops such
 * packets as martians). So the port does not exist for anybody outside. Binding to the device lo
 * does not do: the kernel books a packet to an interface's own address under that interface.
 */
static int only_from_self(int fd)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + offsetof(struct iphdr, saddr)),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + offsetof(struct iphdr, daddr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0)
        return -errno;
    return 0;
}

static int listen_on(const struct sockaddr *addr, socklen_t len, int *ret_fd)
{
    cleanup_close int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r;

    if (fd < 0)
        return -errno;
    if (addr->sa_family == AF_INET) {
        r = only_from_self(fd);
        if (r < 0)
            return r;
    }
    if (bind(fd, addr, len) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    *ret_fd = fd_take(&fd);
    return 0;
}

/* Every IPv4 address of the host, so that whichever the round picks is one of them. */
static int listen_v4(int *ret_fd, uint16_t *ret_port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_ANY)}};
    socklen_t len = sizeof(addr);
    int r = listen_on((const struct sockaddr *)&addr, len, ret_fd);

    if (r == 0 && getsockname(*ret_fd, (struct sockaddr *)&addr, &len) < 0)
        r = -errno;
    *ret_port = ntohs(addr.sin_port);
    return r;
}

static int listen_v6(int *ret_fd, uint16_t *ret_port)
{
    struct sockaddr_in6 addr = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t len = sizeof(addr);
    int r = listen_on((const struct sockaddr *)&addr, len, ret_fd);

    if (r == 0 && getsockname(*ret_fd, (struct sockaddr *)&addr, &len) < 0)
        r = -errno;
    *ret_port = ntohs(addr.sin6_port);
    return r;
}

static void answer_all(int listen_fd, const uint8_t *banner)
{
    int fd;

    while ((fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        (void)send(fd, banner, LISTENER_BANNER_SIZE, MSG_NOSIGNAL);
        (void)close(fd);
    }
}

/* uid 0 stays: an accepted socket of a participant's uid would fall under the rules itself. */
static _Noreturn void listener_main(int fd4, int fd6, const uint8_t *banner, pid_t parent)
{
    struct pollfd polls[2] = {{.fd = 3, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    cap_t none = cap_init();
    sigset_t empty;

    /* A later listener is forked from a process with an event loop: its handlers are not ours. */
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&empty);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || !none)
        _exit(1);
    (void)prctl(PR_SET_NAME, "atelier-listen");
    (void)prctl(PR_SET_DUMPABLE, 0);
    /* Move both clear of 3 and 4 first, then into place, then close the rest. */
    fd4 = fcntl(fd4, F_DUPFD, 64);
    fd6 = fd6 >= 0 ? fcntl(fd6, F_DUPFD, 64) : -1;
    if (fd4 < 0 || dup2(fd4, 3) < 0)
        _exit(1);
    if (fd6 >= 0) {
        if (dup2(fd6, 4) < 0)
            _exit(1);
        polls[1].fd = 4;
    }
    if (syscall(SYS_close_range, fd6 >= 0 ? 5u : 4u, ~0u, 0u) < 0)
        _exit(1);
    for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
        (void)cap_drop_bound(cap);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || cap_set_proc(none) < 0)
        _exit(1);
    for (;;) {
        if (poll(polls, 2, -1) < 0 && errno != EINTR)
            _exit(1);
        for (int i = 0; i < 2; i++) {
            if (polls[i].revents & POLLIN)
                answer_all(polls[i].fd, banner);
        }
    }
}

int listener_start(struct listener *ret_l)
{
    struct listener l = {.pidfd = -1};
    cleanup_close int fd4 = -1, fd6 = -1;
    pid_t parent = getpid(), pid;
    int r;

    if (getrandom(l.banner, sizeof(l.banner), 0) != (ssize_t)sizeof(l.banner))
        return -errno;
    r = listen_v4(&fd4, &l.port4);
    if (r == 0 && kernel_has_ipv6())
        r = listen_v6(&fd6, &l.port6);
    if (r < 0)
        return r;
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        listener_main(fd4, fd6, l.banner, parent);
    l.pid = pid;
    l.pidfd = pidfd_of(pid);
    if (l.pidfd < 0) {
        (void)kill(pid, SIGKILL);
        return l.pidfd;
    }
    *ret_l = l;
    return 0;
}

void listener_stop(struct listener *l)
{
    if (l->pidfd < 0)
        return;
    pidfd_kill(l->pidfd);
    (void)close(l->pidfd);
    l->pidfd = -1;
}
