/* SPDX-License-Identifier: ISC */
/*
 * netcount_seen.h - what the kernel has counted: the output of nft, of iptables-save, and the
 * kernel's lists of sockets, line by line, to the rows of common/wire_net.h.
 */
#ifndef ATELIER_NETCOUNT_SEEN_H
#define ATELIER_NETCOUNT_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire_net.h"

/* What one answer can tell; fixed, so that it fits into memory that two processes share. */
struct netcount_result {
    struct wire_net_sum sum;
    uint32_t user_count, refused_count, rule_count;
    struct wire_net_user users[WIRE_NET_USERS_MAX];
    struct wire_net_refused refused[WIRE_NET_REFUSED_MAX];
    struct wire_net_rule rules[WIRE_NET_RULES_MAX];
};

struct netcount_seen;

/* Return: 0 or -ENOMEM. */
int netcount_seen_new(struct netcount_seen **ret_seen);
void netcount_seen_free(struct netcount_seen *seen);

/* One line of `nft -n list table inet atelier`, from the first on. */
void netcount_see_table(struct netcount_seen *seen, const char *line);

/* One line of `iptables-save -c -t filter`; is_v6: of ip6tables-save. */
void netcount_see_rule(struct netcount_seen *seen, bool is_v6, const char *line);

/* One line of /proc/net/tcp, tcp6, udp or udp6. Source: proc(5). */
void netcount_see_socket(struct netcount_seen *seen, const char *line);

/**
 * netcount_tell() - The rows
 * @uid: Of one user, or 0: of all who tried something or have something open
 * @ret: Rows and is_cut are set, the rest of its sum is left alone
 *
 * The users with the most refusals come first, and the destinations that were tried most.
 */
void netcount_tell(struct netcount_seen *seen, uint32_t uid, struct netcount_result *ret);

static inline void netcount_seen_free_p(struct netcount_seen **seen)
{
    netcount_seen_free(*seen);
}
#define cleanup_netcount_seen __attribute__((cleanup(netcount_seen_free_p)))

#endif
