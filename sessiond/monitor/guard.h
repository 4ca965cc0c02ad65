/* SPDX-License-Identifier: ISC */
/*
 * guard.h - the rules must hold while a run relies on them, not only when it starts.
 *
 * As long as a run with net public or a session lives, the canary is asked every GUARD_MS. A leak
 * means a look at the rules (netkeep.h), which puts them back, and the canary is asked again. A
 * leak though all was in place, or could not be put back, ends those runs and sessions; so does no
 * look within GUARD_LOOK_MS, or nothing but leaks for GUARD_LEAK_MS, as when somebody takes the
 * rules away as fast as they come back. "Nothing was found out" ends nothing: no run starts then,
 * and a busy host is not a reason to throw away everybody's work.
 */
#ifndef ATELIER_GUARD_H
#define ATELIER_GUARD_H

#include <stdbool.h>

#include "sessiond/monitor/monitor.h"

#define GUARD_MS 1000
/* A look takes some milliseconds, and seconds on an emulated processor that has others to serve. */
#define GUARD_LOOK_MS 3000
#define GUARD_LEAK_MS 5000

struct guard;

/* Return: 0 or -ENOMEM. @m needs its event base and its canary; m->guard is set. */
int guard_new(struct monitor *m);

/**
 * guard_kept() - By netkeep: the look that was asked for has ended
 * @is_final: It had nothing to put back, or could not
 */
void guard_kept(struct guard *g, bool is_final);

/* By netkeep: the rules were put back, or it has given up. The canary is asked at once. */
void guard_ask(struct guard *g);

#endif
