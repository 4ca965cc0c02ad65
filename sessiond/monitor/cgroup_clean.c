/* SPDX-License-Identifier: ISC */
/*
 * cgroup_clean.c - control groups: what is over is removed.
 *
 * A group goes away when it is empty, which is a moment after the init was reaped. So nothing
 * waits for it: dropped leaves are on a list, and a timer tries until they are gone. The same timer
 * removes the group of a user some seconds after the last leaf: somebody who starts one run after
 * the other keeps it.
 *
 * But not while there is memory in it. Pages outlive the processes that made them where somebody
 * else holds them, as a memfd that was passed on. In a group that was removed no user's limit
 * counts them, and the next group of their user would begin at nothing: so the group stays, closed,
 * and the next leaf finds it again. What is kept is looked at once a minute.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "sessiond/monitor/cgroup_internal.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define TRY_SOON_MS  10    /* mostly the first look is the last one */
#define TRY_AGAIN_MS 200   /* when it was not */
#define LATE_MS      15000 /* longer than any process takes to die */
#define USER_IDLE_MS 5000
#define KEPT_LOOK_MS 60000
/* What a group has at rest, of counters that were not gathered yet and small files, is below. */
#define KEPT_BYTES (16ull << 20)
#define GOODBYE_MS 8000 /* for the process of a login: longer than it stays to say "denied" */

static void timer_set(struct cgroup *cg, int64_t ms)
{
    struct timeval tv = ms_timeval(ms);

    if (cg->timer && event_add(cg->timer, &tv) < 0)
        log_warning("no memory to remove control groups");
}

static bool leaf_remove(struct cgroup_leaf *leaf, int64_t now_ms)
{
    int64_t age_ms = now_ms - leaf->dropped_ms;
    int r = cgroup_node_remove(&leaf->user->node, leaf->name);

    if (r == 0)
        return true;
    if (leaf->kind == CGROUP_RUN || age_ms >= GOODBYE_MS)
        cgroup_leaf_kill(leaf);
    if (age_ms >= LATE_MS && !leaf->is_late) {
        leaf->is_late = true;
        log_warning("a control group cannot be removed leaf=%s uid=%u errno=%d", leaf->name,
                    leaf->user->uid, -r);
    }
    return false;
}

/* Is there memory in a group that nobody is in? Not to know is a yes. */
static bool has_memory(const struct cgroup *cg, const struct cgroup_node *user)
{
    uint64_t bytes = 0;
    int r = cg->ops->memory(user, &bytes);

    if (r == -ENOENT || r == -ENODEV) /* it is gone */
        return false;
    return r < 0 || bytes > KEPT_BYTES;
}

/* Return: false if it is kept, for what is in it. */
static bool user_dir_remove(const struct cgroup *cg, const struct cgroup_node *user, uint32_t uid)
{
    char name[CGROUP_NAME_SIZE];

    if (has_memory(cg, user))
        return false;
    (void)snprintf(name, sizeof(name), "u%u", uid);
    /* Not empty: there are leaves that an earlier sessiond left, which the next sweep finds. */
    (void)cgroup_node_remove(&cg->root, name);
    return true;
}

static void kept_look_at(struct cgroup *cg, int64_t at_ms)
{
    if (cg->look_ms == 0 || at_ms < cg->look_ms)
        cg->look_ms = at_ms;
}

static void user_remove(struct cgroup *cg, struct cgroup_user *user, int64_t now_ms)
{
    if (!user->is_stale && !user_dir_remove(cg, &user->node, user->uid))
        kept_look_at(cg, now_ms + KEPT_LOOK_MS);
    cgroup_user_free(cg, user);
}

static bool user_is_open(const struct cgroup *cg, uint32_t uid)
{
    for (const struct cgroup_user *user = cg->users; user; user = user->next) {
        if (user->uid == uid && !user->is_stale)
            return true;
    }
    return false;
}

/* Name of a user's group. */
static bool is_user_name(const char *name, uint32_t *ret_uid)
{
    return name[0] == 'u' && str_to_u32(name + 1, UINT32_MAX, ret_uid) == 0 &&
           (id_is_allocatable(*ret_uid) || id_is_doctors(*ret_uid));
}

static DIR *dir_list(int dir)
{
    cleanup_close int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

    if (list)
        (void)fd_take(&fd);
    return list;
}

/* Users' groups that are not open: none of them has a leaf of ours. */
static void kept_look(struct cgroup *cg, int64_t now_ms)
{
    DIR *list = NULL;

    cg->look_ms = 0;
    /* Where memory is not counted nothing is kept; one tree has all names. */
    for (int i = 0; !list && i < CGROUP_TREES_MAX; i++)
        list = cg->root.dirs[i] >= 0 ? dir_list(cg->root.dirs[i]) : NULL;
    if (!list)
        return;
    for (struct dirent *e; (e = readdir(list));) {
        struct cgroup_node node;
        uint32_t uid;

        if (!is_user_name(e->d_name, &uid) || user_is_open(cg, uid) ||
            cgroup_node_open(&cg->root, e->d_name, &node) < 0)
            continue;
        if (!user_dir_remove(cg, &node, uid))
            kept_look_at(cg, now_ms + KEPT_LOOK_MS);
        cgroup_node_close(&node);
    }
    (void)closedir(list);
}

