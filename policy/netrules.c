/* SPDX-License-Identifier: ISC */
/*
 * netrules.c - what participants may reach over the network.
 *
 * OUTPUT line 1 sends every packet of a socket made by a UID of ours to ATELIER; what ATELIER
 * returns meets the administrator's own rules, what it does not is rejected in ATELIER-NO. The
 * order inside ATELIER is the policy:
 *
 *   1. Packets with a source route: their address is the first hop, not where they go. IPv6: any
 *      routing header. IPv4: none here; the kernel keeps source routes for CAP_NET_RAW
 *      (doc/kernel.md), and syscalls.def refuses all options.
 *   2. REPLY packets: answers of a participant's own listener. Refused before the exceptions below,
 *      which would open inbound. Their own outgoing connections are ORIGINAL. SYN-ACKs are named
 *      again, because to conntrack a packet can be INVALID or untracked. SYN cookies have no owner
 *      and pass all of this: the rule behind the jump drops everybody's, and runs, which have no
 *      use for it, may not listen at all (syscalls.def).
 *   3. Resolvers, port 53 alone. Before the addresses: they are often 127.0.0.53 or private.
 *   4. Every address of this host, broadcast, multicast: by the kernel's routing table, because
 *      lists of addresses forget the public ones.
 *   5. Networks that are no part of the Internet.
 *   6. Port 25: a workshop that sends spam loses its network for everybody.
 *   7. TCP and UDP return; anything else is refused (ICMP, and transports we have not heard of).
 *
 * The jump must be line 1: "-o lo -j ACCEPT" or "ESTABLISHED -j ACCEPT" of other tools above it
 * would void it. So every load deletes and inserts it in the same transaction.
 *
 * REJECT, not DROP, and tcp-reset for TCP: clients fail at once; IPv6's default REJECT and MPTCP
 * hang for the whole time-out (measured).
 */
#include "policy/netrules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/ids.h"

#include "common/banned.h"

#define STR_(x) #x
/* ID_NET_MIN ends in "u": names of the range are checked against ids.h below. */
#define NET_MIN 10000
#define NET_MAX 59999
_Static_assert(ID_NET_MIN == NET_MIN, "the range of the rules is that of ids.h");
_Static_assert(ID_NET_MAX == NET_MAX, "the range of the rules is that of ids.h");
#define RANGE_(a, b) STR_(a) "-" STR_(b)
#define JUMP         "-m owner --uid-owner " RANGE_(NET_MIN, NET_MAX) " -j " NETRULES_CHAIN

/* Source: iptables-extensions(8), owner. Cookies have no socket (tcp_output.c, tcp_make_synack). */
#define DROP "-p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK -m owner ! --socket-exists -j DROP"

/* Longest text: about 50 lines of at most 100 bytes, twice 2 lines for each resolver. */
#define TEXT_SIZE 16384u

/*
 * IANA's special-purpose registry (RFC 6890) without the documentation networks 192.0.2.0/24,
 * 198.51.100.0/24 and 203.0.113.0/24: nobody is there, and the tests use them as the Internet.
 */
static const char *const refused4[] = {
    "0.0.0.0/8",      /* this network; 0.0.0.0 is localhost */
    "10.0.0.0/8",     /* private, RFC 1918 */
    "100.64.0.0/10",  /* carrier NAT, RFC 6598; metadata of one cloud */
    "127.0.0.0/8",    /* loopback */
    "169.254.0.0/16", /* link-local, RFC 3927; metadata of most clouds */
    "172.16.0.0/12",  /* private, RFC 1918 */
    "192.0.0.0/24",   /* protocol assignments, RFC 6890; metadata of one cloud */
    "192.168.0.0/16", /* private, RFC 1918 */
    "198.18.0.0/15",  /* benchmarks, RFC 2544 */
    "224.0.0.0/3",    /* multicast and reserved; 255.255.255.255 */
};

