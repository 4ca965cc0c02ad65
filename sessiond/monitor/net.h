/* SPDX-License-Identifier: ISC */
/* net.h - load the network rules into the kernel, with the host's own iptables. */
#ifndef ATELIER_NET_H
#define ATELIER_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/netrules.h"

#define NET_RESOLVERS_MAX 8

/* Addresses that runs may ask for names; kept as text, checked by net_resolver_add(). */
struct net_config {
    const char *resolvers[NET_RESOLVERS_MAX];
    size_t resolver_count;
};

/* The addresses behind a struct netrules_spec. */
struct net_resolvers {
    struct in_addr v4[NET_RESOLVERS_MAX];
    struct in6_addr v6[NET_RESOLVERS_MAX];
};

/* Return: 0, -EINVAL (no address), -E2BIG (too many). @text is borrowed. */
int net_resolver_add(struct net_config *config, const char *text);

/* Fill @spec, which borrows @res; jump_present and drop_present are false. */
void net_spec_make(const struct net_config *config, struct net_resolvers *res,
                   struct netrules_spec *spec);

/**
 * net_load() - Load both families, each in one atomic step
 * @config:       Resolvers
 * @ret_revision: Number that stands for the text that was loaded
 * @ret_had:      The jump was there already, in every family; may be NULL
 * @ret_what:     On failure: the program or family it is about, static
 *
 * The first load inserts the jump as line 1 of OUTPUT; a later one moves it back there in the same
 * transaction. IPv6 is left out only if the kernel has none.
 *
 * Return: 0; -ENOENT (no iptables), -EPROTO (iptables refused; its words are on stderr), -errno.
 */
int net_load(const struct net_config *config, uint32_t *ret_revision, bool *ret_had,
             const char **ret_what);

/**
 * net_unload() - Take everything away that net_load() made, in both families
 * @ret_what: On failure: the program it is about, static
 *
 * Must: nothing of a participant runs; nothing holds them afterwards. What is not there is fine;
 * not to be able to find out is a failure.
 *
 * Return: as net_load().
 */
int net_unload(const char **ret_what);

#endif
