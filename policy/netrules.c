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
 *   5. Networks that are no part of the Internet, and those that the policy refuses.
 *   6. Port 25: a workshop that sends spam loses its network for everybody.
 *   7. TCP and UDP return; anything else is refused (ICMP, and transports we have not heard of).
 *      Where the policy lists what is open, only TCP and UDP to that. It is behind all refusals:
 *      no list opens what is refused.
 *
 * The jump must be line 1: "-o lo -j ACCEPT" or "ESTABLISHED -j ACCEPT" of other tools above it
 * would void it. So every load deletes and inserts it in the same transaction. Behind it, where the
 * host has a version 2 tree of control groups, is a second one: of every socket that was made in a
 * group of ours, whatever its UID has become (set-user-ID, a user namespace, subordinate ids).
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
#include <string.h>

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

#define CGROUP_BEGIN "-m cgroup --path "
#define CGROUP_END   " -j " NETRULES_CHAIN

/* About 50 lines, one for each network, two for each resolver and each destination. */
#define LINE_SIZE 112u
#define TEXT_SIZE                                                                                  \
    ((80u + NETRULES_DENIED_MAX + 2 * (NETRULES_RESOLVERS_MAX + NETRULES_ALLOWED_MAX)) *           \
         LINE_SIZE +                                                                               \
     4 * NETRULES_CGROUP_SIZE)

static const char *const refused4[] = {
#define ROW(text, what) text,
    PREFIX_REFUSED4(ROW)};
static const char *const refused6[] = {PREFIX_REFUSED6(ROW)
#undef ROW
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
    refuse(t, "! -d", PREFIX_GLOBAL6);
    for (size_t i = 0; i < sizeof(refused6) / sizeof(refused6[0]); i++)
        refuse(t, "-d", refused6[i]);
}

/* With its bits, as the programs print it: a rule of ours reads the same everywhere. */
static void destination_text(const struct prefix *p, char ret_text[PREFIX_TEXT_SIZE])
{
    size_t n;

    prefix_text(p, ret_text);
    n = strlen(ret_text);
    if (prefix_is_address(p))
        (void)snprintf(ret_text + n, PREFIX_TEXT_SIZE - n, "/%u", p->bits);
}

static void denied_refuse(struct text *t, enum netrules_family family,
                          const struct netrules_spec *spec)
{
    char text[PREFIX_TEXT_SIZE];

    for (size_t i = 0; i < spec->denied_count; i++) {
        if (spec->denied[i].is_v6 != (family == NETRULES_V6))
            continue;
        destination_text(&spec->denied[i], text);
        /* To be told from the others, in counts and by who reads the rules. */
        if (i + spec->link_count >= spec->denied_count)
            add(t, "-A " NETRULES_CHAIN " -d %s " NETRULES_ON_LINK "-j " NETRULES_CHAIN_NO "\n",
                text);
        else
            refuse(t, "-d", text);
    }
}

static void allowed_open(struct text *t, enum netrules_family family,
                         const struct netrules_spec *spec)
{
    static const char *const protocols[] = {"tcp", "udp"};
    char text[PREFIX_TEXT_SIZE];

    for (size_t i = 0; i < spec->allowed_count; i++) {
        const struct netrules_allowed *a = &spec->allowed[i];

        if (a->prefix.is_v6 != (family == NETRULES_V6))
            continue;
        destination_text(&a->prefix, text);
        for (size_t k = 0; k < 2; k++) {
            const char *p = protocols[k];

            if (a->port > 0)
                add(t, "-A " NETRULES_CHAIN " -d %s -p %s -m %s --dport %u -j RETURN\n", text, p, p,
                    a->port);
            else
                add(t, "-A " NETRULES_CHAIN " -d %s -p %s -j RETURN\n", text, p);
        }
    }
}

