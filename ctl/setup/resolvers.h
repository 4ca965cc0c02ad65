/* SPDX-License-Identifier: ISC */
/* resolvers.h - who resolves names of hosts for participants: sessiond's option --resolver. */
#ifndef ATELIER_CTL_SETUP_RESOLVERS_H
#define ATELIER_CTL_SETUP_RESOLVERS_H

#include <stdbool.h>

#include "ctl/setup/text.h"

/* As many as sessiond takes. Source: sessiond(8). */
#define RESOLVERS_MAX 8u
#define RESOLVER_SIZE 46u /* INET6_ADDRSTRLEN */

struct resolvers {
    char address[RESOLVERS_MAX][RESOLVER_SIZE];
    size_t count;
};

/* An address of a host, in digits, that sessiond takes: not 0.0.0.0, multicast and the like. */
bool resolver_is_valid(const char *text);

/* The nameservers of a resolv.conf(5) that are valid, in order, each once. */
void resolvers_read(const struct text *resolv_conf, struct resolvers *ret);

#endif
