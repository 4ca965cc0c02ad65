/* SPDX-License-Identifier: ISC */
/*
 * net_table.h - the table of policy/netcount.h in the kernel: is it there, is it ours, put it back.
 *
 * All of this waits for nft, and is done by the process of a look (net_look.h). The table is
 * compared as the rules are: with what the same nft prints of our text in a network namespace made
 * for that. It is loaded if it differs and not otherwise. As long as it is there, with the same
 * number of connections, its rules are changed and its sets stay, with what they have counted.
 */
#ifndef ATELIER_NET_TABLE_H
#define ATELIER_NET_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sessiond/monitor/net.h"

/* A text as its length and its FNV-1a hash: nobody is to be kept from forging it who is not root.
 */
struct net_digest {
    uint64_t size, hash;
};

struct net_table {
    /* From look to look. */
    struct net_digest text;   /* what normal is of */
    struct net_digest normal; /* size 0: there is none yet */
    uint32_t held; /* connections of the table when it was found or made right; 0: it never was */
    /* Of this look. */
    bool was_there;  /* some table of our name, before anything was done */
    bool was_loaded; /* by us */
    bool was_reset;  /* and counts from 0 */
    bool is_new;     /* what it should be is other than it was at the last look */
    bool is_held;    /* in the end the host has it, and nothing else by its name */
    bool is_whole;   /* reasons and destinations are told, too */
    int error;       /* else: why not, a negative errno; -ENOENT: there is no nft */
};

/* Where nft is, or NULL. */
const char *net_table_program(void);

/**
 * net_table_keep() - Look at the table, and load it if it is not ours
 * @config:      The rules it stands beside
 * @connections: The most that one user may have
 * @t:           What is found is told there
 *
 * Must not return in another network namespace than it was called in.
 */
void net_table_keep(const struct net_config *config, uint32_t connections, struct net_table *t);

/* Take it away; what is not there is fine. Return: 0 or a negative errno. */
int net_table_remove(void);

#endif
