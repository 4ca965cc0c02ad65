/* SPDX-License-Identifier: ISC */
/*
 * cgroup.c - control groups: users' groups and leaves, from being made to being dropped.
 *
 * Everything is done from descriptors that were opened once. The directory itself belongs to
 * somebody else (on a systemd host: to a unit that only sleeps), and may vanish and be made again
 * with all that was in it. What shows that is a group that cannot be made because its parent is
 * gone; then the directories are opened again, once, and the users' groups with them.
 */
#include "sessiond/monitor/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sessiond/monitor/cgroup_internal.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* --- the host's part ----------------------------------------------------------------------- */

int cgroup_config_v1(struct cgroup_config *config, const char *arg)
{
    for (int i = 0; i < CGROUP_V1_MAX; i++) {
        const char *name = cgroup_v1_ops.tree_name((enum cgroup_tree)i);
        size_t len = strlen(name);

        if (strncmp(arg, name, len) != 0 || arg[len] != '=')
            continue;
        if (config->v1_dirs[i] || arg[len + 1] != '/')
            return -EINVAL;
        config->v1_dirs[i] = arg + len + 1;
        return 0;
    }
    return -EINVAL;
}

int cgroup_root_open(struct cgroup *cg, const char **ret_what)
{
    const char *paths[CGROUP_TREES_MAX] = {0};
    struct cgroup_node root;
    int r = 0;

    cgroup_node_init(&root);
    for (int i = 0; i < CGROUP_V1_MAX; i++)
        paths[i] = cg->config->v1_dirs[i];
    paths[cg->ops == &cgroup_v2_ops ? 0 : CGROUP_UNIFIED] = cg->config->v2_dir;
    for (int i = 0; r == 0 && i < CGROUP_TREES_MAX; i++) {
        if (!paths[i])
            continue;
        root.dirs[i] = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root.dirs[i] < 0)
            r = -errno;
        *ret_what = paths[i];
    }
    if (r == 0)
        r = cg->ops->check(&root, ret_what);
    if (r < 0) {
        cgroup_node_close(&root);
        return r;
    }
    cgroup_node_close(&cg->root);
    cg->root = root;
    return 0;
}

int cgroup_new(const struct cgroup_config *config, struct cgroup **ret_cg, const char **ret_what)
{
    struct cgroup *cg = calloc(1, sizeof(*cg));
    bool is_v1 = false;
    int r;

    *ret_what = "control groups";
    if (!cg)
        return -ENOMEM;
    cgroup_node_init(&cg->root);
    cg->config = config;
    for (int i = 0; i < CGROUP_V1_MAX; i++)
        is_v1 |= config->v1_dirs[i] != NULL;
    if (config->v2_dir)
        cg->ops = config->is_lite ? &cgroup_lite_ops : &cgroup_v2_ops;
    else if (is_v1)
        cg->ops = &cgroup_v1_ops;
    *ret_what = "--cgroup and --cgroup-v1 exclude each other";
    r = cg->ops == &cgroup_v2_ops && is_v1 ? -EINVAL : 0;
    if (r == 0 && cg->ops)
        r = cgroup_root_open(cg, ret_what);
    if (r < 0) {
        free(cg);
        return r;
    }
    *ret_cg = cg;
    return 0;
}

enum wire_cgroup_mode cgroup_mode(const struct cgroup *cg)
{
    return cg->ops ? cg->ops->mode : WIRE_CGROUP_NONE;
}

uint32_t cgroup_limits(const struct cgroup *cg)
{
    static const struct {
        enum cgroup_tree tree;
        uint32_t limit;
    } of_v1[] = {{CGROUP_MEMORY, WIRE_LIMIT_MEMORY},
                 {CGROUP_PIDS, WIRE_LIMIT_PIDS},
                 {CGROUP_CPU, WIRE_LIMIT_CPU}};
    uint32_t limits = 0;

    if (!cg->ops || cg->ops == &cgroup_v2_ops)
        return cg->ops ? WIRE_LIMIT_ALL : 0;
    for (size_t i = 0; i < sizeof(of_v1) / sizeof(of_v1[0]); i++)
        limits |= cg->root.dirs[of_v1[i].tree] >= 0 ? of_v1[i].limit : 0;
    return limits;
}

/* --- users --------------------------------------------------------------------------------- */

void cgroup_user_free(struct cgroup *cg, struct cgroup_user *user)
{
    for (struct cgroup_user **p = &cg->users; *p; p = &(*p)->next) {
        if (*p == user) {
            *p = user->next;
            break;
        }
    }
    cgroup_node_close(&user->node);
    free(user);
}

