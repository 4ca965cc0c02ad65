/* SPDX-License-Identifier: ISC */
/*
 * cgroup_join.h - how a new init gets into its control groups.
 *
 * The root of a cgroup namespace is the group one is in when it is made, so that the groups above
 * have no name inside. Of a version 2 tree clone3 does both at once: CLONE_INTO_CGROUP with
 * CLONE_NEWCGROUP makes the new group the root (cgroup_post_fork() of the kernel, since 5.7; seen
 * by tests/unit/test_cgroup.c). Of version 1 trees the new init has to step in first.
 */
#ifndef ATELIER_CGROUP_JOIN_H
#define ATELIER_CGROUP_JOIN_H

#include <stdbool.h>

#include "sessiond/monitor/spawn_wire.h"

/* Is it born in its group, by CLONE_INTO_CGROUP with the last of the descriptors? */
bool cgroup_is_entered_by_clone(const struct spawn_request *req);

/* Does the new init step into groups, and has to make its cgroup namespace itself? */
bool cgroup_is_entered_by_init(const struct spawn_request *req);

/**
 * cgroup_join() - First act of a new init
 * @groups:   Descriptors of the request; closed
 * @ret_what: On failure: what it is about, static
 *
 * Return: 0 or a negative errno.
 */
int cgroup_join(const struct spawn_request *req, const int groups[], const char **ret_what);

#endif
