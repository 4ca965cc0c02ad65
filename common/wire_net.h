/* SPDX-License-Identifier: ISC */
/*
 * wire_net.h - what sessiond tells sessiond-api of who reached what over the network.
 *
 *   api -> sessiond            sessiond -> api
 *   NET_GET                    NET_PAGE, as often as needed, in order; the last says so
 *
 * One question at a time: the next NET_GET follows the last page of the one before.
 */
#ifndef ATELIER_WIRE_NET_H
#define ATELIER_WIRE_NET_H

#include <stdint.h>

#include "common/wire.h"

/*
 * Why something was refused: enum, key in the API and in `atelier net`, what it means. Numbers are
 * stored in the kernel's sets and outlive an update of ours: add at the end.
 */
#define WIRE_NET_REASONS(X)                                                                        \
    X(OTHER, "other", "the administrator's own rules, or not known")                               \
    X(SOURCE_ROUTE, "source-route", "a packet with a source route")                                \
    X(REPLY, "reply", "an answer of a participant's own listener")                                 \
    X(LOCAL, "local", "an address of this host, loopback and public ones alike")                   \
    X(BROADCAST, "broadcast", "everybody in a network of this host")                               \
    X(MULTICAST, "multicast", "groups of hosts")                                                   \
    X(THIS_NETWORK, "this-network", "0.0.0.0/8")                                                   \
    X(RFC1918, "rfc1918", "private networks")                                                      \
    X(CGNAT, "cgnat", "networks behind a carrier's NAT")                                           \
    X(LOOPBACK, "loopback", "127.0.0.0/8")                                                         \
    X(LINK_LOCAL, "link-local", "169.254.0.0/16, with the metadata of most clouds")                \
    X(ASSIGNMENTS, "assignments", "192.0.0.0/24, protocol assignments")                            \
    X(BENCHMARK, "benchmark", "198.18.0.0/15")                                                     \
    X(RESERVED, "reserved", "224.0.0.0/3, multicast and reserved")                                 \
    X(NOT_GLOBAL, "not-global", "IPv6 outside 2000::/3")                                           \
    X(TEREDO, "teredo", "IPv4 inside 2001::/32")                                                   \
    X(SIX_TO_FOUR, "6to4", "IPv4 inside 2002::/16")                                                \
    X(PORT_25, "port-25", "mail")                                                                  \
    X(PROTOCOL, "protocol", "anything but TCP and UDP")                                            \
    X(CONNECTIONS, "connections", "the user has as many connections as one may have")              \
    X(DENY, "deny", "a network that atelier.conf refuses")                                         \
    X(ON_LINK, "on-link", "a network that this host is in")                                        \
    X(NOT_LISTED, "not-listed", "a destination that atelier.conf does not list")

enum wire_net_reason {
#define WIRE_NET_REASON_ENUM(id, key, text) WIRE_NET_REASON_##id,
    WIRE_NET_REASONS(WIRE_NET_REASON_ENUM)
#undef WIRE_NET_REASON_ENUM
        WIRE_NET_REASON__COUNT,
};

#define WIRE_NET_USERS_MAX   1024u /* of one answer; those with the most refusals */
#define WIRE_NET_REFUSED_MAX 1024u /* likewise */
#define WIRE_NET_RULES_MAX   256u
#define WIRE_NET_TEXT_SIZE   160u

#define WIRE_NET_PAGE_USERS   16u
#define WIRE_NET_PAGE_REFUSED 32u
#define WIRE_NET_PAGE_RULES   8u

struct wire_net_get {
    struct wire_head head;
    uint32_t uid; /* of one user, or 0: of all */
    uint32_t spare;
};

/*
 * One user. A try is the first packet of a connection (of UDP: of packets between the same two
 * ports), and each packet of an answer to somebody from outside.
 */
struct wire_net_user {
    uint32_t uid;
    uint32_t open;           /* TCP connections and connected UDP sockets at this moment */
    uint64_t opened;         /* tries let through */
    uint64_t refused;        /* tries refused: by our rules, or by what else the host has */
    uint64_t limited;        /* tries refused because of the number of connections */
    uint64_t listed;         /* of refused: those whose destination is known */
    uint64_t packets, bytes; /* let through */
};

struct wire_net_refused {
    uint32_t uid;
    uint32_t reason; /* enum wire_net_reason */
    uint8_t addr[16];
    uint8_t family;   /* 4: the first four bytes of addr; 6 */
    uint8_t protocol; /* IPPROTO_* */
    uint16_t port;    /* 0 for protocols without */
    uint32_t spare;
    uint64_t tries;
    uint64_t passed; /* more tries, which our rules should have refused: somebody took them away */
};

struct wire_net_rule {
    uint32_t family; /* 4 or 6 */
    uint32_t reason; /* enum wire_net_reason */
    uint64_t packets, bytes;
    char text[WIRE_NET_TEXT_SIZE]; /* as iptables-save prints it, without the chain */
};

/* What is known of it all; the same in each page of an answer. */
struct wire_net_sum {
    uint32_t error;       /* errno: nothing is known of users; 0 */
    uint32_t connections; /* the most that one user may have; 0: nobody is held to it */
    uint32_t is_cut;      /* there were more users, destinations or rules, or some not understood */
    uint32_t spare;
    int64_t since_us; /* Unix microseconds: counted from here on; 0: before sessiond started */
};

struct wire_net_page {
    struct wire_head head;
    uint32_t is_last;
    uint32_t user_count, refused_count, rule_count;
    struct wire_net_sum sum;
    struct wire_net_user users[WIRE_NET_PAGE_USERS];
    struct wire_net_refused refused[WIRE_NET_PAGE_REFUSED];
    struct wire_net_rule rules[WIRE_NET_PAGE_RULES];
};

#endif