/* All global unicast; loopback, ULA, link-local, v4-mapped and NAT64 lie outside. */
#define GLOBAL6 "2000::/3"
/* Inside 2000::/3, and carrying an IPv4 address that may be private. */
static const char *const refused6[] = {
    "2001::/32", /* Teredo, RFC 4380 */
    "2002::/16", /* 6to4, RFC 3056 */
};

struct text {
    char *buf;
    size_t used;
    bool overflow;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->buf + t->used, TEXT_SIZE - t->used, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= TEXT_SIZE - t->used) {
        t->overflow = true;
        return;
    }
    t->used += (size_t)n;
}

static void rule(struct text *t, const char *match, const char *value, const char *target)
{
    add(t, "-A " NETRULES_CHAIN " %s%s%s -j %s\n", match, value ? " " : "", value ? value : "",
        target);
}

static void refuse(struct text *t, const char *match, const char *value)
{
    rule(t, match, value, NETRULES_CHAIN_NO);
}

static int resolver_open(struct text *t, int af, const void *addr)
{
    char host[INET6_ADDRSTRLEN];

    if (!inet_ntop(af, addr, host, sizeof(host)))
        return -errno;
    add(t, "-A " NETRULES_CHAIN " -d %s/%d -p udp -m udp --dport 53 -j RETURN\n", host,
        af == AF_INET ? 32 : 128);
    add(t, "-A " NETRULES_CHAIN " -d %s/%d -p tcp -m tcp --dport 53 -j RETURN\n", host,
        af == AF_INET ? 32 : 128);
    return 0;
}

/* 0.0.0.0, multicast and reserved addresses open more, or other things, than a resolver. */
static bool can_be_resolver4(struct in_addr a)
{
    uint32_t host = ntohl(a.s_addr);

    return (host >> 24) != 0 && (host >> 29) != 7;
}

static bool can_be_resolver6(const struct in6_addr *a)
{
    return !IN6_IS_ADDR_UNSPECIFIED(a) && !IN6_IS_ADDR_MULTICAST(a) && !IN6_IS_ADDR_V4MAPPED(a);
}

static int resolvers4_open(struct text *t, const struct netrules_spec *spec)
{
    int err = 0;

    if (spec->resolver4_count > NETRULES_RESOLVERS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < spec->resolver4_count && err == 0; i++)
        err = can_be_resolver4(spec->resolvers4[i])
                  ? resolver_open(t, AF_INET, &spec->resolvers4[i])
                  : -EINVAL;
    return err;
}

static int resolvers6_open(struct text *t, const struct netrules_spec *spec)
{
    int err = 0;

    if (spec->resolver6_count > NETRULES_RESOLVERS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < spec->resolver6_count && err == 0; i++)
        err = can_be_resolver6(&spec->resolvers6[i])
                  ? resolver_open(t, AF_INET6, &spec->resolvers6[i])
                  : -EINVAL;
    return err;
}

static void addresses4_refuse(struct text *t)
{
    refuse(t, "-m addrtype --dst-type", "LOCAL");
    refuse(t, "-m addrtype --dst-type", "BROADCAST");
    refuse(t, "-m addrtype --dst-type", "MULTICAST");
    for (size_t i = 0; i < sizeof(refused4) / sizeof(refused4[0]); i++)
        refuse(t, "-d", refused4[i]);
}

static void addresses6_refuse(struct text *t)
{
    refuse(t, "-m addrtype --dst-type", "LOCAL");
    refuse(t, "-m addrtype --dst-type", "MULTICAST");
    refuse(t, "! -d", GLOBAL6);
    for (size_t i = 0; i < sizeof(refused6) / sizeof(refused6[0]); i++)
        refuse(t, "-d", refused6[i]);
}

const char *netrules_jump(void)
{
    return JUMP;
}

const char *netrules_drop(void)
{
    return DROP;
}