void cgroup_clean(struct cgroup *cg)
{
    int64_t now_ms = clock_ms(), next_ms = -1;

    for (struct cgroup_leaf **p = &cg->dropped; *p;) {
        struct cgroup_leaf *leaf = *p;

        if (leaf_remove(leaf, now_ms)) {
            *p = leaf->next;
            cgroup_leaf_free(leaf);
        } else {
            next_ms = TRY_AGAIN_MS;
            p = &leaf->next;
        }
    }
    for (struct cgroup_user *user = cg->users, *next; user; user = next) {
        next = user->next;
        if (user->leaves > 0)
            continue;
        if (user->is_stale || now_ms - user->empty_ms >= USER_IDLE_MS)
            user_remove(cg, user, now_ms);
        else if (next_ms < 0)
            next_ms = USER_IDLE_MS;
    }
    if (cg->look_ms && now_ms >= cg->look_ms)
        kept_look(cg, now_ms);
    if (next_ms < 0 && cg->look_ms)
        next_ms = cg->look_ms - now_ms;
    if (next_ms >= 0)
        timer_set(cg, next_ms);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    cgroup_clean(arg);
}

int cgroup_start(struct cgroup *cg, struct event_base *base)
{
    cg->timer = evtimer_new(base, on_timer, cg);
    return cg->timer ? 0 : -ENOMEM;
}

void cgroup_leaf_drop(struct cgroup_leaf *leaf)
{
    struct cgroup *cg;

    if (!leaf)
        return;
    cg = leaf->cg;
    for (struct cgroup_leaf **p = &cg->leaves; *p; p = &(*p)->next) {
        if (*p == leaf) {
            *p = leaf->next;
            break;
        }
    }
    leaf->dropped_ms = clock_ms();
    leaf->next = cg->dropped;
    cg->dropped = leaf;
    timer_set(cg, TRY_SOON_MS);
}

/* --- what an earlier sessiond has left ----------------------------------------------------- */

static bool is_open(const struct cgroup *cg, uint32_t uid, const char *name)
{
    for (const struct cgroup_leaf *leaf = cg->leaves; leaf; leaf = leaf->next) {
        if (leaf->user->uid == uid && strcmp(leaf->name, name) == 0)
            return true;
    }
    return false;
}

/* Return: kind, or -1: not one of ours. */
static int kind_of(const char *name)
{
    if (strncmp(name, "run-", 4) == 0)
        return CGROUP_RUN;
    return strncmp(name, "session-", 8) == 0 ? CGROUP_SESSION : -1;
}

static void sweep_user(struct cgroup *cg, const struct cgroup_user *user, int dir, uint32_t uid)
{
    DIR *list = dir_list(dir);

    if (!list)
        return;
    for (struct dirent *e; (e = readdir(list));) {
        int kind = kind_of(e->d_name);
        struct cgroup_leaf *leaf;

        if (kind < 0 || is_open(cg, uid, e->d_name))
            continue;
        /* With several trees it may be in some of them only: made whole, it is removed whole. */
        (void)cgroup_node_make(&user->node, e->d_name);
        if (cgroup_leaf_find(cg, (enum cgroup_kind)kind, uid, strchr(e->d_name, '-') + 1, &leaf) <
            0)
            continue;
        log_notice("a control group was left leaf=%s uid=%u", e->d_name, uid);
        cgroup_leaf_kill(leaf);
        cgroup_leaf_drop(leaf);
    }
    (void)closedir(list);
}

static void sweep_tree(struct cgroup *cg, int dir)
{
    DIR *list = dir_list(dir);

    if (!list)
        return;
    for (struct dirent *e; (e = readdir(list));) {
        cleanup_close int user_dir = -1;
        struct cgroup_user *user;
        const char *what;
        uint32_t uid;

        if (!is_user_name(e->d_name, &uid))
            continue;
        user_dir = openat(dir, e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (user_dir < 0 || cgroup_user_get(cg, uid, NULL, &user, &what) < 0)
            continue;
        sweep_user(cg, user, user_dir, uid);
        /* Empty: there may be many that were kept. The next look removes it, or not. */
        if (user->leaves == 0)
            cgroup_user_free(cg, user);
    }
    (void)closedir(list);
}

void cgroup_sweep(struct cgroup *cg)
{
    for (int i = 0; cg->ops && i < CGROUP_TREES_MAX; i++) {
        if (cg->root.dirs[i] >= 0)
            sweep_tree(cg, cg->root.dirs[i]);
    }
    if (!cg->ops)
        return;
    kept_look_at(cg, clock_ms() + USER_IDLE_MS);
    timer_set(cg, TRY_SOON_MS);
}
