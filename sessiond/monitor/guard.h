/* SPDX-License-Identifier: ISC */
/*
 * guard.h - the rules must hold while a run relies on them, not only when it starts.
 *
 * As long as a run with net public lives, the canary is asked every GUARD_MS. A leak ends those
 * runs. "Nothing was found out" ends nothing: no run starts then, and a busy host is not a reason
 * to throw away everybody's work.
 */
#ifndef ATELIER_GUARD_H
#define ATELIER_GUARD_H

#include "sessiond/monitor/monitor.h"

#define GUARD_MS 1000

struct guard;

/* Return: 0 or -ENOMEM. @m needs its event base and its canary. */
int guard_new(struct monitor *m, struct guard **ret_guard);

#endif
