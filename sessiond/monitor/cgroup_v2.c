/* SPDX-License-Identifier: ISC */
/*
 * cgroup_v2.c - control groups, version 2: one tree, delegated to us by its owner.
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst of the kernel. cgroup.kill is of 5.14,
 * memory.peak of 5.19, pids.peak of 6.1; what is younger than the rest is optional.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/cgroup_internal.h"

#include "common/banned.h"

#define CONTROLLERS_ON "+memory +pids +cpu"

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = text; *at;) {
        size_t n = strcspn(at, " \n");

        if (n == len && strncmp(at, word, len) == 0)
            return true;
        at += n + strspn(at + n, " \n");
    }
    return false;
}

int cgroup_v2_check_dir(int dir)
{
    struct statfs fs;

    if (fstatfs(dir, &fs) < 0)
        return -errno;
    return fs.f_type == CGROUP2_SUPER_MAGIC ? 0 : -ENODEV;
}

/* All that is needed is there, and can be given to groups in it. */
static int check(const struct cgroup_node *root, const char **ret_what)
{
    int dir = root->dirs[0], r = cgroup_v2_check_dir(dir);
    char text[512];

    *ret_what = "--cgroup: it is no directory of a version 2 tree";
    if (r < 0)
        return r;
    *ret_what = "--cgroup: cgroup.controllers";
    r = file_read_text(dir, "cgroup.controllers", text, sizeof(text));
    if (r < 0)
        return r;
    *ret_what = !has_word(text, "memory") ? "--cgroup: the directory lacks the controller memory"
                : !has_word(text, "pids") ? "--cgroup: the directory lacks the controller pids"
                : !has_word(text, "cpu")  ? "--cgroup: the directory lacks the controller cpu"
                                          : NULL;
    if (*ret_what)
        return -ENOTSUP;
    *ret_what = "--cgroup: the controllers cannot be given to groups in the directory";
    r = cgroup_write(dir, "cgroup.subtree_control", CONTROLLERS_ON);
    if (r == 0 && has_word(text, "io")) /* of use, and not needed */
        (void)cgroup_write(dir, "cgroup.subtree_control", "+io");
    return r;
}

static int limit_common(int dir, const struct plan_cgroup *plan, const char **ret_what)
{
    char text[48];
    int r;

    *ret_what = "memory.max";
    r = cgroup_write_u64(dir, "memory.max", plan->memory_max_bytes);
    if (r < 0)
        return r;
    *ret_what = "memory.swap.max";
    r = cgroup_write_u64(dir, "memory.swap.max", plan->swap_max_bytes);
    if (r < 0)
        return r;
    *ret_what = "pids.max";
    r = cgroup_write_u64(dir, "pids.max", plan->pids_max);
    if (r < 0 || plan->cpu_quota_us == 0)
        return r;
    *ret_what = "cpu.max";
    (void)snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)plan->cpu_quota_us,
                   (unsigned long long)plan->cpu_period_us);
    return cgroup_write(dir, "cpu.max", text);
}

/* Weights are among siblings: the user's counts, a leaf keeps what it is made with. */
static int limit_user(const struct cgroup_node *user, const struct plan_cgroup *plan,
                      const char **ret_what)
{
    int dir = user->dirs[0], r = limit_common(dir, plan, ret_what);

    if (r < 0)
        return r;
    *ret_what = "cpu.weight";
    r = cgroup_write_u64(dir, "cpu.weight", plan->cpu_weight);
    if (r < 0)
        return r;
    *ret_what = "cgroup.subtree_control";
    return cgroup_write(dir, "cgroup.subtree_control", CONTROLLERS_ON);
}

static int limit_leaf(const struct cgroup_node *leaf, const struct plan_cgroup *plan,
                      const char **ret_what)
{
    int r = limit_common(leaf->dirs[0], plan, ret_what);

    if (r < 0 || !plan->oom_group) /* which is 0 in a new group */
        return r;
    *ret_what = "memory.oom.group";
    return cgroup_write(leaf->dirs[0], "memory.oom.group", "1");
}

