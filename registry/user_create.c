/* SPDX-License-Identifier: ISC */
/*
 * user_create.c - how people get a name and a uid: one, or many at once.
 *
 * A creation that is repeated must find the first one: a caller that timed out asks again. So the
 * search by external_id and e-mail comes first, and what an earlier call stored but could not
 * publish is published before the answer. Whom the search finds, the caller runs programs as: it
 * must never take one person for another.
 *
 * Many at once are one change: the first row that cannot be done undoes all, and a rehearsal is the
 * same change, undone when all of it is done.
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
#include "registry/name_next.h"
#include "registry/registry_internal.h"
#include "registry/user.h"
#include "registry/user_state.h"
#include "registry/user_text.h"

#include "common/banned.h"

/* A checked struct user_spec: e-mail in lower case, NULL for what is not given. */
struct request {
    uint32_t owner_uid;
    const char *external_id;
    const char *email;
    const struct user_spec *spec;
    char email_lower[EMAIL_SIZE];
};

/* Identity only; the rest is looked at when the user turns out to be new. */
static enum user_verdict request_init(struct request *rq, const struct user_spec *spec)
{
    *rq = (struct request){
        .owner_uid = spec->owner_uid, .external_id = spec->external_id, .spec = spec};
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

/* --- inside an open change ----------------------------------------------------------------- */

/* What the rows of one change have in common. */
struct maker {
    struct registry *reg;
    registry_taken_fn taken;
    void *arg;
    bool is_visible; /* to NSS: something is to be published */
    struct name_next names;
};

/* A name that was asked for: syntax, reserved list, anybody's. */
static int name_check(const struct maker *m, const char *name, enum user_verdict *ret_verdict)
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
    r = name_is_taken(m->reg, name, m->taken, m->arg, &is_taken);
    if (r == 0)
        *ret_verdict = is_taken ? USER_NAME_TAKEN : USER_CREATED;
    return r;
}

/* The first free name for a stem. USER_NAME_TAKEN: all of NAME_TRIES are taken. */
static int name_make(struct maker *m, const char *stem, char ret_name[NAME_SIZE],
                     enum user_verdict *ret_verdict)
{
    for (size_t digits = 0; digits < NAME_CLASSES; digits++) {
        struct name_class class = {0};
        int r = name_next_get(&m->names, stem, digits, &class);

        if (r < 0)
            return registry_fail(m->reg, r, "make a name");
        while (*class.next <= class.last) {
            enum user_verdict verdict = USER_NAME_TAKEN;
            char name[NAME_SIZE];

            name_candidate(stem, (*class.next)++, name);
            r = name_check(m, name, &verdict);
            if (r < 0)
                return r;
            if (verdict != USER_CREATED)
                continue;
            memcpy(ret_name, name, NAME_SIZE);
            *ret_verdict = verdict;
            return 0;
        }
    }
    *ret_verdict = USER_NAME_TAKEN;
    return 0;
}

static int name_choose(struct maker *m, const struct request *rq, uint32_t uid,
                       char ret_name[NAME_SIZE], enum user_verdict *ret_verdict)
{
    char stem[NAME_SIZE] = "";
    int r;

    if (rq->spec->name) {
        r = name_check(m, rq->spec->name, ret_verdict);
        if (r == 0 && *ret_verdict == USER_CREATED)
            r = str_copy(ret_name, NAME_SIZE, rq->spec->name);
        return r;
    }
    if (rq->email)
        name_stem(rq->email, stem);
    else /* An external_id may say who somebody is: it stays in the registry. */
        (void)snprintf(stem, sizeof(stem), "u%u", uid);
    return name_make(m, stem, ret_name, ret_verdict);
}

static int uid_choose(const struct maker *m, const struct request *rq, uint32_t *ret_uid,
                      enum user_verdict *ret_verdict)
{
    uint32_t uid = rq->spec->uid;
    bool is_taken = true;
    int r;

