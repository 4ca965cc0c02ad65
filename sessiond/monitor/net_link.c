/* SPDX-License-Identifier: ISC */
/* net_link.c - the networks that the host is in, by rtnetlink(7). */
#include "sessiond/monitor/net_link.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

#define READ_SIZE  32768
#define READS_MAX  64
#define DUMP_MAX   4096 /* reads of one dump: some 400,000 routes */
#define ANSWER_S   2
#define LEAST_V4   8
#define LEAST_V6   16
#define ALIGN(len) (((size_t)(len) + 3u) & ~(size_t)3u)

static int socket_open(uint32_t groups, int flags)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    cleanup_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_ROUTE);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return fd_take(&fd);
}

int net_link_open(void)
{
    /* A link that goes down takes IPv4 routes with it that nobody reports. */
    return socket_open(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR |
                           RTMGRP_IPV6_ROUTE,
                       SOCK_NONBLOCK);
}

bool net_link_read(int fd)
{
    unsigned char buf[READ_SIZE];
    bool changed = false;

    for (int i = 0; i < READS_MAX; i++) {
        ssize_t n = recv(fd, buf, sizeof(buf), MSG_TRUNC);

        if (n < 0 && errno == EAGAIN)
            break;
        changed = true;
        if (n < 0 && errno != ENOBUFS && errno != EINTR)
            break;
    }
    return changed;
}

/* --- one route ----------------------------------------------------------------------------- */

/* Has one of the ways of a route no gateway? */
static bool has_direct(const unsigned char *at, size_t size)
{
    struct rtnexthop hop;

    while (size >= sizeof(hop)) {
        bool has_gateway = false;
        struct rtattr attr;
        size_t used;

        memcpy(&hop, at, sizeof(hop));
        if (hop.rtnh_len < sizeof(hop) || hop.rtnh_len > size)
            return true;
        for (size_t k = ALIGN(sizeof(hop)); k + sizeof(attr) <= hop.rtnh_len;
             k += ALIGN(attr.rta_len)) {
            memcpy(&attr, at + k, sizeof(attr));
            if (attr.rta_len < sizeof(attr))
                return true;
            has_gateway = has_gateway || attr.rta_type == RTA_GATEWAY || attr.rta_type == RTA_VIA;
        }
        if (!has_gateway)
            return true;
        used = ALIGN(hop.rtnh_len);
        if (used >= size)
            break;
        at += used;
        size -= used;
    }
    return false;
}

bool net_link_route(const struct nlmsghdr *head, struct prefix *ret_prefix)
{
    const unsigned char *body = (const unsigned char *)head + ALIGN(sizeof(*head));
    size_t size = head->nlmsg_len, at = ALIGN(sizeof(*head)) + ALIGN(sizeof(struct rtmsg));
    struct prefix p = {0};
    bool is_direct = true;
    struct rtmsg route;
    struct rtattr attr;

    if (head->nlmsg_type != RTM_NEWROUTE || size < at)
        return false;
    memcpy(&route, body, sizeof(route));
    p.is_v6 = route.rtm_family == AF_INET6;
    p.bits = route.rtm_dst_len;
    if (route.rtm_type != RTN_UNICAST || (route.rtm_flags & RTM_F_CLONED) != 0 ||
        (route.rtm_family != AF_INET && route.rtm_family != AF_INET6) ||
        p.bits > (p.is_v6 ? 128 : 32) || p.bits < (p.is_v6 ? LEAST_V6 : LEAST_V4))
        return false;
    for (; at + sizeof(attr) <= size; at += ALIGN(attr.rta_len)) {
        const unsigned char *data = (const unsigned char *)head + at + sizeof(attr);

        memcpy(&attr, (const unsigned char *)head + at, sizeof(attr));
        if (attr.rta_len < sizeof(attr) || attr.rta_len > size - at)
            return false;
        if (attr.rta_type == RTA_DST && attr.rta_len - sizeof(attr) == (p.is_v6 ? 16u : 4u))
            memcpy(p.bytes, data, attr.rta_len - sizeof(attr));
        if (attr.rta_type == RTA_GATEWAY || attr.rta_type == RTA_VIA)
            is_direct = false;
        if (attr.rta_type == RTA_MULTIPATH && !has_direct(data, attr.rta_len - sizeof(attr)))
            is_direct = false;
    }
    if (!is_direct || prefix_refused(&p))
        return false;
    *ret_prefix = p;
    return true;
}

