/* SPDX-License-Identifier: ISC */
/*
 * guard.h - the rules must hold while a run relies on them, not only when it starts.
 *
 * As long as a run with net public or a session lives, the canary is asked every GUARD_MS. A leak
 * means a look at the rules (netkeep.h), which puts them back, and the canary is asked again; a
 * second leak, or no look within GUARD_LOOK_MS, ends those runs and sessions. "Nothing was found
 * out" ends nothing: no run starts then, and a busy host is not a reason to throw away everybody's
 * work.
 */
#ifndef ATELIER_GUARD_H
#define ATELIER_GUARD_H

#include "sessiond/monitor/monitor.h"

#define GUARD_MS      1000
#define GUARD_LOOK_MS 1000

struct guard;

/* Return: 0 or -ENOMEM. @m needs its event base and its canary; m->guard is set. */
int guard_new(struct monitor *m);

/* By netkeep: the look that was asked for has ended, whatever came of it. */
void guard_kept(struct guard *g);

/* By netkeep: the rules were put back, or it has given up. The canary is asked at once, and its
 * word counts. */
void guard_ask(struct guard *g);

#endif
