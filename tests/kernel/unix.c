/* SPDX-License-Identifier: ISC */
/* unix.c - AF_UNIX: whose a connection is, what an abstract name reaches, and what Landlock scopes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define NEVER_MS 200
/* Linux 6.12; not in the headers of Debian 12. Source: Documentation/userspace-api/landlock.rst */
#define SCOPE_ABI      6
#define SCOPE_ABSTRACT 1ull

static socklen_t name_of(const char *name, struct sockaddr_un *ret_addr)
{
    size_t len = strlen(name);

    memset(ret_addr, 0, sizeof(*ret_addr));
    ret_addr->sun_family = AF_UNIX;
    memcpy(ret_addr->sun_path + 1, name, len); /* abstract: the first byte is 0 */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static int name_bind(int type, const char *name)
{
    struct sockaddr_un addr;
    socklen_t len = name_of(name, &addr);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    SETUP(fd >= 0 && bind(fd, (struct sockaddr *)&addr, len) == 0);
    if (type != SOCK_DGRAM)
        SETUP(listen(fd, 8) == 0);
    return fd;
}

static int name_connect(const char *name)
{
    struct sockaddr_un addr;
    socklen_t len = name_of(name, &addr);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    SETUP(fd >= 0);
    return connect(fd, (struct sockaddr *)&addr, len) == 0 ? 0 : errno;
}

/* --- whose ---------------------------------------------------------------------------------- */

static struct ucred peer_of(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    SETUP(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0);
    return peer;
}

static int told[2];

static void connect_then_change(void *arg)
{
    struct sockaddr_un addr;
    socklen_t len = name_of("whose", &addr);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (arg)
        become(uid_a);
    SETUP(connect(fd, (struct sockaddr *)&addr, len) == 0);
    if (!arg)
        become(uid_a);
    SETUP(write(told[1], "", 1) == 1);
    (void)pause();
}

/* Not who has it later: so a descriptor that is handed on keeps its rights. */
static void peer_is_who_connected(void)
{
    int fd = name_bind(SOCK_SEQPACKET, "whose"), other;
    struct ucred peer;
    char byte;
    pid_t pid;

    SETUP(pipe2(told, O_CLOEXEC) == 0);
    pid = child_start(connect_then_change, NULL);
    SETUP(read(told[0], &byte, 1) == 1);
    other = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    peer = peer_of(other);
    MUST(peer.uid == 0 && peer.pid == pid);
    pid = child_start(connect_then_change, told);
    SETUP(read(told[0], &byte, 1) == 1);
    other = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    peer = peer_of(other);
    CONTROL(peer.uid == uid_a && peer.gid == uid_a && peer.pid == pid);
}

/* One message with these credentials; none: the kernel fills in. */
static int send_as(int fd, const struct ucred *claim)
{
    char byte = 'x';
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control = {0};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (claim) {
        msg.msg_control = &control;
        msg.msg_controllen = sizeof(control);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_CREDENTIALS;
        control.header.cmsg_len = CMSG_LEN(sizeof(*claim));
        memcpy(CMSG_DATA(&control.header), claim, sizeof(*claim));
    }
    return sendmsg(fd, &msg, 0) == 1 ? 0 : errno;
}

static struct ucred received_from(int fd)
{
    char byte;
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    struct ucred sender = {0};

    SETUP(recvmsg(fd, &msg, 0) == 1);
    SETUP(msg.msg_controllen >= sizeof(struct cmsghdr));
    SETUP(control.header.cmsg_type == SCM_CREDENTIALS);
    memcpy(&sender, CMSG_DATA(&control.header), sizeof(sender));
    return sender;
}

static void send_truth_and_lie(void *arg)
{
    struct ucred lie = {.pid = 1, .uid = 0, .gid = 0};
    int fd = *(int *)arg;

    CONTROL(send_as(fd, &lie) == 0); /* root may say anything */
    become(uid_a);
    MUST(send_as(fd, &lie) == EPERM);
    SETUP(send_as(fd, NULL) == 0);
}

static void sender_of_a_message_is_who_sent_it(void)
{
    int pair[2], on = 1;
    struct ucred sender;
    pid_t pid;

    SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    SETUP(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0);
    pid = child_start(send_truth_and_lie, &pair[1]);
    SETUP(child_end(pid) == 0);
    sender = received_from(pair[0]);
    CONTROL(sender.uid == 0 && sender.pid == 1);
    sender = received_from(pair[0]);
    MUST(sender.uid == uid_a && sender.gid == uid_a && sender.pid == pid);
    MUST(peer_of(pair[0]).uid == 0); /* of the pair's maker, whoever has the other end */
}

static void wait_for_ever(void *arg)
{
    (void)arg;
    (void)pause();
}

/* The death of a login is told by its pidfd, not by its connection. */
static void connection_lives_as_long_as_any_copy(void)
{
    int pair[2], copy, pidfd;
    pid_t pid, holder;

    SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    pid = child_start(wait_for_ever, NULL);
    pidfd = pidfd_of(pid);
    holder = child_start(wait_for_ever, NULL);
    copy = pair[1];
    SETUP(close(copy) == 0);
    SETUP(kill(pid, SIGKILL) == 0);
    SETUP(is_readable(pidfd, 2000));
    MUST(!is_readable(pair[0], NEVER_MS));
    SETUP(kill(holder, SIGKILL) == 0);
    CONTROL(is_readable(pair[0], 2000)); /* now it has ended */
}

static void seqpacket_keeps_messages_and_says_when_it_cuts(void)
{
    int pair[2];
    char text[4];
    struct iovec iov = {text, sizeof(text)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    SETUP(send(pair[1], "ab", 2, 0) == 2 && send(pair[1], "cdefgh", 6, 0) == 6);
    CONTROL(recvmsg(pair[0], &msg, 0) == 2 && (msg.msg_flags & MSG_TRUNC) == 0);
    MUST(recvmsg(pair[0], &msg, 0) == 4 && (msg.msg_flags & MSG_TRUNC) != 0);
    MUST(recv(pair[0], text, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN); /* the rest is gone */
}

/* --- descriptors in flight ------------------------------------------------------------------ */

static int send_fd(int over, int fd)
{
    char byte = 'x';
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};

    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    return sendmsg(over, &msg, MSG_DONTWAIT) == 1 ? 0 : errno;
}

static void send_too_many(void *arg)
{
    const struct rlimit few = {16, 16};
    int pair[2], err = 0, sent = 0, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char byte;

    (void)arg;
    SETUP(setrlimit(RLIMIT_NOFILE, &few) == 0);
    become(uid_a);
    SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    while (sent < 100 && (err = send_fd(pair[0], null)) == 0)
        sent++;
    MUST(err == ETOOMANYREFS && sent >= 16);
    while (recv(pair[1], &byte, 1, MSG_DONTWAIT) == 1)
        ; /* without room for them: they are closed */
    CONTROL(send_fd(pair[0], null) == 0);
}

static void descriptors_in_flight_are_limited(void)
{
    SETUP(child_run(send_too_many, NULL) == 0);
}

static int send_two(int over)
{
    int fds[2] = {0, 1};
    char byte = 'x';
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(fds))];
    } control = {0};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};

    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
    return sendmsg(over, &msg, 0) == 1 ? 0 : errno;
}