    if (uid == 0) {
        r = id_allocate(m->reg, m->taken, m->arg, ret_uid);
        if (r == 0)
            *ret_verdict = *ret_uid == 0 ? USER_IDS_EXHAUSTED : USER_CREATED;
        return r;
    }
    if (uid < m->reg->id_min || uid > m->reg->id_max) {
        *ret_verdict = USER_UID_INVALID;
        return 0;
    }
    r = id_is_taken(m->reg, uid, m->taken, m->arg, &is_taken);
    if (r < 0)
        return r;
    *ret_uid = uid;
    *ret_verdict = is_taken ? USER_UID_TAKEN : USER_CREATED;
    return 0;
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
    stmt_int(&st, 5, user->expires_s);
    stmt_text(&st, 6, user->comment);
    stmt_text(&st, 7, user->shell);
    r = stmt_run(&st, "insert the user");
    if (r == 0 && rq->external_id)
        r = external_id_insert(reg, rq->owner_uid, rq->external_id, user->uid);
    return r;
}

static int all_users_join(struct registry *reg, uint32_t uid)
{
    struct group g;
    int r = group_by_name(reg, GROUP_ALL_USERS, &g);

    if (r == -ENOENT)
        return registry_fail(reg, -EBADMSG, "group " GROUP_ALL_USERS " is missing");
    return r < 0 ? r : group_member_add(reg, g.gid, uid);
}

/* The groups that were asked for, as far as the user is not in them. */
static int groups_join(struct maker *m, const struct request *rq, uint32_t uid,
                       enum user_verdict *ret_verdict)
{
    bool is_too_many = false;
    int r;

    for (size_t i = 0; i < rq->spec->group_count; i++) {
        struct group g;

        r = group_by_name(m->reg, rq->spec->groups[i], &g);
        if (r == -ENOENT) {
            *ret_verdict = USER_NO_GROUP;
            return 0;
        }
        if (r == 0)
            r = group_member_add(m->reg, g.gid, uid);
        if (r < 0)
            return r;
        m->is_visible = m->is_visible || r > 0;
        if (r > 0 && rq->spec->gain && i < 32)
            rq->spec->gain->groups |= UINT32_C(1) << i;
    }
    r = group_limit_check(m->reg, uid, &is_too_many);
    if (r == 0)
        *ret_verdict = is_too_many ? USER_TOO_MANY_GROUPS : USER_CREATED;
    return r;
}

/* The rows of a new user, or the verdict why there are none. */
static int user_make(struct maker *m, const struct request *rq, struct user *ret_user,
                     enum user_verdict *ret_verdict)
{
    const char *comment = rq->spec->comment ? rq->spec->comment : "";
    const char *shell = rq->spec->shell ? rq->spec->shell : "";
    struct user u = {.state = USER_STATE_RESERVED, .created_s = now_s()};
    int r;

    u.expires_s = rq->spec->expires_s == EXPIRY_KEEP ? 0 : rq->spec->expires_s;
    if (!comment_is_valid(comment) || !shell_is_valid(shell)) {
        *ret_verdict = comment_is_valid(comment) ? USER_SHELL_INVALID : USER_COMMENT_INVALID;
        return 0;
    }
    r = uid_choose(m, rq, &u.uid, ret_verdict);
    if (r == 0 && *ret_verdict == USER_CREATED)
        r = name_choose(m, rq, u.uid, u.name, ret_verdict);
    if (r < 0 || *ret_verdict != USER_CREATED)
        return r;
    r = str_copy(u.email, sizeof(u.email), rq->email ? rq->email : "");
    if (r == 0)
        r = str_copy(u.comment, sizeof(u.comment), comment);
    if (r == 0)
        r = str_copy(u.shell, sizeof(u.shell), shell);
    if (r == 0)
        r = user_insert(m->reg, rq, &u);
    if (r == 0)
        r = all_users_join(m->reg, u.uid);
    if (r >= 0)
        r = groups_join(m, rq, u.uid, ret_verdict);
    if (r < 0)
        return r;
    m->is_visible = true;
    u.state = user_state_effective(u.state, u.expires_s, now_s());
    *ret_user = u;
    return 0;
}

/* --- one ----------------------------------------------------------------------------------- */

