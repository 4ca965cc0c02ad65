/* SPDX-License-Identifier: ISC */
/* policy.c - the policy of a host: what is shipped, and which profile holds for whom. */
#include "policy/policy.h"

#include <string.h>

#include "common/banned.h"

const struct policy_key_info policy_keys[POLICY_KEY__COUNT] = {
#define KEY_INFO(id, name, type, kinds, least, most, run, login, user, text)                       \
    [POLICY_KEY_##id] = {name, type, kinds, least, most, {run, login, user}, text},
    POLICY_KEYS(KEY_INFO)
#undef KEY_INFO
};

const char *const policy_limit_names[WIRE_LIMIT__COUNT] = {
#define LIMIT_NAME(id, key) [WIRE_LIMIT_BIT_##id] = key,
    WIRE_LIMITS(LIMIT_NAME)
#undef LIMIT_NAME
};

const char *const policy_kind_names[POLICY_KIND__COUNT] = {
#define KIND_NAME(id, name) [POLICY_##id] = name,
    POLICY_KINDS(KIND_NAME)
#undef KIND_NAME
};

const struct policy_net_key_info policy_net_keys[POLICY_NET_KEY__COUNT] = {
#define NET_KEY_INFO(id, name, type, least, most, shipped, text)                                   \
    [POLICY_NET_KEY_##id] = {name, type, least, most, shipped, text},
    POLICY_NET_KEYS(NET_KEY_INFO)
#undef NET_KEY_INFO
};

static void net_defaults(struct policy_net *net)
{
    const struct policy_net_key_info *keys = policy_net_keys;

    net->deny_on_link = keys[POLICY_NET_KEY_DENY_ON_LINK].shipped != 0;
    net->egress = (enum policy_egress)keys[POLICY_NET_KEY_EGRESS].shipped;
    net->connections = keys[POLICY_NET_KEY_CONNECTIONS].shipped;
}

const char *const policy_disk_names[POLICY_DISK__COUNT] = {
#define DISK_NAME(id, name) [POLICY_DISK_##id] = name,
    POLICY_DISK_BACKENDS(DISK_NAME)
#undef DISK_NAME
};

void policy_defaults(struct policy *ret_policy)
{
    memset(ret_policy, 0, sizeof(*ret_policy));
    ret_policy->count = POLICY_KIND__COUNT;
    ret_policy->disk.idle_ms = POLICY_DISK_IDLE_MS;
    for (unsigned kind = 0; kind < POLICY_KIND__COUNT; kind++) {
        struct policy_profile *p = &ret_policy->profiles[kind];

        (void)str_copy(p->name, sizeof(p->name), policy_kind_names[kind]);
        p->kind = (enum policy_kind)kind;
        for (unsigned key = 0; key < POLICY_KEY__COUNT; key++)
            p->values[key] = policy_keys[key].shipped[kind];
    }
    net_defaults(&ret_policy->net);
}

static bool has_id(const uint32_t *ids, uint32_t count, uint32_t id)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* The group of @gids (or the private one, which has the user's number) that a profile names. */
static bool names_group(const struct policy_profile *p, uint32_t uid, const uint32_t *gids,
                        size_t count, uint32_t *ret_gid)
{
    *ret_gid = uid;
    if (has_id(p->gids, p->gid_count, uid))
        return true;
    for (size_t i = 0; i < count; i++) {
        *ret_gid = gids[i];
        if (has_id(p->gids, p->gid_count, gids[i]))
            return true;
    }
    return false;
}

const struct policy_profile *policy_find(const struct policy *policy, enum policy_kind kind,
                                         uint32_t uid, const uint32_t *gids, size_t count,
                                         enum policy_why *ret_why, uint32_t *ret_gid)
{
    const struct policy_profile *found = NULL;
    enum policy_why why = POLICY_WHY_SHIPPED;
    uint32_t gid = 0, by;

    for (uint32_t i = POLICY_KIND__COUNT; i < policy->count; i++) {
        const struct policy_profile *p = &policy->profiles[i];

        if (p->kind != kind)
            continue;
        if (has_id(p->uids, p->uid_count, uid)) {
            found = p;
            why = POLICY_WHY_UID;
            break;
        }
        if (!found && names_group(p, uid, gids, count, &by)) {
            found = p;
            why = POLICY_WHY_GID;
            gid = by;
        }
    }
    if (ret_why)
        *ret_why = why;
    if (ret_gid && why == POLICY_WHY_GID)
        *ret_gid = gid;
    return found ? found : &policy->profiles[kind];
}