/* With room for one. Return: the flags of the message; the first descriptor, or -1. */
static int receive_one(int from, int *ret_fd)
{
    char byte;
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr header;
        char space[CMSG_LEN(sizeof(int))];
    } control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control.space)};

    SETUP(recvmsg(from, &msg, MSG_CMSG_CLOEXEC) == 1);
    *ret_fd = -1;
    if (msg.msg_controllen >= sizeof(control.space))
        memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
    return msg.msg_flags;
}

static void descriptors_without_room_are_told_and_closed(void)
{
    int pair[2], fd, next, null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    SETUP(send_fd(pair[0], null) == 0);
    CONTROL((receive_one(pair[1], &fd) & MSG_CTRUNC) == 0 && fd >= 0);
    SETUP(send_two(pair[0]) == 0);
    MUST((receive_one(pair[1], &fd) & MSG_CTRUNC) != 0 && fd >= 0);
    next = fcntl(null, F_DUPFD_CLOEXEC, 0);
    MUST(next == fd + 1); /* the second one is nowhere */
}

static unsigned hangup_events(int fd)
{
    struct epoll_event event = {.events = EPOLLRDHUP};
    int set = epoll_create1(EPOLL_CLOEXEC);

    SETUP(set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
    SETUP(epoll_wait(set, &event, 1, 2000) == 1);
    return event.events;
}

static void a_close_with_unread_data_is_an_error(void)
{
    int read_all[2], unread[2];

    SETUP(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, read_all) == 0);
    SETUP(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, unread) == 0);
    SETUP(close(read_all[1]) == 0);
    CONTROL((hangup_events(read_all[0]) & (EPOLLRDHUP | EPOLLERR)) == EPOLLRDHUP);
    SETUP(write(unread[0], "x", 1) == 1 && close(unread[1]) == 0);
    MUST((hangup_events(unread[0]) & (EPOLLRDHUP | EPOLLERR)) == (EPOLLRDHUP | EPOLLERR));
}

