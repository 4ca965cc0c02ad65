/* SPDX-License-Identifier: ISC */
/* net_news.c - the kernel says when somebody changes the tables that our rules are in. */
#include "sessiond/monitor/net_news.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "policy/netcount.h"

#include "common/banned.h"

#define TABLE      "filter" /* of IPv4 and of IPv6 */
#define READ_SIZE  16384
#define READS_MAX  64
#define ALIGN(len) (((size_t)(len) + 3u) & ~(size_t)3u)

/* The name of the table is attribute 1 of everything that is in a table, and of tables. */
#define TABLE_ATTRIBUTE 1
_Static_assert(NFTA_TABLE_NAME == TABLE_ATTRIBUTE, "of a table");
_Static_assert(NFTA_CHAIN_TABLE == TABLE_ATTRIBUTE, "of a chain");
_Static_assert(NFTA_RULE_TABLE == TABLE_ATTRIBUTE, "of a rule");
_Static_assert(NFTA_SET_TABLE == TABLE_ATTRIBUTE, "of a set");
_Static_assert(NFTA_SET_ELEM_LIST_TABLE == TABLE_ATTRIBUTE, "of what is in a set");

int net_news_open(void)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK,
                                        .nl_groups = 1u << (NFNLGRP_NFTABLES - 1)};
    cleanup_close int fd =
        socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return fd_take(&fd);
}

/* @size: of what is behind @head, which is whole. True also of what is not understood. */
static bool is_ours(const struct nlmsghdr *head, const unsigned char *body, size_t size)
{
    struct nfgenmsg generic;
    struct nlattr attr;
    const char *table;

    if (NFNL_SUBSYS_ID(head->nlmsg_type) != NFNL_SUBSYS_NFTABLES)
        return true;
    /* The end of every transaction, whatever it was about. */
    if (NFNL_MSG_TYPE(head->nlmsg_type) == NFT_MSG_NEWGEN)
        return false;
    if (size < sizeof(generic))
        return true;
    memcpy(&generic, body, sizeof(generic));
    if (generic.nfgen_family == NFPROTO_INET)
        table = NETCOUNT_TABLE;
    else if (generic.nfgen_family == AF_INET || generic.nfgen_family == AF_INET6)
        table = TABLE;
    else
        return false;
    for (size_t at = ALIGN(sizeof(generic)); at + sizeof(attr) <= size; at += ALIGN(attr.nla_len)) {
        memcpy(&attr, body + at, sizeof(attr));
        if (attr.nla_len < sizeof(attr) || attr.nla_len > size - at)
            return true;
        if ((attr.nla_type & NLA_TYPE_MASK) != TABLE_ATTRIBUTE)
            continue;
        return attr.nla_len == sizeof(attr) + strlen(table) + 1 &&
               memcmp(body + at + sizeof(attr), table, strlen(table) + 1) == 0;
    }
    return true;
}

static bool has_ours(const unsigned char *buf, size_t size)
{
    struct nlmsghdr head;

    for (size_t at = 0; at + sizeof(head) <= size; at += ALIGN(head.nlmsg_len)) {
        memcpy(&head, buf + at, sizeof(head));
        if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > size - at)
            return true;
        if (is_ours(&head, buf + at + sizeof(head), head.nlmsg_len - sizeof(head)))
            return true;
    }
    return false;
}

bool net_news_read(int fd)
{
    unsigned char buf[READ_SIZE];
    bool changed = false;

    for (int i = 0; i < READS_MAX; i++) {
        ssize_t n = recv(fd, buf, sizeof(buf), MSG_TRUNC);

        if (n < 0 && errno == EAGAIN)
            break;
        /* ENOBUFS: there was more than the socket could hold. */
        if (n < 0 || (size_t)n > sizeof(buf))
            changed = true;
        else if (has_ours(buf, (size_t)n))
            changed = true;
    }
    return changed;
}
