/* SPDX-License-Identifier: ISC */
/* group_change.c - what the administrator changes about groups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/ids.h"
#include "registry/change.h"
#include "registry/group.h"
#include "registry/id.h"
#include "registry/name.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

/* A group that may be changed. Return: 0, -ENOENT, -EPERM, or a negative errno. */
static int group_get_ours(struct registry *reg, uint32_t gid, const char *what,
                          struct group *ret_group)
{
    int r = index_catch_up(reg);

    if (r == 0)
        r = group_by_gid(reg, gid, ret_group);
    if (r == 0 && strcmp(ret_group->name, GROUP_ALL_USERS) == 0)
        r = registry_fail(reg, -EPERM, "%s " GROUP_ALL_USERS ", which every user is in", what);
    return r;
}

/* --- name ---------------------------------------------------------------------------------- */

static int name_check(struct registry *reg, const char *name, registry_taken_fn taken)
{
    if (!name)
        return 0;
    if (!taken || !name_is_valid(name))
        return registry_fail(reg, -EINVAL, "rename a group");
    if (name_is_reserved(name))
        return registry_fail(reg, -EPERM, "group %s would have a reserved name", name);
    return 0;
}

static int rename_do(struct registry *reg, uint32_t gid, const char *name, registry_taken_fn taken,
                     void *arg)
{
    cleanup_stmt struct stmt st = {0};
    int r = group_name_check(reg, name, taken, arg);

    if (r < 0)
        return r;
    r = used_name_add(reg, gid, name);
    if (r < 0)
        return r;
    change_touch(reg, gid);
    st = stmt_get(reg, STMT_GROUP_RENAME);
    stmt_int(&st, 1, gid);
    stmt_text(&st, 2, name);
    return stmt_run(&st, "rename a group");
}

/* --- members ------------------------------------------------------------------------------- */

struct members {
    uint32_t *v; /* owned; ascending where it is searched */
    size_t n, room;
};

