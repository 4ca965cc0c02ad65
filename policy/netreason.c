/* SPDX-License-Identifier: ISC */
/* netreason.c - the name of each refusing rule of netrules.h. */
#include "policy/netreason.h"

#include <string.h>

#include "policy/netrules.h"

#include "common/banned.h"

#define BEGIN "-A " NETRULES_CHAIN " "
#define END   "-j " NETRULES_CHAIN_NO

/* What stands between BEGIN and END, a blank behind it. */
static const struct {
    const char *match;
    enum wire_net_reason reason;
} reasons[] = {
    {"", WIRE_NET_REASON_PROTOCOL},
    {"-m rt ", WIRE_NET_REASON_SOURCE_ROUTE},
    {"-m conntrack --ctdir REPLY ", WIRE_NET_REASON_REPLY},
    {"-p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK ", WIRE_NET_REASON_REPLY},
    {"-m addrtype --dst-type LOCAL ", WIRE_NET_REASON_LOCAL},
    {"-m addrtype --dst-type BROADCAST ", WIRE_NET_REASON_BROADCAST},
    {"-m addrtype --dst-type MULTICAST ", WIRE_NET_REASON_MULTICAST},
    {"-d 0.0.0.0/8 ", WIRE_NET_REASON_THIS_NETWORK},
    {"-d 10.0.0.0/8 ", WIRE_NET_REASON_RFC1918},
    {"-d 100.64.0.0/10 ", WIRE_NET_REASON_CGNAT},
    {"-d 127.0.0.0/8 ", WIRE_NET_REASON_LOOPBACK},
    {"-d 169.254.0.0/16 ", WIRE_NET_REASON_LINK_LOCAL},
    {"-d 172.16.0.0/12 ", WIRE_NET_REASON_RFC1918},
    {"-d 192.0.0.0/24 ", WIRE_NET_REASON_ASSIGNMENTS},
    {"-d 192.168.0.0/16 ", WIRE_NET_REASON_RFC1918},
    {"-d 198.18.0.0/15 ", WIRE_NET_REASON_BENCHMARK},
    {"-d 224.0.0.0/3 ", WIRE_NET_REASON_RESERVED},
    {"! -d 2000::/3 ", WIRE_NET_REASON_NOT_GLOBAL},
    {"-d 2001::/32 ", WIRE_NET_REASON_TEREDO},
    {"-d 2002::/16 ", WIRE_NET_REASON_SIX_TO_FOUR},
    {"-p tcp -m tcp --dport 25 ", WIRE_NET_REASON_PORT_25},
    {"-p tcp ", WIRE_NET_REASON_NOT_LISTED},
    {"-p udp ", WIRE_NET_REASON_NOT_LISTED},
};

/* A network: the one of the host, if it says so, else one of the configuration. */
static enum wire_net_reason network_reason(const char *match, size_t length)
{
    const size_t n = sizeof(NETRULES_ON_LINK) - 1;

    if (length > n && memcmp(match + length - n, NETRULES_ON_LINK, n) == 0)
        return WIRE_NET_REASON_ON_LINK;
    return WIRE_NET_REASON_DENY;
}

bool netreason_of(const char *line, enum wire_net_reason *ret_reason)
{
    const size_t begin = sizeof(BEGIN) - 1, end = sizeof(END) - 1;
    size_t length = strcspn(line, "\n");

    if (length < begin + end || strncmp(line, BEGIN, begin) != 0 ||
        strncmp(line + length - end, END, end) != 0)
        return false;
    line += begin;
    length -= begin + end;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (strlen(reasons[i].match) == length && memcmp(line, reasons[i].match, length) == 0) {
            *ret_reason = reasons[i].reason;
            return true;
        }
    }
    *ret_reason =
        strncmp(line, "-d ", 3) == 0 ? network_reason(line, length) : WIRE_NET_REASON_OTHER;
    return true;
}
