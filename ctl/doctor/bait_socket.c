/* SPDX-License-Identifier: ISC */
/* bait_socket.c - services of the bait. */
#include "ctl/doctor/bait_socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

#define BACKLOG 256

/* In a packet: source and destination, word @i of each. */
#define V4_SOURCE         ((uint32_t)SKF_NET_OFF + offsetof(struct iphdr, saddr))
#define V4_DESTINATION    ((uint32_t)SKF_NET_OFF + offsetof(struct iphdr, daddr))
#define V6_SOURCE(i)      ((uint32_t)SKF_NET_OFF + offsetof(struct ip6_hdr, ip6_src) + 4 * (i))
#define V6_DESTINATION(i) ((uint32_t)SKF_NET_OFF + offsetof(struct ip6_hdr, ip6_dst) + 4 * (i))

#define LOAD(at)          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define KEEP              BPF_STMT(BPF_MISC | BPF_TAX, 0)
#define UNLESS_KEPT(jump) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, (jump))

/*
 * For this host alone: a packet of the host to itself has its own destination as its source, or a
 * loopback address, which no packet from outside has (the kernel drops those as martians). Others
 * see no port (as in sessiond/monitor/listener.c).
 */
static int only_from_self(int fd, int family)
{
    static struct sock_filter v4[] = {
        LOAD(V4_SOURCE),
        KEEP,
        LOAD(V4_DESTINATION),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 3, 0),
        LOAD(V4_SOURCE),
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 24),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 127, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    static struct sock_filter v6[] = {
        LOAD(V6_SOURCE(0)),
        KEEP,
        LOAD(V6_DESTINATION(0)),
        UNLESS_KEPT(13),
        LOAD(V6_SOURCE(1)),
        KEEP,
        LOAD(V6_DESTINATION(1)),
        UNLESS_KEPT(9),
        LOAD(V6_SOURCE(2)),
        KEEP,
        LOAD(V6_DESTINATION(2)),
        UNLESS_KEPT(5),
        LOAD(V6_SOURCE(3)),
        KEEP,
        LOAD(V6_DESTINATION(3)),
        UNLESS_KEPT(1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog prog = {.len = sizeof(v4) / sizeof(v4[0]), .filter = v4};

    if (family == AF_INET6)
        prog = (struct sock_fprog){.len = sizeof(v6) / sizeof(v6[0]), .filter = v6};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0 ? -errno : 0;
}

/* On every address of the family. @port: 0 for any. Return: the socket, or -1. */
static int inet_open(int family, int type, uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr *addr = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
    socklen_t len = family == AF_INET ? sizeof(v4) : sizeof(v6);
    cleanup_close int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0 || only_from_self(fd, family) < 0 ||
        (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
        bind(fd, addr, len) < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0) ||
        getsockname(fd, addr, &len) < 0)
        return -1;
    *ret_port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
    return fd_take(&fd);
}

/* TCP and UDP under one number. */
static void pair_open(int family, int *ret_tcp, int *ret_udp, uint16_t *ret_port)
{
    for (int tries = 0; tries < 8; tries++) {
        uint16_t port = 0;

        *ret_tcp = inet_open(family, SOCK_STREAM, 0, &port);
        *ret_udp = *ret_tcp < 0 ? -1 : inet_open(family, SOCK_DGRAM, port, &port);
        if (*ret_udp >= 0) {
            *ret_port = port;
            return;
        }
        if (*ret_tcp >= 0)
            (void)close(*ret_tcp);
        *ret_tcp = -1;
    }
}

static int unix_open(const char *word, size_t skip)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    size_t len = strlen(word);

    memcpy(addr.sun_path + skip, word, len);
    if (fd < 0 ||
        bind(fd, (const struct sockaddr *)&addr,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + skip + len)) < 0 ||
        (skip == 0 && chmod(word, 0666) < 0) || listen(fd, BACKLOG) < 0)
        return -1;
    return fd_take(&fd);
}

void bait_sockets_open(struct bait *b, struct bait_sockets *ret_s)
{
    int *fds = ret_s->fds;
    char name[BAIT_PATH_SIZE];

    for (int i = 0; i < BAIT_SERVICES; i++)
        fds[i] = -1;
    pair_open(AF_INET, &fds[BAIT_TCP4], &fds[BAIT_UDP4], &b->port4);
    pair_open(AF_INET6, &fds[BAIT_TCP6], &fds[BAIT_UDP6], &b->port6);
    (void)snprintf(name, sizeof(name), "/run/atelier-doctor.%s.sock", b->word);
    fds[BAIT_PATH] = unix_open(name, 0);
    if (fds[BAIT_PATH] >= 0)
        memcpy(b->path_socket, name, sizeof(b->path_socket));
    (void)snprintf(name, sizeof(name), "atelier-doctor.%s", b->word);
    fds[BAIT_ABSTRACT] = unix_open(name, 1);
    if (fds[BAIT_ABSTRACT] >= 0)
        memcpy(b->abstract_name, name, sizeof(b->abstract_name));
}

static void datagram_answer(int fd, const char *word)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    char buf[64];

    while (recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&peer, &len) >= 0) {
        (void)sendto(fd, word, strlen(word), MSG_NOSIGNAL, (const struct sockaddr *)&peer, len);
        len = sizeof(peer);
    }
}

static void connection_answer(int fd, const char *word)
{
    int conn;

    while ((conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        (void)send(conn, word, strlen(word), MSG_NOSIGNAL);
        (void)close(conn);
    }
}

void bait_sockets_serve(const struct bait_sockets *s, int lifeline, const char *word)
{
    struct pollfd polls[BAIT_SERVICES + 1];

    for (int i = 0; i < BAIT_SERVICES; i++)
        polls[i] = (struct pollfd){.fd = s->fds[i], .events = POLLIN};
    polls[BAIT_SERVICES] = (struct pollfd){.fd = lifeline, .events = POLLIN};
    for (;;) {
        if (poll(polls, BAIT_SERVICES + 1, -1) < 0 && errno != EINTR)
            return;
        if (polls[BAIT_SERVICES].revents != 0)
            return;
        for (int i = 0; i < BAIT_SERVICES; i++) {
            if ((polls[i].revents & POLLIN) == 0)
                continue;
            if (i == BAIT_UDP4 || i == BAIT_UDP6)
                datagram_answer(polls[i].fd, word);
            else
                connection_answer(polls[i].fd, word);
        }
    }
}