/* --- abstract names ------------------------------------------------------------------------- */

static void connect_elsewhere(void *flags)
{
    SETUP(unshare(*(int *)flags) == 0);
    if (*(int *)flags & CLONE_NEWNS)
        become(uid_a);
    _exit(name_connect("name"));
}

static void abstract_names_are_of_the_network_namespace_alone(void)
{
    int mounts = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID, net = CLONE_NEWNET;

    (void)name_bind(SOCK_STREAM, "name");
    MUST(child_run(connect_elsewhere, &mounts) == 0); /* as another user, too */
    CONTROL(child_run(connect_elsewhere, &net) == ECONNREFUSED);
}

static int landlock_abi(void)
{
    /* LANDLOCK_CREATE_RULESET_VERSION */
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

    return abi < 0 ? 0 : (int)abi;
}

static void scope_and_connect(void *arg)
{
    struct {
        uint64_t fs, net, scoped;
    } attr = {.scoped = SCOPE_ABSTRACT};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

    (void)arg;
    CONTROL(name_connect("name") == 0);
    SETUP(ruleset >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    SETUP(syscall(SYS_landlock_restrict_self, ruleset, 0) == 0);
    MUST(name_connect("name") == EPERM);
    (void)name_bind(SOCK_STREAM, "own");
    CONTROL(name_connect("own") == 0); /* among themselves nothing is different */
}

static void landlock_scopes_abstract_names(void)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", landlock_abi());
    prove_fact("landlock_abi", text);
    NEED(landlock_abi() >= SCOPE_ABI, "Landlock of this kernel has no scopes (ABI below 6)");
    (void)name_bind(SOCK_STREAM, "name");
    SETUP(child_run(scope_and_connect, NULL) == 0);
}

static int send_to_name(int type)
{
    struct sockaddr_un addr;
    socklen_t len = name_of("datagrams", &addr);
    int pair[2];

    SETUP(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0);
    return sendto(pair[0], "x", 1, MSG_DONTWAIT, (struct sockaddr *)&addr, len) == 1 ? 0 : errno;
}

/* So runs, which have no AF_UNIX but pairs, have no pairs of datagrams either. */
static void a_pair_of_datagrams_reaches_abstract_names(void)
{
    int fd = name_bind(SOCK_DGRAM, "datagrams");

    CONTROL(send_to_name(SOCK_STREAM) == EISCONN);
    CONTROL(send_to_name(SOCK_SEQPACKET) == 0 && !is_readable(fd, 0)); /* the name is ignored */
    MUST(send_to_name(SOCK_DGRAM) == 0 && is_readable(fd, 0));
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(peer_is_who_connected),
    BEHAVIOUR(sender_of_a_message_is_who_sent_it),
    BEHAVIOUR(connection_lives_as_long_as_any_copy),
    BEHAVIOUR(seqpacket_keeps_messages_and_says_when_it_cuts),
    BEHAVIOUR(descriptors_in_flight_are_limited),
    BEHAVIOUR(descriptors_without_room_are_told_and_closed),
    BEHAVIOUR(a_close_with_unread_data_is_an_error),
    BEHAVIOUR(abstract_names_are_of_the_network_namespace_alone),
    BEHAVIOUR(landlock_scopes_abstract_names),
    BEHAVIOUR(a_pair_of_datagrams_reaches_abstract_names),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "unix", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
