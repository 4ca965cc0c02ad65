/* SPDX-License-Identifier: ISC */
/*
 * cgroup_v1.c - control groups, version 1: a tree for each controller that was named.
 *
 * There is no way to be born in a group: an init writes itself into each before it does anything
 * else. Nor is there an out-of-memory kill of a whole group, or a kill at one stroke: the PID
 * namespace has to do.
 * Source: Documentation/admin-guide/cgroup-v1 of the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/fd.h"
#include "sessiond/monitor/cgroup_internal.h"

#include "common/banned.h"

#define MEMSW "memory.memsw.limit_in_bytes" /* only where swap is accounted */
/* As much is asked for at once, at most: MEMCG_CHARGE_BATCH of the kernel, 64 pages of 4 KiB. */
#define CHARGE_BYTES (256u << 10)
/* What a group without a limit shows is near 2^63; a limit of ours is far below. */
#define NO_LIMIT (1ull << 60)
/* cpu.shares that stand for the weight 100 of version 2. */
#define SHARES_PER_WEIGHT_NUM 1024
#define SHARES_PER_WEIGHT_DEN 100

static int check(const struct cgroup_node *root, const char **ret_what)
{
    /* A file of each controller that no other tree has. */
    static const char *const files[CGROUP_V1_MAX] = {
        [CGROUP_MEMORY] = "memory.limit_in_bytes",
        [CGROUP_PIDS] = "cgroup.procs", /* pids.max is not in the root of a tree */
        [CGROUP_CPU] = "cpu.cfs_quota_us",
        [CGROUP_CPUACCT] = "cpuacct.usage",
    };
    struct stat st[CGROUP_V1_MAX] = {0};

    for (int i = 0; i < CGROUP_V1_MAX; i++) {
        struct statfs fs;

        if (root->dirs[i] < 0)
            continue;
        *ret_what = "--cgroup-v1: it is no directory of a version 1 tree";
        if (fstatfs(root->dirs[i], &fs) < 0)
            return -errno;
        if (fs.f_type != CGROUP_SUPER_MAGIC)
            return -ENODEV;
        *ret_what = "--cgroup-v1: the directory lacks the controller";
        if (faccessat(root->dirs[i], files[i], W_OK, 0) < 0)
            return -ENOTSUP;
        *ret_what = "--cgroup-v1: two controllers share a tree";
        if (fstat(root->dirs[i], &st[i]) < 0)
            return -errno;
        for (int k = 0; k < i; k++) {
            if (root->dirs[k] >= 0 && st[k].st_dev == st[i].st_dev)
                return -EINVAL;
        }
    }
    return 0;
}

static int limit_memory(int dir, const struct plan_cgroup *plan, const char **ret_what)
{
    /* Memory and swap together; never below the first, so in this order in a new group. */
    const uint64_t both = plan->memory_max_bytes + plan->swap_max_bytes;
    int r;

    *ret_what = "memory.limit_in_bytes";
    r = cgroup_write_u64(dir, "memory.limit_in_bytes", plan->memory_max_bytes);
    if (r == -EINVAL && cgroup_write_u64(dir, MEMSW, both) == 0) /* there was less */
        r = cgroup_write_u64(dir, "memory.limit_in_bytes", plan->memory_max_bytes);
    if (r < 0)
        return r;
    *ret_what = MEMSW;
    r = cgroup_write_u64(dir, MEMSW, both);
    return r == -ENOENT ? 0 : r;
}

static int limit_quota(int dir, const struct plan_cgroup *plan, const char **ret_what)
{
    int r;

    if (plan->cpu_quota_us == 0)
        return 0;
    *ret_what = "cpu.cfs_period_us";
    r = cgroup_write_u64(dir, "cpu.cfs_period_us", plan->cpu_period_us);
    if (r < 0)
        return r;
    *ret_what = "cpu.cfs_quota_us";
    return cgroup_write_u64(dir, "cpu.cfs_quota_us", plan->cpu_quota_us);
}

static int limit_leaf(const struct cgroup_node *leaf, const struct plan_cgroup *plan,
                      const char **ret_what)
{
    int r = 0;

    if (leaf->dirs[CGROUP_MEMORY] >= 0)
        r = limit_memory(leaf->dirs[CGROUP_MEMORY], plan, ret_what);
    if (r == 0 && leaf->dirs[CGROUP_PIDS] >= 0) {
        *ret_what = "pids.max";
        r = cgroup_write_u64(leaf->dirs[CGROUP_PIDS], "pids.max", plan->pids_max);
    }
    if (r == 0 && leaf->dirs[CGROUP_CPU] >= 0)
        r = limit_quota(leaf->dirs[CGROUP_CPU], plan, ret_what);
    return r;
}

static int limit_user(const struct cgroup_node *user, const struct plan_cgroup *plan,
                      const char **ret_what)
{
    int r = limit_leaf(user, plan, ret_what);

    if (r < 0 || user->dirs[CGROUP_CPU] < 0)
        return r;
    *ret_what = "cpu.shares";
    return cgroup_write_u64(user->dirs[CGROUP_CPU], "cpu.shares",
                            plan->cpu_weight * SHARES_PER_WEIGHT_NUM / SHARES_PER_WEIGHT_DEN);
}

/* Opened by root, so that whoever holds it may write itself into the group: cgroups(7). */
static int entrance(enum cgroup_tree tree, int dir)
{
    int fd = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    (void)tree;
    return fd < 0 ? -errno : fd;
}