/*
 * Nobody gets more than half of what all have together. Files in a tmpfs are memory of no process:
 * with them somebody alone could fill the group of all, where the kernel would kill the others.
 */
static int memory_share(const struct cgroup *cg, struct plan_cgroup *plan, const char **ret_what)
{
    uint64_t all, host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    int r;

    *ret_what = "the memory of all users";
    r = cg->ops->memory_of_all(&cg->root, &all);
    if (r < 0)
        return r;
    if (all > host)
        all = host;
    if (plan->memory_max_bytes > all / 2)
        plan->memory_max_bytes = all / 2;
    return 0;
}

static bool is_same(const struct plan_cgroup *a, const struct plan_cgroup *b)
{
    return a->memory_max_bytes == b->memory_max_bytes && a->pids_max == b->pids_max &&
           a->io_weight == b->io_weight && a->io_read == b->io_read && a->io_write == b->io_write;
}

/* What is in the group keeps what it has: no limit goes down under it. */
static int limits_keep(const struct cgroup *cg, const struct cgroup_user *user,
                       struct plan_cgroup *plan, const char **ret_what)
{
    struct wire_receipt now = {0};
    int r;

    if (user->leaves == 0)
        return 0;
    *ret_what = "the limits of the user's group";
    r = cg->ops->read(&user->node, &now);
    if (r < 0)
        return r;
    if (now.cgroup_memory_max > plan->memory_max_bytes)
        plan->memory_max_bytes = now.cgroup_memory_max;
    if (now.cgroup_pids_max > plan->pids_max)
        plan->pids_max = now.cgroup_pids_max;
    return 0;
}

/* Return: 0 or a negative errno; nothing is written if nothing is different. */
static int user_limit(const struct cgroup *cg, struct cgroup_user *user,
                      const struct plan_cgroup *wanted, const char **ret_what)
{
    struct plan_cgroup plan;
    int r;

    if (!wanted || (user->has_plan && is_same(&user->plan, wanted)))
        return 0;
    plan = *wanted;
    r = memory_share(cg, &plan, ret_what);
    if (r == 0)
        r = limits_keep(cg, user, &plan, ret_what);
    if (r == 0)
        r = cg->ops->limit_user(&user->node, &plan, ret_what);
    if (r == 0 && cg->ops == &cgroup_v2_ops)
        r = cgroup_io_limit(&user->node, &plan, ret_what);
    if (r < 0)
        return r;
    /* With somebody in it, it may have more than was wanted: ask again the next time. */
    user->has_plan = user->leaves == 0;
    user->plan = *wanted;
    return 0;
}

int cgroup_user_get(struct cgroup *cg, uint32_t uid, const struct plan_cgroup *plan,
                    struct cgroup_user **ret_user, const char **ret_what)
{
    struct cgroup_user *user = cg->users;
    char name[CGROUP_NAME_SIZE];
    int r;

    while (user && (user->uid != uid || user->is_stale))
        user = user->next;
    if (user) {
        r = user_limit(cg, user, plan, ret_what);
        if (r == 0)
            *ret_user = user;
        return r;
    }
    user = calloc(1, sizeof(*user));
    if (!user)
        return -ENOMEM;
    user->uid = uid;
    user->empty_ms = clock_ms();
    cgroup_node_init(&user->node);
    (void)snprintf(name, sizeof(name), "u%u", uid);
    *ret_what = "the user's group";
    /* One that was there may be of an earlier sessiond, with other limits: set them again. */
    r = cgroup_node_make(&cg->root, name);
    if (r == 0 || r == -EEXIST)
        r = cgroup_node_open(&cg->root, name, &user->node);
    if (r == 0)
        r = user_limit(cg, user, plan, ret_what);
    if (r < 0) {
        cgroup_node_close(&user->node);
        free(user);
        return r;
    }
    user->next = cg->users;
    cg->users = user;
    *ret_user = user;
    return 0;
}

/* --- leaves -------------------------------------------------------------------------------- */

void cgroup_leaf_free(struct cgroup_leaf *leaf)
{
    if (leaf->user && --leaf->user->leaves == 0)
        leaf->user->empty_ms = clock_ms();
    cgroup_node_close(&leaf->node);
    free(leaf);
}

static struct cgroup_leaf *leaf_alloc(struct cgroup *cg, enum cgroup_kind kind,
                                      struct cgroup_user *user, const char *id)
{
    struct cgroup_leaf *leaf = calloc(1, sizeof(*leaf));

    if (!leaf)
        return NULL;
    cgroup_node_init(&leaf->node);
    leaf->cg = cg;
    leaf->kind = kind;
    leaf->user = user;
    user->leaves++;
    (void)snprintf(leaf->name, sizeof(leaf->name), "%s-%.32s",
                   kind == CGROUP_RUN ? "run" : "session", id);
    return leaf;
}

