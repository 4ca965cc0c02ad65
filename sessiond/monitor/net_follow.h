/* SPDX-License-Identifier: ISC */
/*
 * net_follow.h - what the rules are made of changes by itself: names get other addresses, and the
 * host other networks.
 *
 * Names are looked up by a process of its own (sessiond/resolve), which is a reserved user, has no
 * right left, and is killed when it takes too long. What it says are addresses in fixed records;
 * each is checked again here. What is known of names is written to a file below /run, so that a
 * sessiond that starts again has the rules that there were.
 *
 * Whatever has changed is loaded by netkeep, in one transaction for each family.
 */
#ifndef ATELIER_NET_FOLLOW_H
#define ATELIER_NET_FOLLOW_H

#include <stdio.h>

#include "common/wire.h"
#include "sessiond/monitor/monitor.h"
#include "sessiond/monitor/net.h"

struct net_follow;

/**
 * net_follow_prepare() - Before the first load: the networks of now, names as an earlier sessiond
 * knew them
 *
 * Return: 0 or a negative errno: the networks could not be found out, and the policy asks for them.
 */
int net_follow_prepare(struct net_config *config);

/* From here on changes are followed. Return: 0 or a negative errno. */
int net_follow_new(struct monitor *m, struct net_config *config);

/* config->policy is another, or may be: look everything up now. The caller loads the rules. */
void net_follow_policy(struct net_follow *f);

/* How many names there are, and what is wrong with some of them. */
void net_follow_report(const struct net_follow *f, struct wire_status *st);

/* What names stand for, as the running sessiond knows it. Return: 0 or a negative errno. */
int net_follow_show(FILE *to);

#endif
