/* SPDX-License-Identifier: ISC */
/*
 * user.c - people: who they are, and how one gets a name and a uid.
 *
 * A creation that is repeated must find the first one: a caller that timed out asks again. So the
 * search by external_id and e-mail comes first, and what an earlier call stored but could not
 * publish is published before the answer. Whom the search finds, the caller runs programs as: it
 * must never take one person for another.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/ids.h"
#include "registry/change.h"
#include "registry/email.h"
#include "registry/external_id.h"
#include "registry/group.h"
#include "registry/id.h"
#include "registry/name.h"
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

/* One page of rows, so that @fn may use the registry: no statement is open while it runs. */
static int user_page(struct registry *reg, int64_t after, struct user page[LIST_PAGE], int *ret_n)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USER_AFTER);
    int n = 0, r;

    stmt_int(&st, 1, after);
    stmt_int(&st, 2, LIST_PAGE);
    while ((r = stmt_step(&st, "list the users")) > 0 && n < LIST_PAGE) {
        r = user_row_read(&st, &page[n]);
        if (r < 0)
            return r;
        n++;
    }
    if (r < 0)
        return r;
    *ret_n = n;
    return 0;
}

int user_list_from(struct registry *reg, uint32_t after_uid, size_t max, user_fn fn, void *arg)
{
    struct user page[LIST_PAGE];
    size_t left = max;
    int n, r;

    do {
        r = user_page(reg, after_uid, page, &n);
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
    return user_list_from(reg, 0, SIZE_MAX, fn, arg);
}

/* A checked struct user_spec: e-mail in lower case, NULL for what is not given. */
struct request {
    uint32_t owner_uid;
    const char *external_id;
    const char *email;
    const char *name;
    const char *const *groups;
    size_t group_count;
    char email_lower[EMAIL_SIZE];
};

/* Identity only; the name is looked at when the user turns out to be new. */
static enum user_verdict request_init(struct request *rq, const struct user_spec *spec)
{
    *rq = (struct request){.owner_uid = spec->owner_uid,
                           .external_id = spec->external_id,
                           .name = spec->name,
                           .groups = spec->groups,
                           .group_count = spec->group_count};
    if (spec->external_id && !external_id_is_valid(spec->external_id))
        return USER_EXTERNAL_ID_INVALID;
    if (spec->email) {
        if (email_normalize(spec->email, rq->email_lower) < 0)
            return USER_EMAIL_INVALID;
        rq->email = rq->email_lower;
    }
    return USER_CREATED;
}

/* Nobody has this external_id, and @user the e-mail: may they be one person? */
static int email_join(struct registry *reg, const struct request *rq, const struct user *user,
                      enum user_verdict *ret_verdict)
{
    char other[EXTERNAL_ID_SIZE];
    int r = rq->external_id ? user_external_id(reg, rq->owner_uid, user->uid, other) : -ENOENT;

    if (r < 0 && r != -ENOENT)
        return r;
    if (r == 0) /* The caller says itself that these are two people. */
        *ret_verdict = USER_CONFLICT;
    else
        *ret_verdict = rq->external_id ? USER_UNBOUND : USER_EXISTED;
    return 0;
}

/* Who has this external_id or e-mail? USER_CREATED: nobody. */
static int request_find(struct registry *reg, const struct request *rq, struct user *ret_user,
                        enum user_verdict *ret_verdict)
{
    struct user by_id, by_email;
    int found_id = -ENOENT, found_email = -ENOENT;

    if (rq->external_id)
        found_id = external_id_find(reg, rq->owner_uid, rq->external_id, &by_id);
    if (found_id < 0 && found_id != -ENOENT)
        return found_id;
    if (rq->email)
        found_email = user_by_email(reg, rq->email, &by_email);
    if (found_email < 0 && found_email != -ENOENT)
        return found_email;
    if (found_id < 0 && found_email < 0) {
        *ret_verdict = USER_CREATED;
        return 0;
    }
    if (found_id < 0) {
        *ret_user = by_email;
        return email_join(reg, rq, &by_email, ret_verdict);
    }
    if (found_email == 0 && by_id.uid != by_email.uid) {
        *ret_verdict = USER_CONFLICT;
        return 0;
    }
    *ret_user = by_id;
    *ret_verdict = USER_EXISTED;
    return 0;
}

int user_exists_already(struct registry *reg, const struct user_spec *spec, struct user *ret_user,
                        enum user_verdict *ret_verdict)
{
    enum user_verdict verdict;
    struct request rq;
    struct user user;
    int r;

    /* What is not valid belongs to nobody; user_create() says what is wrong with it. */
    if (request_init(&rq, spec) != USER_CREATED) {
        *ret_verdict = USER_CREATED;
        return 0;
    }
    r = index_catch_up(reg);
    if (r == 0)
        r = request_find(reg, &rq, &user, &verdict);
    if (r < 0)
        return r;
    if (verdict == USER_EXISTED || verdict == USER_UNBOUND)
        *ret_user = user;
    *ret_verdict = verdict;
    return 0;
}

/* A name that was asked for: syntax, reserved list, anybody's. */
static int name_check(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                      enum user_verdict *ret_verdict)
{
    bool is_taken = true;
    int r;

    if (!name_is_valid(name)) {
        *ret_verdict = USER_NAME_INVALID;
        return 0;
    }
    if (name_is_reserved(name)) {
        *ret_verdict = USER_NAME_RESERVED;
        return 0;
    }
    r = name_is_taken(reg, name, taken, arg, &is_taken);
    if (r == 0)
        *ret_verdict = is_taken ? USER_NAME_TAKEN : USER_CREATED;
    return r;
}

/* The first free name for a stem. USER_NAME_TAKEN: all of NAME_TRIES are taken. */
static int name_make(struct registry *reg, const char *stem, registry_taken_fn taken, void *arg,
                     char ret_name[NAME_SIZE], enum user_verdict *ret_verdict)
{
    enum user_verdict verdict = USER_NAME_TAKEN;
    char name[NAME_SIZE];

    for (unsigned n = 1; n <= NAME_TRIES && verdict != USER_CREATED; n++) {
        int r;

        name_candidate(stem, n, name);
        r = name_check(reg, name, taken, arg, &verdict);
        if (r < 0)
            return r;
    }
    if (verdict == USER_CREATED)
        memcpy(ret_name, name, NAME_SIZE);
    *ret_verdict = verdict == USER_CREATED ? USER_CREATED : USER_NAME_TAKEN;
    return 0;
}

static int name_choose(struct registry *reg, const struct request *rq, uint32_t uid,
                       registry_taken_fn taken, void *arg, char ret_name[NAME_SIZE],
                       enum user_verdict *ret_verdict)
{
    char stem[NAME_SIZE] = "";
    int r;

    if (rq->name) {
        r = name_check(reg, rq->name, taken, arg, ret_verdict);
        if (r == 0 && *ret_verdict == USER_CREATED)
            r = str_copy(ret_name, NAME_SIZE, rq->name);
        return r;
    }
    if (rq->email)
        name_stem(rq->email, stem);
    else /* An external_id may say who somebody is: it stays in the registry. */
        (void)snprintf(stem, sizeof(stem), "u%u", uid);
    return name_make(reg, stem, taken, arg, ret_name, ret_verdict);
}

static int user_insert(struct registry *reg, const struct request *rq, const struct user *user)
{
    cleanup_stmt struct stmt st = {0};
    int r = tombstone_insert(reg, user->uid, "user", user->name);

    if (r < 0)
        return r;
    change_touch(reg, user->uid);
    st = stmt_get(reg, STMT_USER_INSERT);
    stmt_int(&st, 1, user->uid);
    stmt_text(&st, 2, user->name);
    stmt_text(&st, 3, rq->email);
    stmt_int(&st, 4, user->created_s);
    r = stmt_run(&st, "insert the user");
    if (r == 0 && rq->external_id)
        r = external_id_insert(reg, rq->owner_uid, rq->external_id, user->uid);
    return r;
}

/* GROUP_ALL_USERS, and the course groups that were asked for. */
static int groups_join(struct registry *reg, const struct request *rq, uint32_t uid,
                       enum user_verdict *ret_verdict)
{
    for (size_t i = 0; i <= rq->group_count; i++) {
        const char *name = i == 0 ? GROUP_ALL_USERS : rq->groups[i - 1];
        struct group g;
        int r = group_by_name(reg, name, &g);

        if (r == -ENOENT && i > 0) {
            *ret_verdict = USER_NO_GROUP;
            return 0;
        }
        if (r == -ENOENT)
            return registry_fail(reg, -EBADMSG, "group %s is missing", name);
        if (r == 0)
            r = group_member_add(reg, g.gid, uid);
        if (r < 0)
            return r;
    }
    *ret_verdict = USER_CREATED;
    return 0;
}

/* Inside an open change: the rows of a new user, or the verdict why there are none. */
static int user_make(struct registry *reg, const struct request *rq, registry_taken_fn taken,
                     void *arg, struct user *ret_user, enum user_verdict *ret_verdict)
{
    struct user u = {.state = USER_STATE_RESERVED, .created_s = now_s()};
    int r = id_allocate(reg, taken, arg, &u.uid);

    if (r < 0)
        return r;
    if (u.uid == 0) {
        *ret_verdict = USER_IDS_EXHAUSTED;
        return 0;
    }
    r = name_choose(reg, rq, u.uid, taken, arg, u.name, ret_verdict);
    if (r < 0 || *ret_verdict != USER_CREATED)
        return r;
    r = str_copy(u.email, sizeof(u.email), rq->email ? rq->email : "");
    if (r == 0)
        r = user_insert(reg, rq, &u);
    if (r == 0)
        r = groups_join(reg, rq, u.uid, ret_verdict);
    if (r == 0)
        *ret_user = u;
    return r;
}

static int user_add(struct registry *reg, const struct request *rq, registry_taken_fn taken,
                    void *arg, struct user *ret_user, enum user_verdict *ret_verdict)
{
    int r = change_begin(reg);

    if (r < 0)
        return r;
    r = user_make(reg, rq, taken, arg, ret_user, ret_verdict);
    if (r < 0 || *ret_verdict != USER_CREATED) {
        change_abort(reg);
        return r;
    }
    return change_publish(reg, taken, arg);
}

/* No id or name is given out and NSS sees nothing of it. */
static int user_bind(struct registry *reg, const struct request *rq, const struct user *user)
{
    int r = change_begin(reg);

    if (r < 0)
        return r;
    r = external_id_insert(reg, rq->owner_uid, rq->external_id, user->uid);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

/* Joining gives out no id and no name: there is no right that could be over. */
static int always_entitled(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    (void)id;
    return 0;
}

int user_join_group(struct registry *reg, uint32_t uid, const char *group)
{
    bool is_member = false;
    struct group g;
    int r = group_by_name(reg, group, &g);

    if (r == 0)
        r = group_has_member(reg, g.gid, uid, &is_member);
    if (r < 0 || is_member)
        return r;
    r = change_begin(reg);
    if (r < 0)
        return r;
    r = group_member_add(reg, g.gid, uid);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_publish(reg, always_entitled, NULL);
}

int user_create(struct registry *reg, const struct user_spec *spec, registry_taken_fn taken,
                void *arg, struct user *ret_user, enum user_verdict *ret_verdict)
{
    enum user_verdict verdict;
    struct request rq;
    struct user user;
    int r;

    if (!taken || (!spec->email && !spec->external_id && !spec->name))
        return registry_fail(reg, -EINVAL, "create a user");
    verdict = request_init(&rq, spec);
    if (verdict == USER_CREATED) {
        r = index_catch_up(reg);
        if (r == 0)
            r = request_find(reg, &rq, &user, &verdict);
        if (r < 0)
            return r;
    }
    if (verdict == USER_CREATED) {
        r = user_add(reg, &rq, taken, arg, &user, &verdict);
        if (r < 0)
            return r;
    } else if (verdict == USER_UNBOUND) {
        r = user_bind(reg, &rq, &user);
        if (r < 0)
            return r;
        verdict = USER_EXISTED;
    }
    if (verdict == USER_CREATED || verdict == USER_EXISTED)
        *ret_user = user;
    *ret_verdict = verdict;
    return 0;
}
