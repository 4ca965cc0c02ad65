/* SPDX-License-Identifier: ISC */
/*
 * user_change.c - what the administrator changes about people, and how they go.
 *
 * Who is deleted keeps a row with uid and name, so that audit rows and links still say who it was,
 * and a tombstone. Everything else about the person goes with it.
 */
#include <errno.h>
#include <string.h>

#include "common/ids.h"
#include "registry/change.h"
#include "registry/email.h"
#include "registry/group.h"
#include "registry/registry_internal.h"
#include "registry/user.h"
#include "registry/user_text.h"

#include "common/banned.h"

int user_field_set(struct registry *reg, enum stmt_id id, uint32_t uid, const char *text,
                   int64_t number)
{
    cleanup_stmt struct stmt st = stmt_get(reg, id);

    stmt_int(&st, 1, uid);
    if (text)
        stmt_text(&st, 2, text);
    else
        stmt_int(&st, 2, number);
    return stmt_run(&st, "change a user");
}

static int row_run(struct registry *reg, enum stmt_id id, uint32_t uid, const char *what)
{
    cleanup_stmt struct stmt st = stmt_get(reg, id);

    stmt_int(&st, 1, uid);
    return stmt_run(&st, what);
}

int user_join_group(struct registry *reg, uint32_t uid, const char *group)
{
    bool is_member = false, is_too_many = false;
    struct group g;
    int r = index_catch_up(reg);

    if (r == 0)
        r = group_by_name(reg, group, &g);
    if (r == 0)
        r = group_has_member(reg, g.gid, uid, &is_member);
    if (r < 0 || is_member)
        return r;
    r = change_begin(reg);
    if (r < 0)
        return r;
    r = group_member_add(reg, g.gid, uid);
    if (r >= 0)
        r = group_limit_check(reg, uid, &is_too_many);
    if (r == 0 && is_too_many)
        r = registry_fail(reg, -E2BIG, "user with uid %u in group %s", uid, group);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_publish(reg, always_entitled, NULL);
}

/* --- a change ------------------------------------------------------------------------------ */

/* What an open change does, and whether NSS will see it. */
struct changer {
    struct registry *reg;
    const struct user_change *change;
    struct user user; /* as before */
    const char *what;
    bool is_visible;
};

static enum user_change_verdict texts_check(const struct user_change *c)
{
    char lower[EMAIL_SIZE];

    if (c->email && c->email[0] && email_normalize(c->email, lower) < 0)
        return USER_CHANGE_EMAIL_INVALID;
    if (c->comment && !comment_is_valid(c->comment))
        return USER_CHANGE_COMMENT_INVALID;
    if (c->shell && !shell_is_valid(c->shell))
        return USER_CHANGE_SHELL_INVALID;
    return USER_CHANGED;
}

static int email_change(struct changer *x, enum user_change_verdict *ret_verdict)
{
    char lower[EMAIL_SIZE] = "";
    struct user other;
    int r;

    if (x->change->email[0] == '\0')
        return user_field_set(x->reg, STMT_USER_EMAIL_SET, x->user.uid, "", 0);
    r = email_normalize(x->change->email, lower);
    if (r == 0)
        r = user_by_email(x->reg, lower, &other);
    if (r == 0 && other.uid != x->user.uid)
        *ret_verdict = USER_CHANGE_EMAIL_TAKEN;
    if (r == 0 || r != -ENOENT)
        return r;
    return user_field_set(x->reg, STMT_USER_EMAIL_SET, x->user.uid, lower, 0);
}

static int fields_change(struct changer *x, enum user_change_verdict *ret_verdict)
{
    const struct user_change *c = x->change;
    uint32_t uid = x->user.uid;
    int r = c->email ? email_change(x, ret_verdict) : 0;

    if (r == 0 && c->comment)
        r = user_field_set(x->reg, STMT_USER_COMMENT_SET, uid, c->comment, 0);
    if (r == 0 && c->shell)
        r = user_field_set(x->reg, STMT_USER_SHELL_SET, uid, c->shell, 0);
    if (r == 0 && c->has_expiry)
        r = user_field_set(x->reg, STMT_USER_EXPIRY_SET, uid, NULL, c->expires_s);
    if (r == 0 && c->has_locked && c->is_locked != (x->user.state == USER_STATE_LOCKED))
        r = row_run(x->reg, c->is_locked ? STMT_USER_LOCK : STMT_USER_UNLOCK, uid,
                    c->is_locked ? "lock a user" : "unlock a user");
    return r;
}

static int group_leave(struct changer *x, uint32_t gid)
{
    int r = group_member_remove(x->reg, gid, x->user.uid);

    x->is_visible = x->is_visible || r > 0;
    return r < 0 ? r : 0;
}

