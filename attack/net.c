/* SPDX-License-Identifier: ISC */
/* net.c - attacks by network. */
#include "attack/attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/banned.h"

#define TARGETS_MAX 64
/* A refusal comes at once; whoever says nothing for so long has not refused. */
#define LIMIT_MS  400
#define BANNER_MS 200
/* Ends on this host: what leaves by lo comes back, and nobody takes it who does not own the
 * address. */
#define BY_LO "lo/"

struct target {
    const char *text;
    bool is_by_lo;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } addr;
    socklen_t len;
    int64_t begun_us;
};

static int64_t now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* "1.2.3.4:5" or "[::1]:5". Return: false if it is neither. */
static bool target_parse(const char *text, struct target *ret_t)
{
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN + 2] = {0};
    size_t len;
    long port;

    *ret_t = (struct target){.text = text};
    if (strncmp(text, BY_LO, strlen(BY_LO)) == 0) {
        ret_t->is_by_lo = true;
        text += strlen(BY_LO);
    }
    port = colon ? number(colon + 1, 65535, 0) : 0;
    len = colon ? (size_t)(colon - text) : 0;
    if (port == 0 || len == 0 || len >= sizeof(host))
        return false;
    memcpy(host, text, len);
    if (host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';
        ret_t->addr.v6 =
            (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        ret_t->len = sizeof(ret_t->addr.v6);
        return inet_pton(AF_INET6, host + 1, &ret_t->addr.v6.sin6_addr) == 1;
    }
    ret_t->addr.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    ret_t->len = sizeof(ret_t->addr.v4);
    return inet_pton(AF_INET, host, &ret_t->addr.v4.sin_addr) == 1;
}

static void refused(const char *name, const struct target *t, int error)
{
    say_refused(name, t->text, error, "after %ld ms", (long)((now_us() - t->begun_us) / 1000));
}

/* Return: the socket, or a negative errno. */
static int target_socket(const struct target *t, int type)
{
    int fd = socket(t->addr.any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
    if (t->is_by_lo && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) < 0) {
        int error = errno;

        (void)close(fd);
        return -error;
    }
    return fd;
}

static int socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof(error);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

/* The first word of whoever is there. */
static void banner_say(const char *name, const struct target *t, int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char banner[32] = {0};
    ssize_t n = poll(&p, 1, BANNER_MS) > 0 ? recv(fd, banner, sizeof(banner) - 1, 0) : 0;

    say_reached(name, t->text, "%s", n > 0 ? banner : "");
}

/* Return: the descriptor of a connection that is on its way; -1 if all is said. */
static int tcp_begin(const char *name, struct target *t)
{
    int fd = target_socket(t, SOCK_STREAM);

    t->begun_us = now_us();
    if (fd < 0) {
        refused(name, t, -fd);
        return -1;
    }
    if (connect(fd, &t->addr.any, t->len) < 0 && errno != EINPROGRESS) {
        refused(name, t, errno);
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void tcp_end(const char *name, const struct target *t, int fd)
{
    int error = socket_error(fd);

    if (error != 0)
        refused(name, t, error);
    else
        banner_say(name, t, fd);
    (void)close(fd);
}

static int udp_begin(const char *name, struct target *t)
{
    int fd = target_socket(t, SOCK_DGRAM);

    t->begun_us = now_us();
    if (fd >= 0 && connect(fd, &t->addr.any, t->len) == 0 && send(fd, "?", 1, 0) == 1)
        return fd;
    refused(name, t, fd < 0 ? -fd : errno);
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static void udp_end(const char *name, const struct target *t, int fd)
{
    char answer[32] = {0};

    if (recv(fd, answer, sizeof(answer) - 1, 0) < 0)
        refused(name, t, errno);
    else
        say_reached(name, t->text, "answered %s", answer);
    (void)close(fd);
}

static int left_ms(int64_t end_us)
{
    int64_t left_us = end_us - now_us();

    return left_us > 0 ? (int)(left_us / 1000 + 1) : 0;
}

/* All at once, and then whatever comes of it within the limit; looked at once more after it. */
static int attempt(const char *name, int argc, char *argv[], bool is_tcp)
{
    struct target targets[TARGETS_MAX];
    struct pollfd polls[TARGETS_MAX];
    int64_t end_us = now_us() + LIMIT_MS * 1000;
    int open_count = 0, wait_ms;

    if (argc > TARGETS_MAX)
        return -E2BIG;
    for (int i = 0; i < argc; i++) {
        if (!target_parse(argv[i], &targets[i]))
            return -EINVAL;
        polls[i].fd = is_tcp ? tcp_begin(name, &targets[i]) : udp_begin(name, &targets[i]);
        polls[i].events = is_tcp ? POLLOUT : POLLIN;
        open_count += polls[i].fd >= 0;
    }
    do {
        wait_ms = left_ms(end_us);
        if (poll(polls, (nfds_t)argc, wait_ms) <= 0)
            continue;
        for (int i = 0; i < argc; i++) {
            if (polls[i].fd < 0 || polls[i].revents == 0)
                continue;
            if (is_tcp)
                tcp_end(name, &targets[i], polls[i].fd);
            else
                udp_end(name, &targets[i], polls[i].fd);
            polls[i].fd = -1;
            open_count--;
        }
    } while (open_count > 0 && wait_ms > 0);
    for (int i = 0; i < argc; i++) {
        if (polls[i].fd < 0)
            continue;
        /* A datagram that was let out has reached what it can; a connection has no answer. */
        if (is_tcp)
            refused(name, &targets[i], ETIMEDOUT);
        else
            say_reached(name, targets[i].text, "sent");
        (void)close(polls[i].fd);
    }
    return 0;
}

int attack_tcp(const char *name, int argc, char *argv[])
{
    return attempt(name, argc, argv, true);
}

int attack_udp(const char *name, int argc, char *argv[])
{
    return attempt(name, argc, argv, false);
}

int attack_listen(const char *name, int argc, char *argv[])
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r = 0;

    (void)argc;
    (void)argv;
    if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 1) < 0)
        r = -errno;
    if (fd >= 0)
        (void)close(fd);
    say(name, "tcp", r);
    return 0;
}

