/* SPDX-License-Identifier: ISC */
/*
 * net_count.h - who reached what: NET_GET is answered.
 *
 * The kernel is asked by a process that is forked off for it, as for a look (net_look.h): it reads
 * what nft and iptables-save print and the kernel's lists of sockets, and writes rows of a fixed
 * size into memory that both share. Some 50 ms; 1.5 s of a
 * processor when users have filled all sets (measured).
 */
#ifndef ATELIER_NET_COUNT_H
#define ATELIER_NET_COUNT_H

#include <stdint.h>

#include "sessiond/monitor/monitor.h"

struct net_count;

/* @m: needs its event base; m->net_count is set. Return: 0 or -ENOMEM. */
int net_count_new(struct monitor *m);

/* Begin an answer, or the next one behind that which is under way. Goes to core_send(). */
void net_count_ask(struct net_count *c, uint32_t uid);

/* The api is gone: nobody waits. */
void net_count_forget(struct net_count *c);

#endif
