/* SPDX-License-Identifier: ISC */
/* user.c - people: who they are. */
#include <errno.h>

#include "registry/email.h"
#include "registry/group.h"
#include "registry/registry_internal.h"
#include "registry/user_state.h"

#include "common/banned.h"

#define LIST_PAGE 32

/* USER_COLUMNS of statements.def. */
static int user_row_read(struct stmt *st, struct user *ret_user)
{
    struct user u = {0};
    int r = stmt_col_id(st, 0, &u.uid);

    if (r == 0)
        r = stmt_col_text(st, 1, u.name, sizeof(u.name));
    if (r == 0)
        r = stmt_col_text(st, 2, u.email, sizeof(u.email));
    if (r == 0)
        r = user_state_read(st, 3, &u.state);
    if (r < 0)
        return r;
    u.created_s = stmt_col_int(st, 4);
    u.expires_s = stmt_col_int(st, 5);
    r = stmt_col_text(st, 6, u.comment, sizeof(u.comment));
    if (r == 0)
        r = stmt_col_text(st, 7, u.shell, sizeof(u.shell));
    if (r < 0)
        return r;
    u.state = user_state_effective(u.state, u.expires_s, now_s());
    *ret_user = u;
    return 0;
}

static int user_get(struct stmt *st, struct user *ret_user)
{
    int r = stmt_step(st, "look for a user");

    if (r == 0)
        return -ENOENT;
    return r < 0 ? r : user_row_read(st, ret_user);
}

int user_by_name(struct registry *reg, const char *name, struct user *ret_user)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USER_BY_NAME);

    if (!name_is_valid(name))
        return -ENOENT;
    stmt_text(&st, 1, name);
    return user_get(&st, ret_user);
}

int user_by_uid(struct registry *reg, uint32_t uid, struct user *ret_user)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USER_BY_UID);

    stmt_int(&st, 1, uid);
    return user_get(&st, ret_user);
}

int user_by_email(struct registry *reg, const char *email, struct user *ret_user)
{
    cleanup_stmt struct stmt st = {0};
    char lower[EMAIL_SIZE];

    if (!email || email_normalize(email, lower) < 0)
        return -ENOENT;
    st = stmt_get(reg, STMT_USER_BY_EMAIL);
    stmt_text(&st, 1, lower);
    return user_get(&st, ret_user);
}

/* Rows of a bound statement with USER_COLUMNS. */
static int user_rows_read(struct stmt *st, struct user page[LIST_PAGE], int *ret_n)
{
    int n = 0, r;

    while ((r = stmt_step(st, "list the users")) > 0 && n < LIST_PAGE) {
        r = user_row_read(st, &page[n]);
        if (r < 0)
            return r;
        n++;
    }
    if (r < 0)
        return r;
    *ret_n = n;
    return 0;
}

/* One page of rows, so that @fn may use the registry: no statement is open while it runs. */
static int user_page(struct registry *reg, uint32_t gid, uint32_t after,
                     struct user page[LIST_PAGE], int *ret_n)
{
    cleanup_stmt struct stmt st =
        stmt_get(reg, gid == 0 ? STMT_USER_AFTER : STMT_USER_MEMBER_AFTER);

    stmt_int(&st, 1, after);
    stmt_int(&st, 2, LIST_PAGE);
    if (gid != 0)
        stmt_int(&st, 3, gid);
    return user_rows_read(&st, page, ret_n);
}

/* @gid: members of this group only; 0: all. */
static int pages_list(struct registry *reg, uint32_t gid, uint32_t after_uid, size_t max,
                      user_fn fn, void *arg)
{
    struct user page[LIST_PAGE];
    size_t left = max;
    int n, r;

    do {
        r = user_page(reg, gid, after_uid, page, &n);
        if (r < 0)
            return r;
        for (int i = 0; i < n && left > 0; i++, left--) {
            r = fn(arg, &page[i]);
            if (r != 0)
                return r;
            after_uid = page[i].uid;
        }
    } while (n == LIST_PAGE && left > 0);
    return 0;
}

int user_list(struct registry *reg, user_fn fn, void *arg)
{
    return pages_list(reg, 0, 0, SIZE_MAX, fn, arg);
}

int user_list_from(struct registry *reg, uint32_t after_uid, size_t max, user_fn fn, void *arg)
{
    return pages_list(reg, 0, after_uid, max, fn, arg);
}

int group_member_list(struct registry *reg, uint32_t gid, user_fn fn, void *arg)
{
    struct group group;
    int r = group_by_gid(reg, gid, &group);

    return r < 0 ? r : pages_list(reg, gid, 0, SIZE_MAX, fn, arg);
}
