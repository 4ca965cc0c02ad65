/* SPDX-License-Identifier: ISC */
/*
 * user_state.c - reserved, active, locked, expired, deleted.
 *
 * That somebody's time is over is not stored but computed whenever a user is read: nothing has to
 * run at that moment for it to be true, and an expiry that is moved needs no state repaired. A lock
 * is stored, and outweighs: it is an act of the administrator and stays when the expiry is moved.
 */
#include "registry/user_state.h"

#include <errno.h>
#include <string.h>

#include "registry/change.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

static const char *const state_keys[USER_STATE__COUNT] = {
#define USER_STATE_KEY(id, key) [USER_STATE_##id] = key,
    USER_STATES(USER_STATE_KEY)
#undef USER_STATE_KEY
};

const char *user_state_key(enum user_state state)
{
    return state < USER_STATE__COUNT ? state_keys[state] : "unknown";
}

int user_state_read(struct stmt *st, int col, enum user_state *ret_state)
{
    char key[16];
    int r = stmt_col_text(st, col, key, sizeof(key));

    if (r < 0)
        return r;
    for (size_t i = 0; i < USER_STATE__COUNT; i++) {
        if (strcmp(key, state_keys[i]) == 0) {
            *ret_state = (enum user_state)i;
            return 0;
        }
    }
    return registry_fail(st->reg, -EBADMSG, "unknown user state %s", key);
}

enum user_state user_state_effective(enum user_state stored, int64_t expires_s, int64_t now_s)
{
    switch (stored) {
    case USER_STATE_RESERVED:
    case USER_STATE_ACTIVE:
        return expires_s > 0 && expires_s <= now_s ? USER_STATE_EXPIRED : stored;
    case USER_STATE_LOCKED:
    case USER_STATE_EXPIRED:
    case USER_STATE_DELETED:
    case USER_STATE__COUNT:
        break;
    }
    return stored;
}

/* One row of users changes and NSS does not see it. */
static int row_change(struct registry *reg, enum stmt_id id, uint32_t uid, const int64_t *value,
                      const char *what)
{
    int r = change_begin(reg);

    if (r < 0)
        return r;
    {
        cleanup_stmt struct stmt st = stmt_get(reg, id);

        stmt_int(&st, 1, uid);
        if (value)
            stmt_int(&st, 2, *value);
        r = stmt_run(&st, what);
    }
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

int user_activate(struct registry *reg, uint32_t uid)
{
    struct user user;
    int r = user_by_uid(reg, uid, &user);

    /* Every run comes through here: only the first one may cost a commit. */
    if (r < 0 || user.state != USER_STATE_RESERVED)
        return r;
    return row_change(reg, STMT_USER_ACTIVATE, uid, NULL, "activate a user");
}

int user_lock(struct registry *reg, uint32_t uid, bool is_locked)
{
    struct user user;
    int r = user_by_uid(reg, uid, &user);

    if (r < 0 || (user.state == USER_STATE_LOCKED) == is_locked)
        return r;
    return row_change(reg, is_locked ? STMT_USER_LOCK : STMT_USER_UNLOCK, uid, NULL,
                      is_locked ? "lock a user" : "unlock a user");
}

int user_set_expiry(struct registry *reg, uint32_t uid, int64_t expires_s)
{
    struct user user;
    int r;

    if (expires_s < 0)
        return registry_fail(reg, -EINVAL, "set the expiry of a user");
    r = user_by_uid(reg, uid, &user);
    if (r < 0 || user.expires_s == expires_s)
        return r;
    return row_change(reg, STMT_USER_EXPIRY_SET, uid, &expires_s, "set the expiry of a user");
}

int user_next_expiry(struct registry *reg, int64_t after_s, int64_t *ret_expires_s)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USER_NEXT_EXPIRY);
    int r;

    stmt_int(&st, 1, after_s);
    r = stmt_step(&st, "look for the next expiry");
    if (r < 0)
        return r;
    *ret_expires_s = r > 0 ? stmt_col_int(&st, 0) : 0; /* min() of no rows is SQL's NULL, so 0 */
    return 0;
}