static int member_note(void *arg, const struct user *user)
{
    struct members *m = arg;

    if (m->n == m->room) {
        size_t room = m->room > 0 ? 2 * m->room : 64;
        uint32_t *bigger = reallocarray(m->v, room, sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        m->v = bigger;
        m->room = room;
    }
    m->v[m->n++] = user->uid;
    return 0;
}

static int uid_compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* 1: changed, 0: it was so, or a negative errno. */
static int member_put(struct registry *reg, uint32_t gid, uint32_t uid)
{
    bool is_too_many = false;
    struct user user;
    int r = user_by_uid(reg, uid, &user), added;

    if (r == -ENOENT)
        return registry_fail(reg, r, "no user has uid %u", uid);
    if (r < 0)
        return r;
    added = group_member_add(reg, gid, uid);
    if (added <= 0)
        return added;
    r = group_limit_check(reg, uid, &is_too_many);
    if (r == 0 && is_too_many)
        r = registry_fail(reg, -E2BIG, "user %s would be in more than %u groups", user.name,
                          USER_GROUPS_MAX);
    return r < 0 ? r : 1;
}

/* Those of @members who are not in @kept (ascending). Return: how many were, or -errno. */
static int members_remove(struct registry *reg, uint32_t gid, const struct members *members,
                          const struct members *kept)
{
    int removed = 0;

    for (size_t i = 0; i < members->n; i++) {
        int r;

        if (bsearch(&members->v[i], kept->v, kept->n, sizeof(*kept->v), uid_compare))
            continue;
        r = group_member_remove(reg, gid, members->v[i]);
        if (r < 0)
            return r;
        removed += r;
    }
    return removed;
}

static int others_remove(struct registry *reg, uint32_t gid, const uint32_t *uids, size_t n)
{
    struct members members = {0}, kept = {.v = calloc(n + 1, sizeof(*uids)), .n = n};
    int r = kept.v ? group_member_list(reg, gid, member_note, &members) : -ENOMEM;

    if (r == -ENOMEM)
        (void)registry_fail(reg, r, "change the members of a group");
    if (r == 0) {
        for (size_t i = 0; i < n; i++)
            kept.v[i] = uids[i];
        qsort(kept.v, n, sizeof(*kept.v), uid_compare);
        r = members_remove(reg, gid, &members, &kept);
    }
    free(members.v);
    free(kept.v);
    return r;
}

/* How many memberships changed, or a negative errno. */
static int members_do(struct registry *reg, uint32_t gid, enum user_groups_how how,
                      const uint32_t *uids, size_t n)
{
    int changed = how == USER_GROUPS_SET ? others_remove(reg, gid, uids, n) : 0;

    for (size_t i = 0; changed >= 0 && i < n; i++) {
        int r = how == USER_GROUPS_REMOVE ? group_member_remove(reg, gid, uids[i])
                                          : member_put(reg, gid, uids[i]);

        changed = r < 0 ? r : changed + r;
    }
    return changed;
}

/* --- both ---------------------------------------------------------------------------------- */

/* Something changed: 1; 0: it was so; or a negative errno. */
static int change_do(struct registry *reg, const struct group *group,
                     const struct group_change *change, registry_taken_fn taken, void *arg)
{
    bool has_new_name = change->name && strcmp(group->name, change->name) != 0;
    int r = has_new_name ? rename_do(reg, group->gid, change->name, taken, arg) : 0, changed = 0;

    if (r == 0 && change->how != USER_GROUPS_KEEP)
        changed = members_do(reg, group->gid, change->how, change->uids, change->n);
    if (r < 0 || changed < 0)
        return r < 0 ? r : changed;
    return has_new_name || changed > 0;
}

int group_change(struct registry *reg, uint32_t gid, const struct group_change *change,
                 registry_taken_fn taken, void *arg)
{
    struct group group;
    int r = name_check(reg, change->name, taken);

    if (r == 0)
        r = group_get_ours(reg, gid, change->name ? "rename" : "change the members of", &group);
    if (r == 0)
        r = change_begin(reg);
    if (r < 0)
        return r;
    r = change_do(reg, &group, change, taken, arg);
    if (r <= 0) {
        change_abort(reg);
        return r;
    }
    if (change->name)
        return change_publish(reg, taken, arg);
    return change_publish(reg, always_entitled, NULL);
}

int group_rename(struct registry *reg, uint32_t gid, const char *name, registry_taken_fn taken,
                 void *arg)
{
    const struct group_change change = {.name = name ? name : ""};

    return group_change(reg, gid, &change, taken, arg);
}

int group_members_change(struct registry *reg, uint32_t gid, enum user_groups_how how,
                         const uint32_t *uids, size_t n)
{
    const struct group_change change = {.how = how, .uids = uids, .n = n};

    return group_change(reg, gid, &change, NULL, NULL);
}

/* --- the end ------------------------------------------------------------------------------- */

static int group_run(struct registry *reg, enum stmt_id id, uint32_t gid, const char *what)
{
    cleanup_stmt struct stmt st = stmt_get(reg, id);

    stmt_int(&st, 1, gid);
    return stmt_step(&st, what);
}

static int delete_do(struct registry *reg, uint32_t gid)
{
    int r = others_remove(reg, gid, NULL, 0);

    change_touch(reg, gid);
    return r < 0 ? r : group_run(reg, STMT_GROUP_DELETE, gid, "delete a group");
}

int group_delete(struct registry *reg, uint32_t gid)
{
    struct group group;
    int r = group_get_ours(reg, gid, "delete", &group);

    if (r < 0)
        return r;
    r = group_run(reg, STMT_GROUP_CALLER, gid, "look for the callers of a group");
    if (r > 0)
        return registry_fail(reg, -EBUSY, "a caller acts for group %s", group.name);
    if (r == 0)
        r = change_begin(reg);
    if (r < 0)
        return r;
    r = delete_do(reg, gid);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_publish(reg, always_entitled, NULL);
}
