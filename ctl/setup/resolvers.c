/* SPDX-License-Identifier: ISC */
/* resolvers.c - who resolves names of hosts for participants: sessiond's option --resolver. */
#include "ctl/setup/resolvers.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "common/str.h"

#include "common/banned.h"

static_assert(RESOLVER_SIZE == INET6_ADDRSTRLEN, "room for every address");

/* The same questions as sessiond's own (policy/netrules.c): it would refuse to load its rules. */
bool resolver_is_valid(const char *text)
{
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, text, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 != 0 && ntohl(v4.s_addr) >> 29 != 7;
    return inet_pton(AF_INET6, text, &v6) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&v6) &&
           !IN6_IS_ADDR_MULTICAST(&v6) && !IN6_IS_ADDR_V4MAPPED(&v6);
}

static bool is_there(const struct resolvers *r, const char *text)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->address[i], text) == 0)
            return true;
    }
    return false;
}

void resolvers_read(const struct text *resolv_conf, struct resolvers *ret)
{
    struct resolvers r = {.count = 0};
    struct line line = {0};

    while (r.count < RESOLVERS_MAX && line_next(resolv_conf, &line)) {
        const char *end = line.start + line.size;
        struct word word = {.end = line.start};
        char text[RESOLVER_SIZE] = "";
        size_t size;

        if (!word_next(&word, end) || !word_is(&word, "nameserver") || !word_next(&word, end))
            continue;
        size = (size_t)(word.end - word.start);
        if (size >= sizeof(text))
            continue;
        memcpy(text, word.start, size);
        if (resolver_is_valid(text) && !is_there(&r, text))
            (void)str_copy(r.address[r.count++], sizeof(text), text);
    }
    *ret = r;
}