/* Numbers: linux/socket.h, linux/in.h, linux/netlink.h; by number, for headers may be older. */
static const struct kind {
    const char *name;
    int family, type, protocol;
} kinds[] = {
    {"icmp", AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
    {"icmp6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6},
    {"raw", AF_INET, SOCK_RAW, IPPROTO_RAW},
    {"raw6", AF_INET6, SOCK_RAW, IPPROTO_RAW},
    {"packet", 17, SOCK_RAW, 0x0300},
    {"packet-dgram", 17, SOCK_DGRAM, 0x0300},
    {"sctp", AF_INET, SOCK_SEQPACKET, 132},
    {"udplite", AF_INET, SOCK_DGRAM, 136},
    {"dccp", AF_INET, 6, 33},
    {"l2tp", AF_INET, SOCK_DGRAM, 115},
    {"mptcp", AF_INET, SOCK_STREAM, 262},
    {"smc-ip", AF_INET, SOCK_STREAM, 256},
    {"smc", 43, SOCK_STREAM, 0},
    {"vsock", 40, SOCK_STREAM, 0},
    {"rxrpc", 33, SOCK_DGRAM, AF_INET},
    {"alg", 38, SOCK_SEQPACKET, 0},
    {"key", 15, SOCK_RAW, 2},
    {"can", 29, SOCK_RAW, 1},
    {"tipc", 30, SOCK_STREAM, 0},
    {"xdp", 44, SOCK_RAW, 0},
    {"netlink-diag", AF_NETLINK, SOCK_RAW, 4},
    {"netlink-audit", AF_NETLINK, SOCK_RAW, 9},
    {"netlink-netfilter", AF_NETLINK, SOCK_RAW, 12},
    {"netlink-uevent", AF_NETLINK, SOCK_RAW, 15},
    {"netlink-generic", AF_NETLINK, SOCK_RAW, 16},
};

static bool is_asked(const char *kind, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], kind) == 0)
            return true;
    }
    return argc == 0;
}

int attack_sockets(const char *name, int argc, char *argv[])
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        int fd;

        if (!is_asked(kinds[i].name, argc, argv))
            continue;
        fd = socket(kinds[i].family, kinds[i].type | SOCK_CLOEXEC, kinds[i].protocol);

        say(name, kinds[i].name, fd < 0 ? -errno : 0);
        if (fd >= 0)
            (void)close(fd);
    }
    return 0;
}

/* INET, INET6 and NETLINK are everybody's; UNIX is told. */
int attack_families(const char *name, int argc, char *argv[])
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
    char others[256] = "";
    bool has_unix = false;

    (void)argc;
    (void)argv;
    for (int family = 0; family < 64; family++) {
        bool is_open = false;

        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
            int fd = socket(family, types[i] | SOCK_CLOEXEC, 0);

            if (fd < 0)
                continue;
            is_open = true;
            (void)close(fd);
        }
        if (is_open && family == AF_UNIX)
            has_unix = true;
        else if (is_open && family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
            (void)snprintf(others + strlen(others), sizeof(others) - strlen(others), " %d", family);
    }
    if (others[0])
        say_reached(name, "others", "%s", others + 1);
    else
        say_refused(name, "others", 0, "0 to 63 but INET, INET6, NETLINK, UNIX");
    if (has_unix)
        say_reached(name, "unix", "%s", "");
    else
        say_refused(name, "unix", 0, "%s", "");
    return 0;
}

int attack_links(const char *name, int argc, char *argv[])
{
    FILE *dev = fopen("/proc/net/dev", "re");
    char text[512], others[256] = "";
    int count = 0;

    (void)argc;
    (void)argv;
    if (!dev)
        return -errno;
    for (int i = 0; fgets(text, sizeof(text), dev); i++) {
        char *colon = strchr(text, ':'), *word = text + strspn(text, " ");

        if (i < 2 || !colon)
            continue;
        *colon = '\0';
        count++;
        if (strcmp(word, "lo") != 0)
            (void)snprintf(others + strlen(others), sizeof(others) - strlen(others), " %s", word);
    }
    (void)fclose(dev);
    if (others[0])
        say_reached(name, "others", "%s", others + 1);
    else
        say_refused(name, "others", 0, "%d, lo alone", count);
    return 0;
}
