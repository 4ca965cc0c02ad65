/* SPDX-License-Identifier: ISC */
/* monitor.h - what the parts of the root process share. */
#ifndef ATELIER_MONITOR_H
#define ATELIER_MONITOR_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"
#include "policy/policy.h"
#include "sessiond/monitor/net_limit.h"
#include "sessiond/monitor/scope.h"

struct canary;
struct cgroup;
struct core;
struct disk;
struct doctor;
struct guard;
struct net_count;
struct net_follow;
struct netkeep;
struct nscd;
struct run;
struct session;

struct monitor {
    struct event_base *base;
    int spawner_sock;
    const struct policy *policy; /* what is new gets this; plans are copies */
    struct canary *canary;
    struct cgroup *cgroup;
    struct core *core;
    struct disk *disk;
    struct doctor *doctor; /* NULL: none is at work */
    struct guard *guard;
    struct net_count *net_count;
    struct net_follow *net_follow;
    struct netkeep *netkeep;
    struct net_limit net_limit; /* as netkeep saw it */
    struct nscd *nscd;
    uint32_t net_revision; /* of the rules that were loaded last */
    uint64_t net_cgroup;   /* the group of their second jump (net_cgroup.h); 0: they have none */
    bool had_net_rules;    /* our jump was there when this process loaded them first */
    struct run *runs;      /* list, run.c */
    uint32_t run_count;
    struct session *sessions; /* list, session.c; those on their way, too */
    uint32_t session_tags;    /* the last one given out */
    struct scope scope;
};

/*
 * What a receipt says of the rules. Their second jump is about the directory of all leaves: it
 * matches the leaf, unless that is of version 1 alone.
 */
static inline void monitor_rules_say(const struct monitor *m, struct wire_receipt *r)
{
    r->net_revision = m->net_revision;
    r->net_group = m->net_cgroup != 0 && r->cgroup_leaf[0] != '\0' &&
                   (r->cgroup_mode == WIRE_CGROUP_V2 || r->cgroup_mode == WIRE_CGROUP_V2_LITE);
    r->net_limit = m->net_limit.is_held ? m->net_limit.connections : 0;
}

#endif
