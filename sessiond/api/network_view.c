/* SPDX-License-Identifier: ISC */
/* network_view.c - rows of common/wire_net.h as JSON. */
#include "sessiond/api/network_view.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "common/banned.h"

static const char *reason_key(uint32_t reason)
{
    static const char *const keys[WIRE_NET_REASON__COUNT] = {
#define KEY(id, key, text) [WIRE_NET_REASON_##id] = key,
        WIRE_NET_REASONS(KEY)
#undef KEY
    };

    return reason < WIRE_NET_REASON__COUNT ? keys[reason] : keys[WIRE_NET_REASON_OTHER];
}

/* The kernel counts in 64 bits, JSON's integers here are signed. */
static json_int_t count(uint64_t n)
{
    return n < INT64_MAX ? (json_int_t)n : INT64_MAX;
}

static json_t *name_or_null(const char *user)
{
    return user ? json_string(user) : json_null();
}

json_t *json_of_net_user(const struct wire_net_user *row, const char *user)
{
    uint64_t told = row->listed + row->limited;

    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "user", name_or_null(user),
                     "uid", (json_int_t)row->uid, "open", (json_int_t)row->open, "let_through",
                     count(row->opened), "refused", count(row->refused), "over_limit",
                     count(row->limited), "not_listed",
                     count(row->refused > told ? row->refused - told : 0), "packets",
                     count(row->packets), "bytes", count(row->bytes));
}

static json_t *protocol(uint8_t number)
{
    char text[8];

    switch (number) {
    case IPPROTO_TCP:
        return json_string("tcp");
    case IPPROTO_UDP:
        return json_string("udp");
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        return json_string("icmp");
    default:
        (void)snprintf(text, sizeof(text), "%u", number);
        return json_string(text);
    }
}

json_t *json_of_net_refused(const struct wire_net_refused *row, const char *user)
{
    char text[INET6_ADDRSTRLEN];

    if (!inet_ntop(row->family == 4 ? AF_INET : AF_INET6, row->addr, text, sizeof(text)))
        return NULL;
    return json_pack("{s:o, s:I, s:s, s:o, s:o, s:s, s:I, s:I}", "user", name_or_null(user), "uid",
                     (json_int_t)row->uid, "address", text, "port",
                     row->port ? json_integer(row->port) : json_null(), "protocol",
                     protocol(row->protocol), "reason", reason_key(row->reason), "tries",
                     count(row->tries), "passed", count(row->passed));
}

json_t *json_of_net_rule(const struct wire_net_rule *row)
{
    return json_pack("{s:o, s:s, s:s, s:I, s:I}", "family",
                     row->family ? json_string(row->family == 4 ? "IPv4" : "IPv6") : json_null(),
                     "reason", reason_key(row->reason), "rule", row->text, "packets",
                     count(row->packets), "bytes", count(row->bytes));
}