static void leaf_list(struct cgroup *cg, struct cgroup_leaf *leaf)
{
    leaf->next = cg->leaves;
    cg->leaves = leaf;
}

static int leaf_make(struct cgroup *cg, enum cgroup_kind kind, uint32_t uid, const char *id,
                     const struct plan *plan, struct cgroup_leaf **ret_leaf, const char **ret_what)
{
    struct cgroup_user *user;
    struct cgroup_leaf *leaf;
    int r = cgroup_user_get(cg, uid, &plan->user, &user, ret_what);

    if (r < 0)
        return r;
    leaf = leaf_alloc(cg, kind, user, id);
    if (!leaf)
        return -ENOMEM;
    *ret_what = "a leaf";
    r = cgroup_node_make(&user->node, leaf->name);
    if (r == -EEXIST) { /* somebody's who lives, or died a moment ago: not to be removed here */
        cgroup_leaf_free(leaf);
        return r;
    }
    if (r == 0)
        r = cgroup_node_open(&user->node, leaf->name, &leaf->node);
    if (r == 0)
        r = cg->ops->limit_leaf(&leaf->node, &plan->leaf, ret_what);
    if (r < 0) {
        (void)cgroup_node_remove(&user->node, leaf->name);
        cgroup_leaf_free(leaf);
        return r;
    }
    leaf->plan = plan->leaf;
    leaf_list(cg, leaf);
    *ret_leaf = leaf;
    return 0;
}

int cgroup_leaf_new(struct cgroup *cg, enum cgroup_kind kind, uint32_t uid, const char *id,
                    const struct plan *plan, struct cgroup_leaf **ret_leaf, const char **ret_what)
{
    int r;

    if (!cg->ops) {
        *ret_leaf = NULL;
        return 0;
    }
    *ret_what = "";
    r = leaf_make(cg, kind, uid, id, plan, ret_leaf, ret_what);
    if (r != -ENOENT && r != -ENODEV)
        return r;
    /* The tree was taken away. Those who lived in it are dead; is there a new one? */
    for (struct cgroup_user *user = cg->users; user; user = user->next)
        user->is_stale = true;
    r = cgroup_root_open(cg, ret_what);
    if (r < 0)
        return r;
    log_notice("the control groups were made anew: opened again");
    return leaf_make(cg, kind, uid, id, plan, ret_leaf, ret_what);
}

int cgroup_leaf_find(struct cgroup *cg, enum cgroup_kind kind, uint32_t uid, const char *id,
                     struct cgroup_leaf **ret_leaf)
{
    struct cgroup_user *user;
    struct cgroup_leaf *leaf;
    const char *what;
    int r;

    if (!cg->ops)
        return -ENODEV;
    r = cgroup_user_get(cg, uid, NULL, &user, &what);
    if (r < 0)
        return r;
    leaf = leaf_alloc(cg, kind, user, id);
    if (!leaf)
        return -ENOMEM;
    r = cgroup_node_open(&user->node, leaf->name, &leaf->node);
    if (r < 0) {
        cgroup_leaf_free(leaf);
        return r;
    }
    leaf_list(cg, leaf);
    *ret_leaf = leaf;
    return 0;
}

int cgroup_leaf_fds(const struct cgroup_leaf *leaf, int ret_fds[CGROUP_TREES_MAX], size_t *ret_n)
{
    size_t n = 0;

    for (int i = 0; leaf && i < CGROUP_TREES_MAX; i++) {
        int fd;

        if (leaf->node.dirs[i] < 0)
            continue;
        fd = leaf->cg->ops->entrance((enum cgroup_tree)i, leaf->node.dirs[i]);
        if (fd < 0) {
            while (n > 0)
                cleanup_close_p(&ret_fds[--n]);
            return fd;
        }
        ret_fds[n++] = fd;
    }
    *ret_n = n;
    return 0;
}

int cgroup_leaf_attach(const struct cgroup_leaf *leaf, pid_t pid)
{
    int r = 0;

    for (int i = 0; leaf && r == 0 && i < CGROUP_TREES_MAX; i++) {
        if (leaf->node.dirs[i] >= 0)
            r = cgroup_write_u64(leaf->node.dirs[i], "cgroup.procs", (uint64_t)pid);
    }
    return r;
}

