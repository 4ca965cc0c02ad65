/* SPDX-License-Identifier: ISC */
/* cgroup_join.h - how a new init gets into its control groups. */
#ifndef ATELIER_CGROUP_JOIN_H
#define ATELIER_CGROUP_JOIN_H

#include <stdbool.h>

#include "sessiond/monitor/spawn_wire.h"

/* Is it born in its group, by CLONE_INTO_CGROUP with the first of the descriptors? */
bool cgroup_is_entered_by_clone(const struct spawn_request *req);

/**
 * cgroup_join() - First act of a new init
 * @groups:   Descriptors of the request; closed
 * @ret_what: On failure: what it is about, static
 *
 * Order: into the groups; then the namespace, whose root is the group one is in when it is made,
 * so that the groups above have no name inside. (Made by clone3 itself its root would be the group
 * of the caller. Source: copy_cgroup_ns() of the kernel, and tests/unit/test_cgroup.c.)
 *
 * Return: 0 or a negative errno.
 */
int cgroup_join(const struct spawn_request *req, const int groups[], const char **ret_what);

#endif
