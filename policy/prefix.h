/* SPDX-License-Identifier: ISC */
/* prefix.h - networks and addresses as numbers and as text, and which are never the Internet. */
#ifndef ATELIER_PREFIX_H
#define ATELIER_PREFIX_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREFIX_TEXT_SIZE  52u  /* INET6_ADDRSTRLEN, "/128" and more than enough */
#define PREFIX_FAULT_SIZE 192u /* of a sentence */

/* An address is a prefix of all its bits. Bytes behind them are 0. */
struct prefix {
    uint8_t bytes[16]; /* network order; of IPv4 the first 4 */
    uint8_t bits;
    bool is_v6;
};

/**
 * prefix_parse() - "198.51.100.0/24", "2001:db8::/32"; an address is all of its bits
 * @ret_fault: On failure: what is wrong, with the text
 *
 * No name is looked up. Bits behind the prefix are an error, and so is an IPv4 address that is
 * written as an IPv6 one: it travels as IPv4, and meets the rules of that.
 *
 * Return: 0 or -EINVAL.
 */
int prefix_parse(const char *text, struct prefix *ret_prefix, char ret_fault[PREFIX_FAULT_SIZE]);

/* As prefix_parse() takes it; the bits are left out of an address. */
void prefix_text(const struct prefix *prefix, char ret_text[PREFIX_TEXT_SIZE]);

struct prefix prefix_of_v4(struct in_addr address);
struct prefix prefix_of_v6(const struct in6_addr *address);

/* All bits: one address. */
bool prefix_is_address(const struct prefix *prefix);

bool prefix_is_same(const struct prefix *a, const struct prefix *b);

/* Is all of @inner in @outer? */
bool prefix_is_within(const struct prefix *inner, const struct prefix *outer);

/* --- what nobody reaches, whatever a policy says */

/*
 * Of IPv4: IANA's special-purpose registry (RFC 6890) without the documentation networks
 * 192.0.2.0/24, 198.51.100.0/24 and 203.0.113.0/24: nobody is there, and the tests use them as the
 * Internet.
 *
 * X(prefix, what it is)
 */
#define PREFIX_REFUSED4(X)                                                                         \
    X("0.0.0.0/8", "this network; 0.0.0.0 is localhost")                                           \
    X("10.0.0.0/8", "private, RFC 1918")                                                           \
    X("100.64.0.0/10", "carrier NAT, RFC 6598; metadata of one cloud")                             \
    X("127.0.0.0/8", "loopback")                                                                   \
    X("169.254.0.0/16", "link-local, RFC 3927; metadata of most clouds")                           \
    X("172.16.0.0/12", "private, RFC 1918")                                                        \
    X("192.0.0.0/24", "protocol assignments, RFC 6890; metadata of one cloud")                     \
    X("192.168.0.0/16", "private, RFC 1918")                                                       \
    X("198.18.0.0/15", "benchmarks, RFC 2544")                                                     \
    X("224.0.0.0/3", "multicast and reserved; 255.255.255.255")

/* Of IPv6 all but this one: loopback, ULA, link-local, v4-mapped and NAT64 lie outside. */
#define PREFIX_GLOBAL6 "2000::/3"

/* Inside of it, and carrying an IPv4 address that may be private. */
#define PREFIX_REFUSED6(X)                                                                         \
    X("2001::/32", "Teredo, RFC 4380")                                                             \
    X("2002::/16", "6to4, RFC 3056")

/* Return: what it is that all of @prefix is refused for, static, or NULL. */
const char *prefix_refused(const struct prefix *prefix);

#endif
