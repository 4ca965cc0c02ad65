/* SPDX-License-Identifier: ISC */
/* net.h - load the network rules into the kernel, with the host's own iptables. */
#ifndef ATELIER_NET_H
#define ATELIER_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/names.h"
#include "policy/netrules.h"
#include "policy/policy.h"

#define NET_RESOLVERS_MAX 8
#define NET_LINKS_MAX     (NETRULES_DENIED_MAX - POLICY_DENY_MAX)

/* What the rules are made of. What is not known stays empty. */
struct net_config {
    /* Addresses that runs may ask for names; kept as text, checked by net_resolver_add(). */
    const char *resolvers[NET_RESOLVERS_MAX];
    size_t resolver_count;
    const struct policy_net *policy; /* borrowed */
    /* Networks that the host is in, less those that are always refused (net_link.h); one too many
     * where there are more than the rules can have. */
    struct prefix links[NET_LINKS_MAX + 1];
    size_t link_count;
    struct names names;
    /* A directory of the version 2 tree; the groups of users are in it. */
    const char *cgroup_dir;
    bool has_no_cgroup_match; /* the host's iptables or kernel has no such match */
};

/* What a struct netrules_spec borrows. */
struct net_room {
    struct in_addr v4[NET_RESOLVERS_MAX];
    struct in6_addr v6[NET_RESOLVERS_MAX];
    struct prefix denied[NETRULES_DENIED_MAX + 1];
    struct netrules_allowed allowed[NETRULES_ALLOWED_MAX];
    char cgroup[NETRULES_CGROUP_SIZE];
    uint64_t cgroup_id; /* of the group that the path is now, 0: there is none in the rules */
};

/* Return: 0, -EINVAL (no address), -E2BIG (too many). @text is borrowed. */
int net_resolver_add(struct net_config *config, const char *text);

/* Fill @spec, which borrows @room; nothing of ours is present. */
void net_spec_make(const struct net_config *config, struct net_room *room,
                   struct netrules_spec *spec);

/* What is refused besides what always is: of the policy, and of the host's interfaces if it says
 * so. Return: how many. */
size_t net_denied(const struct net_config *config,
                  struct prefix ret_denied[NETRULES_DENIED_MAX + 1]);

/**
 * net_load() - Load both families, each in one atomic step
 * @config:       has_no_cgroup_match is set if the host has none: then the rules are loaded without
 * @ret_revision: Number that stands for the text that was loaded
 * @ret_cgroup:   The group that the second jump is about, as a number of the kernel; 0: none
 * @ret_had:      The jump was there already, in every family; may be NULL
 * @ret_what:     On failure: the program or family it is about, static
 *
 * The first load inserts the jump as line 1 of OUTPUT; a later one moves it back there in the same
 * transaction. IPv6 is left out only if the kernel has none.
 *
 * Return: 0; -ENOENT (no iptables), -EPROTO (iptables refused; its words are on stderr), -E2BIG
 * (more networks than there is room for), -errno.
 */
int net_load(struct net_config *config, uint32_t *ret_revision, uint64_t *ret_cgroup, bool *ret_had,
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