static int user_add(struct registry *reg, const struct request *rq, registry_taken_fn taken,
                    void *arg, struct user *ret_user, enum user_verdict *ret_verdict)
{
    struct maker m = {.reg = reg, .taken = taken, .arg = arg};
    int r = change_begin(reg);

    if (r < 0)
        return r;
    r = user_make(&m, rq, ret_user, ret_verdict);
    name_next_done(&m.names);
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

static bool spec_is_whole(const struct user_spec *spec)
{
    return (spec->email || spec->external_id || spec->name) && spec->expires_s >= EXPIRY_KEEP;
}

int user_create(struct registry *reg, const struct user_spec *spec, registry_taken_fn taken,
                void *arg, struct user *ret_user, enum user_verdict *ret_verdict)
{
    enum user_verdict verdict;
    struct request rq;
    struct user user;
    int r;

    if (!taken || !spec_is_whole(spec))
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

/* --- many ---------------------------------------------------------------------------------- */

/* Who exists gets what the row has more. */
static int user_extend(struct maker *m, const struct request *rq, struct user *user,
                       enum user_verdict *ret_verdict)
{
    enum user_verdict verdict = USER_CREATED;
    int r = groups_join(m, rq, user->uid, &verdict);

    if (r < 0)
        return r;
    if (verdict != USER_CREATED) {
        *ret_verdict = verdict;
        return 0;
    }
    *ret_verdict = USER_EXISTED;
    if (rq->spec->expires_s == EXPIRY_KEEP || rq->spec->expires_s == user->expires_s)
        return 0;
    if (rq->spec->gain) {
        rq->spec->gain->has_expiry = true;
        rq->spec->gain->expires_before_s = user->expires_s;
    }
    r = user_field_set(m->reg, STMT_USER_EXPIRY_SET, user->uid, NULL, rq->spec->expires_s);
    return r < 0 ? r : user_by_uid(m->reg, user->uid, user);
}

static int row_do(struct maker *m, const struct user_spec *spec, struct user *ret_user,
                  enum user_verdict *ret_verdict)
{
    struct request rq;
    int r;

    if (spec->gain)
        *spec->gain = (struct user_gain){0};
    *ret_verdict = request_init(&rq, spec);
    if (*ret_verdict != USER_CREATED)
        return 0;
    r = request_find(m->reg, &rq, ret_user, ret_verdict);
    if (r == 0 && *ret_verdict == USER_UNBOUND) {
        r = external_id_insert(m->reg, rq.owner_uid, rq.external_id, ret_user->uid);
        *ret_verdict = USER_EXISTED;
    }
    if (r < 0 || *ret_verdict == USER_CONFLICT)
        return r;
    return *ret_verdict == USER_CREATED ? user_make(m, &rq, ret_user, ret_verdict)
                                        : user_extend(m, &rq, ret_user, ret_verdict);
}

static int rows_do(struct maker *m, const struct user_spec *specs, size_t n, struct user *ret_users,
                   enum user_verdict *ret_verdicts, size_t *ret_bad)
{
    size_t i;

    for (i = 0; i < n; i++) {
        int r = row_do(m, &specs[i], &ret_users[i], &ret_verdicts[i]);

        if (r < 0)
            return r;
        if (ret_verdicts[i] != USER_CREATED && ret_verdicts[i] != USER_EXISTED)
            break;
    }
    *ret_bad = i;
    return 0;
}

int user_create_batch(struct registry *reg, const struct user_spec *specs, size_t n,
                      bool is_rehearsal, registry_taken_fn taken, void *arg, struct user *ret_users,
                      enum user_verdict *ret_verdicts, size_t *ret_bad)
{
    struct maker m = {.reg = reg, .taken = taken, .arg = arg};
    size_t bad = 0;
    int r;

    if (n > USER_BATCH_MAX)
        return registry_fail(reg, -E2BIG, "create %zu users at once", n);
    for (size_t i = 0; i < n; i++) {
        if (!taken || !spec_is_whole(&specs[i]))
            return registry_fail(reg, -EINVAL, "create users");
    }
    r = index_catch_up(reg);
    if (r == 0)
        r = change_begin(reg);
    if (r < 0)
        return r;
    r = rows_do(&m, specs, n, ret_users, ret_verdicts, &bad);
    name_next_done(&m.names);
    if (r < 0 || bad < n || is_rehearsal)
        change_abort(reg);
    else
        r = m.is_visible ? change_publish(reg, taken, arg) : change_commit(reg);
    if (r == 0)
        *ret_bad = bad;
    return r;
}
