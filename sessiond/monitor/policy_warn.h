/* SPDX-License-Identifier: ISC */
/* policy_warn.h - what a policy says of this host that does not hold, or that loosens much. */
#ifndef ATELIER_POLICY_WARN_H
#define ATELIER_POLICY_WARN_H

#include <stdio.h>

#include "policy/policy.h"

/**
 * policy_warn() - Look at the host with the eyes of a policy
 * @to: Gets a line for each finding: "error: " or "warning: ", profile, what, and what follows
 *
 * An error: a tree that runs and sessions will never start with, because a server answers for it or
 * the kernel does. Warnings: a tree that is not there, is no directory, or cannot be read by
 * participants; a profile that gives more than its kind by a group, since the api says who is in a
 * group; limits of the disk that nothing of this host can hold anybody to; and a list of allowed
 * destinations that is empty.
 *
 * Return: number of errors; *@ret_warnings are not counted in it.
 */
unsigned policy_warn(const struct policy *policy, FILE *to, unsigned *ret_warnings);

#endif
