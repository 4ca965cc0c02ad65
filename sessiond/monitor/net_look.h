/* SPDX-License-Identifier: ISC */
/*
 * net_look.h - a process that looks at the rules, and puts them back if they are not ours.
 *
 * It is forked off for one look and lives for some milliseconds; sessiond does not wait for
 * programs. What it found is in memory that both share, for sessiond to read when it has ended; of
 * one that was killed, that is less.
 *
 * If the policy has changed, or the group of the second jump is another by now, what was known is
 * forgotten, and the rules are loaded whatever there is. One that was ended before all was done
 * leaves the normal forms that it has made to the next.
 *
 * For each family:
 *   1. the normal form, if there is none yet: our text is loaded in a network namespace that was
 *      made for it, where nobody else is, and printed by iptables-save
 *   2. what the host has is printed and compared
 *   3. if it differs: loaded, in one transaction as at start, and from 2 again
 *   4. if it differs still: iptables may be another version by now; from 1 again, once
 *
 * Afterwards, if that is due, the table that counts (net_table.h).
 */
#ifndef ATELIER_NET_LOOK_H
#define ATELIER_NET_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/netrules_seen.h"
#include "sessiond/monitor/net.h"
#include "sessiond/monitor/net_program.h"
#include "sessiond/monitor/net_table.h"

struct net_look_family {
    /* From look to look. */
    struct netrules_form normal;
    bool has_normal;
    /* Of this look. */
    bool has_seen;             /* found is known */
    enum netrules_fault found; /* before anything was done */
    bool was_loaded;
    bool is_held; /* in the end the host has what it should have */
    int error;    /* else: why not, a negative errno; -EAGAIN: it was other again at once */
};

struct net_look {
    struct net_look_family families[NET_FAMILIES];
    struct net_table table;
    /* Set before the start: */
    bool must_load;       /* load the rules, even if nothing is wrong */
    bool is_changed;      /* the rules are to be others than before */
    bool must_forget;     /* the normal forms, too: not for one that goes on with such a change */
    bool must_see_table;  /* look at the table, too */
    uint32_t connections; /* of one user, for the table */
    /* Of this look: of the rules that it has loaded, if the host has them now; else 0. It is not
     * computed by who sees the end: the policy may be another by then. */
    uint32_t revision;
    /* From look to look: the group that the second jump is about (net_cgroup.h), or 0: none, or
     * the rules with it could not be loaded, and are at the next look. */
    uint64_t cgroup_id;
};

/* Return: 0 or -ENOMEM. For the life of the process. */
int net_look_new(struct net_look **ret_look);

/**
 * net_look_start() - Start a look
 * @look:    Not in use by another
 * @config:  Borrowed, copied by the fork
 * @ret_pid: A child of ours, leader of its process group, to be reaped
 *
 * Return: 0 or a negative errno.
 */
int net_look_start(struct net_look *look, const struct net_config *config, pid_t *ret_pid);

#endif