/* For CLONE_INTO_CGROUP, which takes O_PATH: clone(2). */
static int entrance(enum cgroup_tree tree, int dir)
{
    int fd = fcntl(dir, F_DUPFD_CLOEXEC, 3);

    (void)tree;
    return fd < 0 ? -errno : fd;
}

/* "max 100000" or "QUOTA PERIOD". */
static int cpu_max_read(int dir, struct wire_receipt *r)
{
    char text[64], *end;
    int e = file_read_text(dir, "cpu.max", text, sizeof(text));

    if (e < 0 || strncmp(text, "max", 3) == 0)
        return e;
    errno = 0;
    r->cgroup_cpu_quota_us = strtoull(text, &end, 10);
    r->cgroup_cpu_period_us = strtoull(end, &end, 10);
    return errno != 0 || *end != '\n' || r->cgroup_cpu_period_us == 0 ? -EPROTO : 0;
}

static int limits_read(const struct cgroup_node *leaf, struct wire_receipt *r)
{
    int dir = leaf->dirs[0], e;

    e = cgroup_read_u64(dir, "memory.max", &r->cgroup_memory_max);
    if (e == 0)
        e = cgroup_read_u64(dir, "memory.swap.max", &r->cgroup_swap_max);
    if (e == 0)
        e = cgroup_read_u64(dir, "memory.oom.group", &r->cgroup_oom_group);
    if (e == 0)
        e = cgroup_read_u64(dir, "pids.max", &r->cgroup_pids_max);
    if (e == 0)
        e = cpu_max_read(dir, r);
    if (r->cgroup_memory_max == UINT64_MAX)
        r->cgroup_memory_max = 0;
    if (r->cgroup_pids_max == UINT64_MAX)
        r->cgroup_pids_max = 0;
    return e;
}

static bool matches(const struct cgroup_node *leaf, const struct plan_cgroup *plan,
                    const struct wire_receipt *r)
{
    (void)leaf;
    return r->cgroup_memory_max == plan->memory_max_bytes &&
           r->cgroup_swap_max == plan->swap_max_bytes && r->cgroup_pids_max == plan->pids_max &&
           r->cgroup_cpu_quota_us == plan->cpu_quota_us &&
           r->cgroup_cpu_period_us == plan->cpu_period_us &&
           r->cgroup_oom_group == (plan->oom_group ? 1u : 0u);
}

/*
 * memory.events has no children to add up: a leaf has none. oom_kill counts processes of this
 * group, whichever group's limit was the reason; oom counts in the group whose limit it was, and
 * above.
 */
static void usage(const struct cgroup_node *leaf, struct wire_usage *u)
{
    int dir = leaf->dirs[0];

    (void)cgroup_read_u64(dir, "memory.peak", &u->memory_peak_bytes);
    (void)cgroup_read_key(dir, "memory.events", "oom_kill", &u->oom_kills);
    (void)cgroup_read_key(dir, "memory.events", "oom", &u->oom_own);
    (void)cgroup_read_key(dir, "cpu.stat", "usage_usec", &u->cpu_us);
    (void)cgroup_read_u64(dir, "pids.peak", &u->pids_peak);
    (void)cgroup_read_key(dir, "pids.events", "max", &u->pids_refused);
}

static void kill_all(const struct cgroup_node *leaf)
{
    (void)cgroup_write(leaf->dirs[0], "cgroup.kill", "1");
}

/* Of the slice above the unit that delegates. The root of a tree has no such file. */
static int memory_of_all(const struct cgroup_node *root, uint64_t *ret_bytes)
{
    int r = cgroup_read_u64(root->dirs[0], "../memory.max", ret_bytes);

    if (r == -ENOENT)
        *ret_bytes = UINT64_MAX;
    return r == -ENOENT ? 0 : r;
}

static int memory(const struct cgroup_node *user, uint64_t *ret_bytes)
{
    return cgroup_read_u64(user->dirs[0], "memory.current", ret_bytes);
}

static const char *tree_name(enum cgroup_tree tree)
{
    (void)tree;
    return "";
}

const struct cgroup_ops cgroup_v2_ops = {
    .mode = WIRE_CGROUP_V2,
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
