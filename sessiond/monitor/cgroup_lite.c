/* SPDX-License-Identifier: ISC */
/*
 * cgroup_lite.c - control groups of version 1, and beside them one of version 2 without
 * controllers.
 *
 * That is what a host has that was told to stay with version 1 (systemd calls it hybrid). The
 * limits are those of version 1, of the controllers that were named. The group of version 2 limits
 * nothing: it is for what only that version has. Processes are born in it, all of it is killed at
 * one stroke, and its path is what network rules match. It counts processor time even without a
 * controller. Source: Documentation/admin-guide/cgroup-v2.rst of the kernel, "cpu.stat".
 */
#include <errno.h>
#include <stddef.h>

#include "sessiond/monitor/cgroup_internal.h"

#include "common/banned.h"

static int check(const struct cgroup_node *root, const char **ret_what)
{
    int r = cgroup_v1_ops.check(root, ret_what);

    if (r < 0)
        return r;
    *ret_what = "--cgroup-lite: it is no directory of a version 2 tree";
    return cgroup_v2_check_dir(root->dirs[CGROUP_UNIFIED]);
}

static int limit_user(const struct cgroup_node *user, const struct plan_cgroup *plan,
                      const char **ret_what)
{
    return cgroup_v1_ops.limit_user(user, plan, ret_what);
}

static int limit_leaf(const struct cgroup_node *leaf, const struct plan_cgroup *plan,
                      const char **ret_what)
{
    return cgroup_v1_ops.limit_leaf(leaf, plan, ret_what);
}

static int entrance(enum cgroup_tree tree, int dir)
{
    const struct cgroup_ops *ops = tree == CGROUP_UNIFIED ? &cgroup_v2_ops : &cgroup_v1_ops;

    return ops->entrance(tree, dir);
}

static int limits_read(const struct cgroup_node *leaf, struct wire_receipt *r)
{
    return cgroup_v1_ops.read(leaf, r);
}

static bool matches(const struct cgroup_node *leaf, const struct plan_cgroup *plan,
                    const struct wire_receipt *r)
{
    return cgroup_v1_ops.matches(leaf, plan, r);
}

static void usage(const struct cgroup_node *leaf, struct wire_usage *u)
{
    cgroup_v1_ops.usage(leaf, u);
    if (u->cpu_us == WIRE_NOT_KNOWN)
        (void)cgroup_read_key(leaf->dirs[CGROUP_UNIFIED], "cpu.stat", "usage_usec", &u->cpu_us);
}

static void kill_all(const struct cgroup_node *leaf)
{
    (void)cgroup_write(leaf->dirs[CGROUP_UNIFIED], "cgroup.kill", "1");
}

static int memory_of_all(const struct cgroup_node *root, uint64_t *ret_bytes)
{
    return cgroup_v1_ops.memory_of_all(root, ret_bytes);
}

static int memory(const struct cgroup_node *user, uint64_t *ret_bytes)
{
    return cgroup_v1_ops.memory(user, ret_bytes);
}

static const char *tree_name(enum cgroup_tree tree)
{
    return tree == CGROUP_UNIFIED ? "" : cgroup_v1_ops.tree_name(tree);
}

const struct cgroup_ops cgroup_lite_ops = {
    .mode = WIRE_CGROUP_V2_LITE,
    .check = check,
    .limit_user = limit_user,
    .limit_leaf = limit_leaf,
    .entrance = entrance,
    .read = limits_read,
    .matches = matches,
    .usage = usage,
    .kill = kill_all,
    .memory_of_all = memory_of_all,
    .memory = memory,
    .tree_name = tree_name,
};
