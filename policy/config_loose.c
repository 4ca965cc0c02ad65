/* SPDX-License-Identifier: ISC */
/* config_loose.c - what of a policy is more than what is shipped. */
#include <errno.h>
#include <string.h>

#include "policy/policy.h"

#include "common/banned.h"

/* Larger is looser, but for times of processors and rates of disks, of which 0 is no limit. */
static bool is_looser(enum policy_key key, uint64_t value, uint64_t shipped)
{
    const bool has_none =
        policy_keys[key].type == POLICY_TIME_CPU || policy_keys[key].type == POLICY_RATE;

    if (has_none && (value == 0 || shipped == 0))
        return value == 0 && shipped != 0;
    return value > shipped;
}

static void profile_compare(const struct policy_profile *p, FILE *to)
{
    for (unsigned i = 0; i < POLICY_KEY__COUNT; i++) {
        enum policy_key key = (enum policy_key)i;
        uint64_t shipped = policy_keys[key].shipped[p->kind];
        char now[POLICY_VALUE_SIZE], then[POLICY_VALUE_SIZE];

        if (!policy_key_is_of(key, p->kind) || !is_looser(key, p->values[key], shipped))
            continue;
        policy_value_text(key, p->values[key], now);
        policy_value_text(key, shipped, then);
        (void)fprintf(to, "%s: %s is %s, shipped %s\n", p->name, policy_keys[key].name, now, then);
    }
    for (uint32_t i = 0; i < p->tree_count; i++)
        (void)fprintf(to, "%s: trees has %s, shipped none\n", p->name, p->trees[i]);
}

/* Lists and switches of the network only ever take away from what is shipped. */
static void net_compare(const struct policy_net *net, FILE *to)
{
    uint32_t shipped = policy_net_keys[POLICY_NET_KEY_CONNECTIONS].shipped;

    if (net->connections > shipped)
        (void)fprintf(to, "network: connections is %u, shipped %u\n", net->connections, shipped);
}

/* Any back end limits, or says that it does not; being without one is what can be chosen. */
static void disk_compare(const struct policy_disk *disk, FILE *to)
{
    if (disk->backend == POLICY_DISK_NONE)
        (void)fprintf(to, "disk: backend is %s, shipped %s\n", policy_disk_names[POLICY_DISK_NONE],
                      policy_disk_names[POLICY_DISK_AUTO]);
}

int policy_loosened(const struct policy *policy, FILE *to)
{
    for (uint32_t i = 0; i < policy->count; i++)
        profile_compare(&policy->profiles[i], to);
    net_compare(&policy->net, to);
    disk_compare(&policy->disk, to);
    return ferror(to) ? -EIO : 0;
}
