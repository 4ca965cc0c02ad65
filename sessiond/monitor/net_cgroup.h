/* SPDX-License-Identifier: ISC */
/* net_cgroup.h - a control group as a network rule names it. */
#ifndef ATELIER_NET_CGROUP_H
#define ATELIER_NET_CGROUP_H

#include <stdint.h>

#include "policy/netrules.h"

/**
 * net_cgroup_find() - The path of a group below the root of the version 2 tree
 * @dir:      The directory, absolute; below a mount of the tree
 * @ret_path: Without a slash at its beginning
 * @ret_id:   Number of the group: another one that is made at the same path has another
 *
 * The rule is about the group that is at the path when the rule is loaded, and about nothing any
 * more when that is gone. The kernel begins at the root of the loader's cgroup namespace, as
 * mountinfo does.
 *
 * Return: 0; -ENOENT (there is none now), -ENODEV (not in such a tree), -EINVAL (no path that can
 * be in a rule), or a negative errno.
 */
int net_cgroup_find(const char *dir, char ret_path[NETRULES_CGROUP_SIZE], uint64_t *ret_id);

#endif
