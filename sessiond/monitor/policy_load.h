/* SPDX-License-Identifier: ISC */
/* policy_load.h - the policy that sessiond goes by: read at start, and again when told to. */
#ifndef ATELIER_POLICY_LOAD_H
#define ATELIER_POLICY_LOAD_H

#include "policy/policy.h"
#include "sessiond/monitor/monitor.h"

/**
 * policy_load() - Read the files, show the result, go by it
 * @ret_e: On failure: the sentence
 *
 * All or nothing: on failure m->policy and what is shown in POLICY_IN_FORCE are what they were.
 * What lives has a plan of its own, and keeps it.
 *
 * Return: 0 or a negative errno.
 */
int policy_load(struct monitor *m, struct config_error *ret_e);

/* Say which profiles require a limit that no control group here keeps: nothing starts by them. */
void policy_limits_look(const struct monitor *m);

#endif