int netrules_text(enum netrules_family family, const struct netrules_spec *spec, char **ret_text)
{
    cleanup_free char *buf = malloc(TEXT_SIZE);
    struct text t = {.buf = buf};
    int err;

    if (!buf)
        return -ENOMEM;
    /* With --noflush, naming a chain empties it, inside the transaction. */
    add(&t, "*filter\n:" NETRULES_CHAIN " - [0:0]\n:" NETRULES_CHAIN_NO " - [0:0]\n");
    /* A routing header hides where a packet goes. The kernel refuses IPv4's source routes itself.
     */
    if (family == NETRULES_V6)
        refuse(&t, "-m", "rt");
    refuse(&t, "-m conntrack --ctdir", "REPLY");
    refuse(&t, "-p tcp -m tcp --tcp-flags", "SYN,ACK SYN,ACK");
    err = family == NETRULES_V4 ? resolvers4_open(&t, spec) : resolvers6_open(&t, spec);
    if (err < 0)
        return err;
    if (family == NETRULES_V4)
        addresses4_refuse(&t);
    else
        addresses6_refuse(&t);
    refuse(&t, "-p tcp -m tcp --dport", "25");
    rule(&t, "-p", "tcp", "RETURN");
    rule(&t, "-p", "udp", "RETURN");
    add(&t, "-A " NETRULES_CHAIN " -j " NETRULES_CHAIN_NO "\n");
    add(&t, "-A " NETRULES_CHAIN_NO " -p tcp -j REJECT --reject-with tcp-reset\n");
    add(&t, "-A " NETRULES_CHAIN_NO " -j REJECT --reject-with %s\n",
        family == NETRULES_V4 ? "icmp-admin-prohibited" : "icmp6-adm-prohibited");
    if (spec->jump_present)
        add(&t, "-D OUTPUT " JUMP "\n");
    if (spec->drop_present)
        add(&t, "-D OUTPUT " DROP "\n");
    add(&t, "-I OUTPUT 1 " JUMP "\n-I OUTPUT 2 " DROP "\nCOMMIT\n");
    if (t.overflow)
        return -ENOMEM;
    *ret_text = buf;
    buf = NULL;
    return 0;
}

int netrules_removal(const struct netrules_spec *spec, char **ret_text)
{
    cleanup_free char *buf = malloc(TEXT_SIZE);
    struct text t = {.buf = buf};

    if (!buf)
        return -ENOMEM;
    add(&t, "*filter\n");
    if (spec->jump_present)
        add(&t, "-D OUTPUT " JUMP "\n");
    if (spec->drop_present)
        add(&t, "-D OUTPUT " DROP "\n");
    /* Naming a chain makes it, if it is not there, and empties it: then both can be deleted. */
    if (!spec->jump_present && !spec->drop_present)
        add(&t, ":" NETRULES_CHAIN " - [0:0]\n:" NETRULES_CHAIN_NO " - [0:0]\n"
                "-X " NETRULES_CHAIN "\n-X " NETRULES_CHAIN_NO "\n");
    add(&t, "COMMIT\n");
    if (t.overflow)
        return -ENOMEM;
    *ret_text = buf;
    buf = NULL;
    return 0;
}

/* FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint32_t fnv_add(uint32_t hash, const char *s)
{
    for (; *s; s++)
        hash = (hash ^ (unsigned char)*s) * 16777619u;
    return hash;
}

int netrules_revision(const struct netrules_spec *spec, uint32_t *ret_revision)
{
    cleanup_free char *text4 = NULL;
    cleanup_free char *text6 = NULL;
    struct netrules_spec first = *spec;
    uint32_t hash = 2166136261u;
    int err;

    first.jump_present = first.drop_present = false;
    err = netrules_text(NETRULES_V4, &first, &text4);
    if (err < 0)
        return err;
    err = netrules_text(NETRULES_V6, &first, &text6);
    if (err < 0)
        return err;
    hash = fnv_add(fnv_add(hash, text4), text6);
    *ret_revision = hash ? hash : 1;
    return 0;
}
