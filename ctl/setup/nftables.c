/* SPDX-License-Identifier: ISC */
/* nftables.c - the table that iptables makes on its first use and never removes. */
#include "ctl/setup/nftables.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/cleanup.h"

#include "common/banned.h"

#define TABLE      "filter"
#define TIMEOUT_S  5
#define ANSWER_MAX 8192

enum filter_table filter_table_of(const struct text *saved)
{
    static const char *const chains[] = {":INPUT ACCEPT ", ":FORWARD ACCEPT ", ":OUTPUT ACCEPT "};
    enum filter_table found = FILTER_ABSENT;
    struct line line = {0};
    bool is_inside = false;

    while (line_next(saved, &line)) {
        bool is_known = false;

        if (line.size == 0 || line.start[0] == '#')
            continue;
        if (line.start[0] == '*') {
            is_inside =
                line.size == strlen("*" TABLE) && memcmp(line.start, "*" TABLE, line.size) == 0;
            if (is_inside)
                found = FILTER_EMPTY;
            continue;
        }
        if (!is_inside || (line.size == strlen("COMMIT") && memcmp(line.start, "COMMIT", 6) == 0))
            continue;
        for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
            is_known = is_known || (line.size > strlen(chains[i]) &&
                                    memcmp(line.start, chains[i], strlen(chains[i])) == 0);
        if (!is_known)
            return FILTER_USED;
    }
    return found;
}

bool rules_are_first(const struct text *saved)
{
    static const char rule[] = "-A OUTPUT ", jump[] = " -j ATELIER";
    struct line line = {0};
    bool is_filter = false;

    while (line_next(saved, &line)) {
        if (line.size > 0 && line.start[0] == '*')
            is_filter =
                line.size == strlen("*" TABLE) && memcmp(line.start, "*" TABLE, line.size) == 0;
        if (is_filter && line.size > strlen(rule) && memcmp(line.start, rule, strlen(rule)) == 0)
            return line.size > strlen(jump) &&
                   memcmp(line.start + line.size - strlen(jump), jump, strlen(jump)) == 0;
    }
    return false;
}

/* Changes come in a batch. Source: kernel net/netfilter/nfnetlink.c, nfnetlink_rcv_skb_batch(). */
struct batch {
    struct {
        struct nlmsghdr header;
        struct nfgenmsg family;
    } begin;
    struct {
        struct nlmsghdr header;
        struct nfgenmsg family;
        struct nlattr attribute;
        char name[8]; /* TABLE and its NUL, aligned to 4 */
    } remove;
    struct {
        struct nlmsghdr header;
        struct nfgenmsg family;
    } end;
};

static struct batch batch_of(uint8_t family)
{
    struct batch b = {0};

    b.begin.header = (struct nlmsghdr){.nlmsg_len = sizeof(b.begin),
                                       .nlmsg_type = NFNL_MSG_BATCH_BEGIN,
                                       .nlmsg_flags = NLM_F_REQUEST};
    b.begin.family.res_id = htons(NFNL_SUBSYS_NFTABLES);
    b.remove.header = (struct nlmsghdr){.nlmsg_len = sizeof(b.remove),
                                        .nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELTABLE,
                                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                                        .nlmsg_seq = 1};
    b.remove.family.nfgen_family = family;
    b.remove.attribute = (struct nlattr){.nla_len = sizeof(struct nlattr) + sizeof(TABLE),
                                         .nla_type = NFTA_TABLE_NAME};
    memcpy(b.remove.name, TABLE, sizeof(TABLE));
    b.end.header = (struct nlmsghdr){.nlmsg_len = sizeof(b.end),
                                     .nlmsg_type = NFNL_MSG_BATCH_END,
                                     .nlmsg_flags = NLM_F_REQUEST,
                                     .nlmsg_seq = 2};
    b.end.family.res_id = htons(NFNL_SUBSYS_NFTABLES);
    return b;
}

int filter_table_delete(uint8_t family)
{
    cleanup_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    struct batch batch = batch_of(family);
    union {
        struct nlmsghdr header;
        char bytes[ANSWER_MAX];
    } answer;
    struct nlmsgerr error;
    ssize_t n;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
        return -errno;
    if (sendto(fd, &batch, sizeof(batch), 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
        return -errno;
    n = recv(fd, &answer, sizeof(answer), 0);
    if (n < 0)
        return -errno;
    if ((size_t)n < sizeof(struct nlmsghdr) + sizeof(error) ||
        answer.header.nlmsg_type != NLMSG_ERROR)
        return -EPROTO;
    memcpy(&error, answer.bytes + sizeof(struct nlmsghdr), sizeof(error));
    return error.error;
}

bool rules_are_left(const struct text *saved)
{
    static const char chain[] = "ATELIER";
    struct line line = {0};

    while (line_next(saved, &line)) {
        const char *end = line.start + line.size;
        struct word word = {.end = line.start};

        /* ":ATELIER - [0:0]", "-A OUTPUT ... -j ATELIER"; ATELIER-NO as well. */
        while (word_next(&word, end)) {
            if (*word.start == ':')
                word.start++;
            if ((size_t)(word.end - word.start) >= strlen(chain) &&
                memcmp(word.start, chain, strlen(chain)) == 0)
                return true;
        }
    }
    return false;
}
