/* SPDX-License-Identifier: ISC */
/* group.c - groups and who is in them. */
#include "registry/group.h"

#include <errno.h>

#include "registry/change.h"
#include "registry/id.h"
#include "registry/name.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

#define LIST_PAGE 32

static int group_row_read(struct stmt *st, struct group *ret_group)
{
    struct group g = {0};
    int r = stmt_col_id(st, 0, &g.gid);

    if (r == 0)
        r = stmt_col_text(st, 1, g.name, sizeof(g.name));
    if (r == 0)
        *ret_group = g;
    return r;
}

int group_rows_read(struct stmt *st, struct group *ret_groups, size_t max, size_t *ret_n)
{
    size_t n = 0;
    int r;

    while ((r = stmt_step(st, "read the groups")) > 0) {
        if (n == max)
            return registry_fail(st->reg, -E2BIG, "more than %zu groups", max);
        r = group_row_read(st, &ret_groups[n]);
        if (r < 0)
            return r;
        n++;
    }
    if (r == 0)
        *ret_n = n;
    return r;
}

int group_row_insert(struct registry *reg, uint32_t gid, const char *name)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_GROUP_INSERT);

    change_touch(reg, gid);
    stmt_int(&st, 1, gid);
    stmt_text(&st, 2, name);
    stmt_int(&st, 3, now_s());
    return stmt_run(&st, "insert the group");
}

int group_insert(struct registry *reg, uint32_t gid, const char *name)
{
    int r = tombstone_insert(reg, gid, "group", name);

    return r < 0 ? r : group_row_insert(reg, gid, name);
}

int group_name_check(struct registry *reg, const char *name, registry_taken_fn taken, void *arg)
{
    bool is_taken = true;
    int r = name_is_taken(reg, name, taken, arg, &is_taken);

    if (r < 0)
        return r;
    return is_taken ? registry_fail(reg, -EEXIST, "group %s", name) : 0;
}

/* Inside an open change: rows of a new group, or why not. */
static int group_make(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                      struct group *ret_group)
{
    struct group g = {0};
    int r = group_name_check(reg, name, taken, arg);

    if (r < 0)
        return r;
    r = id_allocate(reg, taken, arg, &g.gid);
    if (r < 0)
        return r;
    if (g.gid == 0)
        return registry_fail(reg, -ENOSPC, "no id is left for group %s", name);
    r = str_copy(g.name, sizeof(g.name), name);
    if (r == 0)
        r = group_insert(reg, g.gid, g.name);
    if (r == 0)
        *ret_group = g;
    return r;
}

int group_create(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                 struct group *ret_group)
{
    struct group g;
    int r;

    if (!taken || !name_is_valid(name))
        return registry_fail(reg, -EINVAL, "create a group");
    if (name_is_reserved(name))
        return registry_fail(reg, -EPERM, "group %s has a reserved name", name);
    r = index_catch_up(reg);
    if (r == 0)
        r = change_begin(reg);
    if (r < 0)
        return r;
    r = group_make(reg, name, taken, arg, &g);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    r = change_publish(reg, taken, arg);
    if (r == 0)
        *ret_group = g;
    return r;
}

static int group_get(struct stmt *st, struct group *ret_group)
{
    int r = stmt_step(st, "look for a group");

    if (r == 0)
        return -ENOENT;
    return r < 0 ? r : group_row_read(st, ret_group);
}

int group_by_name(struct registry *reg, const char *name, struct group *ret_group)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_GROUP_BY_NAME);

    if (!name_is_valid(name))
        return -ENOENT;
    stmt_text(&st, 1, name);
    return group_get(&st, ret_group);
}

int group_by_gid(struct registry *reg, uint32_t gid, struct group *ret_group)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_GROUP_BY_GID);

    stmt_int(&st, 1, gid);
    return group_get(&st, ret_group);
}

int group_list(struct registry *reg, group_fn fn, void *arg)
{
    struct group page[LIST_PAGE];
    int64_t after = 0;
    size_t n;
    int r;

    do {
        /* No statement is open while @fn runs, so that it may use the registry. */
        {
            cleanup_stmt struct stmt st = stmt_get(reg, STMT_GROUP_AFTER);

            stmt_int(&st, 1, after);
            stmt_int(&st, 2, LIST_PAGE);
            r = group_rows_read(&st, page, LIST_PAGE, &n);
        }
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            r = fn(arg, &page[i]);
            if (r != 0)
                return r;
            after = page[i].gid;
        }
    } while (n == LIST_PAGE);
    return 0;
}

int group_of_user(struct registry *reg, uint32_t uid, struct group *ret_groups, size_t max,
                  size_t *ret_n)
{
    cleanup_stmt struct stmt st = {0};
    struct user user;
    int r = user_by_uid(reg, uid, &user);

    if (r < 0)
        return r;
    st = stmt_get(reg, STMT_GROUPS_OF_USER);
    stmt_int(&st, 1, uid);
    return group_rows_read(&st, ret_groups, max, ret_n);
}

/* 1: changed, 0: it was so, or a negative errno. */
static int member_run(struct registry *reg, enum stmt_id id, uint32_t gid, uint32_t uid,
                      const char *what)
{
    cleanup_stmt struct stmt st = stmt_get(reg, id);
    int r;

    stmt_int(&st, 1, uid);
    stmt_int(&st, 2, gid);
    r = stmt_run(&st, what);
    if (r < 0)
        return r;
    r = sqlite3_changes(reg->db) > 0;
    if (r > 0)
        change_touch(reg, uid);
    return r;
}

int group_member_add(struct registry *reg, uint32_t gid, uint32_t uid)
{
    return member_run(reg, STMT_MEMBER_INSERT, gid, uid, "insert the membership");
}

int group_member_remove(struct registry *reg, uint32_t gid, uint32_t uid)
{
    return member_run(reg, STMT_MEMBER_DELETE, gid, uid, "remove the membership");
}

int group_limit_check(struct registry *reg, uint32_t uid, bool *ret_is_too_many)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_MEMBER_COUNT);
    int r;

    stmt_int(&st, 1, uid);
    r = stmt_step(&st, "count the groups of a user");
    if (r < 0)
        return r;
    *ret_is_too_many = stmt_col_int(&st, 0) > (int64_t)USER_GROUPS_MAX + 1;
    return 0;
}

int group_has_member(struct registry *reg, uint32_t gid, uint32_t uid, bool *ret_has)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_MEMBER_IS);
    int r;

    stmt_int(&st, 1, uid);
    stmt_int(&st, 2, gid);
    r = stmt_step(&st, "look for a membership");
    if (r < 0)
        return r;
    *ret_has = r > 0;
    return 0;
}