const char *netrules_cgroup_fault(const char *path)
{
    size_t n = strlen(path);

    if (n == 0 || strcmp(path, "/") == 0)
        return "it is the root, where everybody is";
    if (n >= NETRULES_CGROUP_SIZE)
        return "its path is too long";
    /* What needs no quotes in any version of the programs. */
    for (const char *at = path; *at; at++) {
        if (*at <= ' ' || *at > '~' || strchr("\"'\\`$#!;&|<>()*?[]{}", *at))
            return "its path has a character that is not possible in a rule";
    }
    return NULL;
}

bool netrules_stale(const char *line, char *lines, size_t size)
{
    static const char begin[] = "-A OUTPUT " CGROUP_BEGIN;
    size_t n = strcspn(line, "\n"), end = sizeof(CGROUP_END) - 1, used = strlen(lines);

    if (n <= sizeof(begin) - 1 + end || strncmp(line, begin, sizeof(begin) - 1) != 0 ||
        memcmp(line + n - end, CGROUP_END, end) != 0)
        return false;
    if (used + n + 2 <= size)
        (void)snprintf(lines + used, size - used, "-D%.*s\n", (int)(n - 2), line + 2);
    return true;
}

const char *netrules_jump(void)
{
    return JUMP;
}

const char *netrules_drop(void)
{
    return DROP;
}

/* Ours in OUTPUT, that are there. */
static void output_clear(struct text *t, const struct netrules_spec *spec)
{
    if (spec->jump_present)
        add(t, "-D OUTPUT " JUMP "\n");
    if (spec->cgroup_stale)
        add(t, "%s", spec->cgroup_stale);
    if (spec->drop_present)
        add(t, "-D OUTPUT " DROP "\n");
}

/* In their order. */
static void output_fill(struct text *t, const struct netrules_spec *spec)
{
    unsigned at = 1;

    add(t, "-I OUTPUT %u " JUMP "\n", at++);
    if (spec->cgroup)
        add(t, "-I OUTPUT %u " CGROUP_BEGIN "%s" CGROUP_END "\n", at++, spec->cgroup);
    add(t, "-I OUTPUT %u " DROP "\n", at);
}

static int spec_check(const struct netrules_spec *spec)
{
    if (spec->link_count > spec->denied_count)
        return -EINVAL;
    if (spec->denied_count > NETRULES_DENIED_MAX || spec->allowed_count > NETRULES_ALLOWED_MAX)
        return -E2BIG;
    return spec->cgroup && netrules_cgroup_fault(spec->cgroup) ? -EINVAL : 0;
}

int netrules_text(enum netrules_family family, const struct netrules_spec *spec, char **ret_text)
{
    cleanup_free char *buf = malloc(TEXT_SIZE);
    struct text t = {.buf = buf};
    int err;

    if (!buf)
        return -ENOMEM;
    err = spec_check(spec);
    if (err < 0)
        return err;
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
    denied_refuse(&t, family, spec);
    refuse(&t, "-p tcp -m tcp --dport", "25");
    if (spec->is_listed) {
        allowed_open(&t, family, spec);
        /* Of their own, so that counters can tell them from other protocols. */
        refuse(&t, "-p", "tcp");
        refuse(&t, "-p", "udp");
    } else {
        rule(&t, "-p", "tcp", "RETURN");
        rule(&t, "-p", "udp", "RETURN");
    }
    add(&t, "-A " NETRULES_CHAIN " -j " NETRULES_CHAIN_NO "\n");
    add(&t, "-A " NETRULES_CHAIN_NO " -p tcp -j REJECT --reject-with tcp-reset\n");
    add(&t, "-A " NETRULES_CHAIN_NO " -j REJECT --reject-with %s\n",
        family == NETRULES_V4 ? "icmp-admin-prohibited" : "icmp6-adm-prohibited");
    output_clear(&t, spec);
    output_fill(&t, spec);
    add(&t, "COMMIT\n");
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
    output_clear(&t, spec);
    /* Naming a chain makes it, if it is not there, and empties it: then both can be deleted. */
    if (!spec->jump_present && !spec->drop_present && !spec->cgroup_stale)
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
    first.cgroup_stale = NULL;
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
