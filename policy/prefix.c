/* SPDX-License-Identifier: ISC */
/* prefix.c - networks and addresses as numbers and as text, and which are never the Internet. */
#include "policy/prefix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/str.h"

#include "common/banned.h"

static unsigned bits_of(bool is_v6)
{
    return is_v6 ? 128 : 32;
}

/* The bits behind the prefix become 0. Return: whether all of them were. */
static bool bits_clear(struct prefix *p)
{
    bool clear = true;

    for (unsigned i = 0; i < sizeof(p->bytes); i++) {
        unsigned kept = p->bits <= i * 8 ? 0 : p->bits - i * 8;
        uint8_t mask = (uint8_t)(kept >= 8 ? 0xffu : 0xff00u >> kept);

        if ((p->bytes[i] & ~mask) != 0)
            clear = false;
        p->bytes[i] = (uint8_t)(p->bytes[i] & mask);
    }
    return clear;
}

int prefix_parse(const char *text, struct prefix *ret_prefix, char ret_fault[PREFIX_FAULT_SIZE])
{
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    char address[INET6_ADDRSTRLEN] = "", meant[PREFIX_TEXT_SIZE];
    struct prefix p = {.is_v6 = strchr(text, ':') != NULL};
    uint32_t bits = bits_of(p.is_v6);

    if (n < sizeof(address))
        memcpy(address, text, n);
    if (inet_pton(p.is_v6 ? AF_INET6 : AF_INET, address, p.bytes) != 1) {
        (void)snprintf(ret_fault, PREFIX_FAULT_SIZE, "'%.60s' is no address and no network", text);
        return -EINVAL;
    }
    if (slash && str_to_u32(slash + 1, bits_of(p.is_v6), &bits) < 0) {
        (void)snprintf(ret_fault, PREFIX_FAULT_SIZE,
                       "'%.60s': behind the / is a number from 0 to %u", text, bits_of(p.is_v6));
        return -EINVAL;
    }
    p.bits = (uint8_t)bits;
    if (!bits_clear(&p)) {
        prefix_text(&p, meant);
        (void)snprintf(ret_fault, PREFIX_FAULT_SIZE,
                       "'%.60s' has bits behind the prefix; the network is %s", text, meant);
        return -EINVAL;
    }
    if (p.is_v6 && p.bits >= 96 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)p.bytes)) {
        (void)snprintf(ret_fault, PREFIX_FAULT_SIZE, "'%.60s' travels as IPv4: write it as that",
                       text);
        return -EINVAL;
    }
    *ret_prefix = p;
    return 0;
}

void prefix_text(const struct prefix *prefix, char ret_text[PREFIX_TEXT_SIZE])
{
    char address[INET6_ADDRSTRLEN] = "?";

    /* It cannot fail: the family is known, and there is room. */
    (void)inet_ntop(prefix->is_v6 ? AF_INET6 : AF_INET, prefix->bytes, address, sizeof(address));
    if (prefix_is_address(prefix))
        (void)snprintf(ret_text, PREFIX_TEXT_SIZE, "%s", address);
    else
        (void)snprintf(ret_text, PREFIX_TEXT_SIZE, "%s/%u", address, prefix->bits);
}

struct prefix prefix_of_v4(struct in_addr address)
{
    struct prefix p = {.bits = 32};

    memcpy(p.bytes, &address, sizeof(address));
    return p;
}

struct prefix prefix_of_v6(const struct in6_addr *address)
{
    struct prefix p = {.bits = 128, .is_v6 = true};

    memcpy(p.bytes, address, sizeof(*address));
    return p;
}

bool prefix_is_address(const struct prefix *prefix)
{
    return prefix->bits == bits_of(prefix->is_v6);
}

bool prefix_is_same(const struct prefix *a, const struct prefix *b)
{
    return a->is_v6 == b->is_v6 && a->bits == b->bits &&
           memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool prefix_is_within(const struct prefix *inner, const struct prefix *outer)
{
    struct prefix cut = *inner;

    if (inner->is_v6 != outer->is_v6 || inner->bits < outer->bits)
        return false;
    cut.bits = outer->bits;
    (void)bits_clear(&cut);
    return prefix_is_same(&cut, outer);
}

const char *prefix_refused(const struct prefix *prefix)
{
    static const struct {
        const char *text, *what;
    } rows[] = {
#define ROW(text, what) {text, what},
        PREFIX_REFUSED4(ROW) PREFIX_REFUSED6(ROW)
#undef ROW
    };
    char fault[PREFIX_FAULT_SIZE];
    struct prefix outer;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (prefix_parse(rows[i].text, &outer, fault) == 0 && prefix_is_within(prefix, &outer))
            return rows[i].what;
    }
    if (!prefix->is_v6)
        return NULL;
    /* Neither in it nor around it. */
    if (prefix_parse(PREFIX_GLOBAL6, &outer, fault) == 0 && !prefix_is_within(prefix, &outer) &&
        !prefix_is_within(&outer, prefix))
        return "outside of " PREFIX_GLOBAL6 ", which is all of the Internet";
    return NULL;
}