/* --- all of them --------------------------------------------------------------------------- */

struct list {
    struct prefix *prefixes;
    size_t count, room;
};

static int by_value(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct prefix));
}

static void list_add(struct list *l, const struct prefix *p)
{
    for (size_t i = 0; i < l->count; i++) {
        if (prefix_is_within(p, &l->prefixes[i]))
            return;
    }
    /* What is in it is no longer needed. */
    for (size_t i = 0; i < l->count;) {
        if (prefix_is_within(&l->prefixes[i], p))
            l->prefixes[i] = l->prefixes[--l->count];
        else
            i++;
    }
    if (l->count < l->room)
        l->prefixes[l->count++] = *p;
}

/* Return: 1 at the end of the dump, 0, or a negative errno. */
static int part_take(const unsigned char *buf, size_t size, struct list *l)
{
    struct nlmsghdr head;

    for (size_t at = 0; at + sizeof(head) <= size; at += ALIGN(head.nlmsg_len)) {
        struct prefix p;

        memcpy(&head, buf + at, sizeof(head));
        if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > size - at)
            return -EBADMSG;
        if ((head.nlmsg_flags & NLM_F_DUMP_INTR) != 0)
            return -EAGAIN;
        if (head.nlmsg_type == NLMSG_DONE)
            return 1;
        if (head.nlmsg_type == NLMSG_ERROR) {
            struct nlmsgerr e;

            if (head.nlmsg_len < sizeof(head) + sizeof(e))
                return -EBADMSG;
            memcpy(&e, buf + at + sizeof(head), sizeof(e));
            return e.error < 0 ? e.error : -EBADMSG;
        }
        /* Parts of a message are aligned as the buffer is. */
        if (net_link_route((const struct nlmsghdr *)(const void *)(buf + at), &p))
            list_add(l, &p);
    }
    return 0;
}

static int family_list(int fd, int family, struct list *l)
{
    const struct {
        struct nlmsghdr head;
        struct rtmsg route;
    } ask = {.head = {.nlmsg_len = sizeof(ask),
                      .nlmsg_type = RTM_GETROUTE,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
             .route = {.rtm_family = (unsigned char)family}};
    _Alignas(struct nlmsghdr) unsigned char buf[READ_SIZE];
    int r = 0;

    if (send(fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask))
        return -errno;
    for (int i = 0; r == 0 && i < DUMP_MAX; i++) {
        ssize_t n = recv(fd, buf, sizeof(buf), MSG_TRUNC);

        if (n < 0)
            return -errno;
        r = (size_t)n > sizeof(buf) ? -EMSGSIZE : part_take(buf, (size_t)n, l);
    }
    return r == 1 ? 0 : r == 0 ? -E2BIG : r;
}

static int list_once(struct list *l)
{
    const struct timeval tv = {.tv_sec = ANSWER_S};
    cleanup_close int fd = socket_open(0, 0);
    int r;

    if (fd < 0)
        return fd;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) < 0)
        return -errno;
    r = family_list(fd, AF_INET, l);
    return r == 0 ? family_list(fd, AF_INET6, l) : r;
}

int net_link_list(struct prefix *ret, size_t room)
{
    struct list l;
    int r = -EAGAIN;

    /* The tables may change while they are read. */
    for (int i = 0; r == -EAGAIN && i < 5; i++) {
        l = (struct list){.prefixes = ret, .room = room};
        r = list_once(&l);
    }
    if (r < 0)
        return r;
    qsort(ret, l.count, sizeof(*ret), by_value);
    return (int)l.count;
}
