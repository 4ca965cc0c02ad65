/* SPDX-License-Identifier: ISC */
/*
 * netkeep.h - the rules stay as they were loaded, whatever others do to the firewall.
 *
 * A look (net_look.h) is due when the kernel says that our tables change, when the canary says
 * leak, on SIGHUP, and every NETKEEP_LOOK_MS, since a table of iptables-legacy changes without a
 * word. It puts back what is missing, and then the canary is asked at once.
 *
 * What is put back again and again is not held: after NETKEEP_MENDS times in short order, or when
 * the rules could not be put back for NETKEEP_PATIENCE_MS, the canary is overruled: LEAK, and the
 * guard ends what relies on the rules. Looks go on, and when one finds the rules in place and a
 * mend is to be had again, the canary has the word again. When it could not be found out whether
 * they are in place, nothing starts, and nothing ends as long as the canary finds no leak; after
 * NETKEEP_BLIND_MS of that they are not held either, since the canary tries few addresses.
 *
 * Measured on one of two processors of a small virtual machine: a look costs 4 ms of processor
 * time, both families and both programs together; legacy 5 ms; with 2,000 rules of others 10 ms a
 * family. So every two seconds it is 0.2 % of a processor. A look that costs more is followed by a
 * longer pause, so that it is never more than 0.5 %; only news waits for NETKEEP_NEWS_MS at most.
 * From a flush to the load it is 10 to 50 ms, as long as no such pause is due.
 * A look that is ended because it takes too long costs no pause; the next one is soon, may take
 * twice as long, and keeps the normal forms that the last one has made.
 */
#ifndef ATELIER_NETKEEP_H
#define ATELIER_NETKEEP_H

#include "sessiond/monitor/monitor.h"
#include "sessiond/monitor/net.h"

#define NETKEEP_LOOK_MS     2000
#define NETKEEP_NEWS_MS     2000 /* a pause after costly looks keeps no news waiting longer */
#define NETKEEP_PATIENCE_MS 2000
#define NETKEEP_BLIND_MS    60000
#define NETKEEP_MENDS       10
#define NETKEEP_MEND_MS     30000 /* after this time there is one more, up to NETKEEP_MENDS */

struct netkeep;

/**
 * netkeep_new() - Keep the rules; the first look is at once
 * @m:      Needs its event base, canary and guard; m->netkeep is set
 * @config: Borrowed, for the life of the process
 *
 * Return: 0 or a negative errno.
 */
int netkeep_new(struct monitor *m, const struct net_config *config);

/* The rules are to be others than before: load them. Does not wait. */
void netkeep_change(struct netkeep *k);

/* The same whatever there is, and others' attempts so far are forgotten. */
void netkeep_reload(struct netkeep *k);

/* A look, begun from now on. At its end guard_kept() is called; at once, if we have given up. */
void netkeep_require(struct netkeep *k);

#endif