static int memory_read(int dir, struct wire_receipt *r)
{
    uint64_t both;
    int e = cgroup_read_u64(dir, "memory.limit_in_bytes", &r->cgroup_memory_max);

    if (e < 0)
        return e;
    if (r->cgroup_memory_max > NO_LIMIT)
        r->cgroup_memory_max = 0;
    e = cgroup_read_u64(dir, MEMSW, &both);
    if (e == 0 && both < NO_LIMIT)
        r->cgroup_swap_max = both > r->cgroup_memory_max ? both - r->cgroup_memory_max : 0;
    return e == -ENOENT ? 0 : e;
}

static int cpu_read(int dir, struct wire_receipt *r)
{
    char text[32];
    int e = file_read_text(dir, "cpu.cfs_quota_us", text, sizeof(text));

    if (e < 0 || text[0] == '-')
        return e;
    e = cgroup_read_u64(dir, "cpu.cfs_quota_us", &r->cgroup_cpu_quota_us);
    return e < 0 ? e : cgroup_read_u64(dir, "cpu.cfs_period_us", &r->cgroup_cpu_period_us);
}

static int limits_read(const struct cgroup_node *leaf, struct wire_receipt *r)
{
    int e = 0;

    if (leaf->dirs[CGROUP_MEMORY] >= 0)
        e = memory_read(leaf->dirs[CGROUP_MEMORY], r);
    if (e == 0 && leaf->dirs[CGROUP_PIDS] >= 0) {
        e = cgroup_read_u64(leaf->dirs[CGROUP_PIDS], "pids.max", &r->cgroup_pids_max);
        if (r->cgroup_pids_max == UINT64_MAX)
            r->cgroup_pids_max = 0;
    }
    if (e == 0 && leaf->dirs[CGROUP_CPU] >= 0)
        e = cpu_read(leaf->dirs[CGROUP_CPU], r);
    return e;
}

/* Of the controllers that were named. Swap is as limited as the host accounts for it. */
static bool matches(const struct cgroup_node *leaf, const struct plan_cgroup *plan,
                    const struct wire_receipt *r)
{
    if (leaf->dirs[CGROUP_MEMORY] >= 0 &&
        (r->cgroup_memory_max != plan->memory_max_bytes ||
         (r->cgroup_swap_max != plan->swap_max_bytes && r->cgroup_swap_max != UINT64_MAX)))
        return false;
    if (leaf->dirs[CGROUP_PIDS] >= 0 && r->cgroup_pids_max != plan->pids_max)
        return false;
    return leaf->dirs[CGROUP_CPU] < 0 || (r->cgroup_cpu_quota_us == plan->cpu_quota_us &&
                                          r->cgroup_cpu_period_us == plan->cpu_period_us);
}

/*
 * Was its own limit ever reached? Without that, another group's was the reason of a kill. The limit
 * of memory and swap together is the same, and is looked at first. (memory.failcnt stays 0 on newer
 * kernels.)
 */
static bool was_full(int dir)
{
    uint64_t limit, peak;

    if (cgroup_read_u64(dir, MEMSW, &limit) < 0 ||
        cgroup_read_u64(dir, "memory.memsw.max_usage_in_bytes", &peak) < 0) {
        if (cgroup_read_u64(dir, "memory.limit_in_bytes", &limit) < 0 ||
            cgroup_read_u64(dir, "memory.max_usage_in_bytes", &peak) < 0)
            return false;
    }
    return peak + CHARGE_BYTES >= limit;
}

static void usage(const struct cgroup_node *leaf, struct wire_usage *u)
{
    int cpu = leaf->dirs[leaf->dirs[CGROUP_CPUACCT] >= 0 ? CGROUP_CPUACCT : CGROUP_CPU];
    uint64_t cpu_ns;

    if (leaf->dirs[CGROUP_MEMORY] >= 0) {
        int dir = leaf->dirs[CGROUP_MEMORY];

        (void)cgroup_read_u64(dir, "memory.max_usage_in_bytes", &u->memory_peak_bytes);
        (void)cgroup_read_key(dir, "memory.oom_control", "oom_kill", &u->oom_kills);
        u->oom_own = was_full(dir) ? u->oom_kills : 0;
    }
    if (leaf->dirs[CGROUP_PIDS] >= 0) {
        (void)cgroup_read_u64(leaf->dirs[CGROUP_PIDS], "pids.peak", &u->pids_peak);
        (void)cgroup_read_key(leaf->dirs[CGROUP_PIDS], "pids.events", "max", &u->pids_refused);
    }
    /* In the tree of cpu if the two are one. */
    if (cpu >= 0 && cgroup_read_u64(cpu, "cpuacct.usage", &cpu_ns) == 0)
        u->cpu_us = cpu_ns / 1000;
}

static void kill_all(const struct cgroup_node *leaf)
{
    (void)leaf;
}

static int memory_of_all(const struct cgroup_node *root, uint64_t *ret_bytes)
{
    *ret_bytes = UINT64_MAX;
    if (root->dirs[CGROUP_MEMORY] < 0)
        return 0;
    return cgroup_read_u64(root->dirs[CGROUP_MEMORY], "../memory.limit_in_bytes", ret_bytes);
}

static int memory(const struct cgroup_node *user, uint64_t *ret_bytes)
{
    *ret_bytes = 0;
    if (user->dirs[CGROUP_MEMORY] < 0)
        return 0;
    return cgroup_read_u64(user->dirs[CGROUP_MEMORY], "memory.usage_in_bytes", ret_bytes);
}

static const char *tree_name(enum cgroup_tree tree)
{
    static const char *const names[CGROUP_V1_MAX] = {
        [CGROUP_MEMORY] = "memory",
        [CGROUP_PIDS] = "pids",
        [CGROUP_CPU] = "cpu",
        [CGROUP_CPUACCT] = "cpuacct",
    };

    return names[tree];
}

const struct cgroup_ops cgroup_v1_ops = {
    .mode = WIRE_CGROUP_V1,
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
