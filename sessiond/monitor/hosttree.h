/* SPDX-License-Identifier: ISC */
/*
 * hosttree.h - directories of the host that a profile shows, read-only, at the same path.
 *
 * The spawner has no way to the host's tree any more: the monitor opens each directory for each run
 * or session, as a detached mount, and the init attaches it. What is mounted below the directory on
 * the host is not in it, so that no proc, sysfs or home comes along.
 */
#ifndef ATELIER_HOSTTREE_H
#define ATELIER_HOSTTREE_H

#include "policy/plan.h"

/**
 * hosttree_open() - Detached mounts of the trees of a plan
 * @ret_fds:  plan->tree_count of them, owned by the caller
 * @ret_what: On failure: which, borrowed from the plan
 *
 * In the monitor. A symbolic link anywhere in a path is refused, as are file systems of the kernel.
 *
 * Return: 0, -ELOOP, -ENOENT, -EPERM (a file system of the kernel), or another negative errno.
 */
int hosttree_open(const struct plan *plan, int ret_fds[POLICY_TREES_MAX], const char **ret_what);

/* Close what hosttree_open() gave. */
void hosttree_close(const struct plan *plan, int fds[POLICY_TREES_MAX]);

/**
 * hosttree_attach() - Make the places of the trees, and attach them
 * @fds:      As they came from hosttree_open()
 * @ret_what: On failure: which, borrowed from the plan
 *
 * In the init, which has a mount namespace of its own. Only the first name of a path is made in the
 * tree that all have: everybody may see that there is an empty /opt. The rest is in a small file
 * system of this run or session alone.
 *
 * Return: 0 or a negative errno.
 */
int hosttree_attach(const struct plan *plan, const int fds[], const char **ret_what);

#endif