/* USER_GROUPS_SET: out of all that are not named. */
static int groups_leave_others(struct changer *x)
{
    struct group groups[USER_GROUPS_MAX + 1];
    size_t n = 0;
    int r = group_of_user(x->reg, x->user.uid, groups, USER_GROUPS_MAX + 1, &n);

    for (size_t i = 0; r == 0 && i < n; i++) {
        bool is_kept = strcmp(groups[i].name, GROUP_ALL_USERS) == 0;

        for (size_t k = 0; !is_kept && k < x->change->group_count; k++)
            is_kept = strcmp(groups[i].name, x->change->groups[k]) == 0;
        if (!is_kept)
            r = group_leave(x, groups[i].gid);
    }
    return r;
}

static int group_change_one(struct changer *x, const char *name,
                            enum user_change_verdict *ret_verdict)
{
    struct group g;
    int r = group_by_name(x->reg, name, &g);

    if (r == -ENOENT) {
        x->what = name;
        *ret_verdict = USER_CHANGE_NO_GROUP;
        return 0;
    }
    if (r < 0)
        return r;
    if (x->change->groups_how != USER_GROUPS_REMOVE) {
        r = group_member_add(x->reg, g.gid, x->user.uid);
        x->is_visible = x->is_visible || r > 0;
        return r < 0 ? r : 0;
    }
    if (strcmp(name, GROUP_ALL_USERS) == 0) {
        x->what = name;
        *ret_verdict = USER_CHANGE_GROUP_IS_ALL;
        return 0;
    }
    return group_leave(x, g.gid);
}

static int groups_change(struct changer *x, enum user_change_verdict *ret_verdict)
{
    const struct user_change *c = x->change;
    bool is_too_many = false;
    int r = c->groups_how == USER_GROUPS_SET ? groups_leave_others(x) : 0;

    for (size_t i = 0; r == 0 && *ret_verdict == USER_CHANGED && i < c->group_count; i++)
        r = group_change_one(x, c->groups[i], ret_verdict);
    if (r < 0 || *ret_verdict != USER_CHANGED)
        return r;
    r = group_limit_check(x->reg, x->user.uid, &is_too_many);
    if (r == 0 && is_too_many)
        *ret_verdict = USER_CHANGE_TOO_MANY_GROUPS;
    return r;
}

int user_change(struct registry *reg, uint32_t uid, const struct user_change *change,
                const char **ret_what, enum user_change_verdict *ret_verdict)
{
    struct changer x = {.reg = reg, .change = change};
    enum user_change_verdict verdict = texts_check(change);
    int r;

    if (change->has_expiry && change->expires_s < 0)
        return registry_fail(reg, -EINVAL, "set the expiry of a user");
    /* What NSS does not see waits for no index: a lock is wanted most when the disk is full. */
    r = change->groups_how == USER_GROUPS_KEEP ? 0 : index_catch_up(reg);
    if (r == 0)
        r = user_by_uid(reg, uid, &x.user);
    if (r < 0)
        return r;
    if (verdict != USER_CHANGED) {
        *ret_verdict = verdict;
        return 0;
    }
    r = change_begin(reg);
    if (r < 0)
        return r;
    r = fields_change(&x, &verdict);
    if (r == 0 && verdict == USER_CHANGED && change->groups_how != USER_GROUPS_KEEP)
        r = groups_change(&x, &verdict);
    if (r < 0 || verdict != USER_CHANGED)
        change_abort(reg);
    else
        r = x.is_visible ? change_publish(reg, always_entitled, NULL) : change_commit(reg);
    if (r < 0)
        return r;
    if (x.what)
        *ret_what = x.what;
    *ret_verdict = verdict;
    return 0;
}

/* --- the end ------------------------------------------------------------------------------- */

static int links_revoke(struct registry *reg, uint32_t uid, uint32_t *ret_n)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_LINK_REVOKE_OF_USER);
    int r;

    stmt_int(&st, 1, uid);
    stmt_int(&st, 2, now_s());
    r = stmt_run(&st, "revoke a user's links");
    if (r == 0)
        *ret_n = (uint32_t)sqlite3_changes(reg->db);
    return r;
}

int user_delete(struct registry *reg, uint32_t uid, uint32_t *ret_links_revoked)
{
    uint32_t links = 0;
    struct user user;
    int r = index_catch_up(reg);

    if (r == 0)
        r = user_by_uid(reg, uid, &user);
    if (r == 0)
        r = change_begin(reg);
    if (r < 0)
        return r;
    change_touch(reg, uid);
    r = row_run(reg, STMT_MEMBERS_OF_USER_DELETE, uid, "take a user out of the groups");
    if (r == 0)
        r = links_revoke(reg, uid, &links);
    if (r == 0)
        r = row_run(reg, STMT_USER_DELETE, uid, "delete a user");
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    r = change_publish(reg, always_entitled, NULL);
    if (r == 0)
        *ret_links_revoked = links;
    return r;
}