/* Path of a tree's line in /proc/PID/cgroup, "N:NAMES:PATH"; up to the end of line. NULL: none. */
static const char *member_path(const char *members, const char *tree, size_t *ret_len)
{
    size_t len = strlen(tree);

    for (const char *line = members; *line;) {
        const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        size_t line_len = strcspn(line, "\n");

        if (!path || path > line + line_len)
            return NULL;
        for (const char *at = names + 1;;) { /* "cpu,cpuacct" */
            size_t n = strcspn(at, ",:");

            if (n == len && strncmp(at, tree, len) == 0) {
                *ret_len = (size_t)(line + line_len - (path + 1));
                return path + 1;
            }
            if (at[n] == ':')
                break;
            at += n + 1;
        }
        line += line_len;
        line += *line == '\n';
    }
    return NULL;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t n = strlen(end);

    return len >= n && strncmp(text + len - n, end, n) == 0;
}

bool cgroup_leaf_has(const struct cgroup_leaf *leaf, pid_t pid)
{
    for (int i = 0; leaf && i < CGROUP_TREES_MAX; i++) {
        if (leaf->node.dirs[i] >= 0 && !cgroup_procs_has(leaf->node.dirs[i], pid))
            return false;
    }
    return true;
}

static void none_read(const char *members, struct wire_receipt *r)
{
    size_t len;
    const char *path = member_path(members, "", &len);
    char leaf[WIRE_PATH_SIZE];

    r->cgroup_mode = WIRE_CGROUP_NONE;
    r->cgroup_swap_max = UINT64_MAX;
    if (!path) /* a host without the unified tree */
        return;
    (void)snprintf(leaf, sizeof(leaf), "%.*s", (int)len, path);
    str_cut(r->cgroup_leaf, sizeof(r->cgroup_leaf), leaf);
}

/* Two witnesses: the process names its groups, and the groups that we hold open have it. */
static bool is_member(const struct cgroup_leaf *leaf, const char *members, pid_t pid,
                      char ret_path[WIRE_PATH_SIZE])
{
    char end[2 * CGROUP_NAME_SIZE];

    (void)snprintf(end, sizeof(end), "/u%u/%s", leaf->user->uid, leaf->name);
    for (int i = 0; i < CGROUP_TREES_MAX; i++) {
        const char *tree = leaf->cg->ops->tree_name((enum cgroup_tree)i), *at;
        size_t len;

        if (leaf->node.dirs[i] < 0)
            continue;
        at = member_path(members, tree, &len);
        if (!at || !ends_with(at, len, end))
            return false;
        (void)snprintf(ret_path, WIRE_PATH_SIZE, "%.*s", (int)len, at);
    }
    return cgroup_leaf_has(leaf, pid);
}

int cgroup_leaf_read(const struct cgroup_leaf *leaf, const char *members, pid_t pid,
                     struct wire_receipt *ret_r)
{
    char path[WIRE_PATH_SIZE];

    if (!leaf || !is_member(leaf, members, pid, path)) {
        none_read(members, ret_r);
        return 0;
    }
    str_cut(ret_r->cgroup_leaf, sizeof(ret_r->cgroup_leaf), path);
    ret_r->cgroup_mode = leaf->cg->ops->mode;
    ret_r->cgroup_swap_max = UINT64_MAX;
    if (leaf->cg->ops == &cgroup_v2_ops)
        cgroup_io_read(&leaf->user->node, ret_r);
    return leaf->cg->ops->read(&leaf->node, ret_r);
}

bool cgroup_counts_cpu(const struct cgroup *cg)
{
    struct wire_usage u = {.cpu_us = WIRE_NOT_KNOWN};

    if (cg->ops)
        cg->ops->usage(&cg->root, &u);
    return u.cpu_us != WIRE_NOT_KNOWN;
}

bool cgroup_leaf_matches(const struct cgroup_leaf *leaf, const struct wire_receipt *r)
{
    if (!leaf)
        return r->cgroup_mode == WIRE_CGROUP_NONE;
    return r->cgroup_mode == leaf->cg->ops->mode &&
           leaf->cg->ops->matches(&leaf->node, &leaf->plan, r) &&
           (leaf->cg->ops != &cgroup_v2_ops ||
            cgroup_io_matches(&leaf->user->node, &leaf->user->plan, r));
}

void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct wire_usage *ret_usage)
{
    *ret_usage = (struct wire_usage){
        .memory_peak_bytes = WIRE_NOT_KNOWN,
        .cpu_us = WIRE_NOT_KNOWN,
        .pids_peak = WIRE_NOT_KNOWN,
        .oom_kills = WIRE_NOT_KNOWN,
        .oom_own = WIRE_NOT_KNOWN,
        .pids_refused = WIRE_NOT_KNOWN,
    };
    if (leaf)
        leaf->cg->ops->usage(&leaf->node, ret_usage);
}

void cgroup_leaf_kill(const struct cgroup_leaf *leaf)
{
    if (leaf)
        leaf->cg->ops->kill(&leaf->node);
}
