/* SPDX-License-Identifier: ISC */
/*
 * users.c - /v1/users: create, list, look at, lock.
 *
 * Creation: the rights first, then the question whether the person exists already, which needs no
 * lock; only what has to be stored waits for the password lock of the host, and the question is
 * asked again when its turn comes: others may have answered it meanwhile.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "common/ids.h"
#include "common/str.h"
#include "common/wire.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/hostcheck.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/lock.h"
#include "sessiond/api/lockout.h"
#include "sessiond/api/user_input.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* A creation that waits for the lock. */
struct creation {
    struct request *rq;
    struct user_input input;
};

static void refuse(struct request *rq, unsigned http, enum status status, const char *field,
                   const char *message)
{
    struct error e;

    (void)error_set(&e, http, status, field, "%s", message);
    request_refuse(rq, &e);
}

static bool caller_has_group(const struct caller *c, const char *name)
{
    for (uint32_t i = 0; i < c->group_count && i < CALLER_GROUPS_MAX; i++) {
        if (strcmp(c->groups[i].name, name) == 0)
            return true;
    }
    return false;
}

/* The group that the user will be in must be one that the caller may act for. */
static int choose_group(const struct caller *c, struct user_input *in, struct error *e)
{
    if (in->group[0]) {
        if (caller_has_group(c, in->group))
            return 0;
        return error_set(e, 403, STATUS_NOT_ALLOWED, "group",
                         "This caller may not act for that group.");
    }
    if (caller_has_group(c, GROUP_ALL_USERS))
        return 0;
    if (c->group_count == 1)
        return str_copy(in->group, sizeof(in->group), c->groups[0].name);
    return error_field(e, "group", "This caller acts for several groups: group must be given.");
}

/* Existing users of other groups are nobody's business: the caller may not even learn the name. */
static bool may_have(struct request *rq, const struct user *user)
{
    bool may = rq->door == DOOR_ADMIN;

    if (!may && caller_may_act_for(rq->app->reg, &rq->caller, user->uid, &may) < 0) {
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
        return false;
    }
    if (!may) {
        log_notice("denied: user of another group peer_uid=%u uid=%u", rq->peer_uid, user->uid);
        refuse(rq, 403, STATUS_NOT_ALLOWED, NULL, "This caller may not act for that user.");
    }
    return may;
}

/* Asking again with another group puts the person there: a second course needs no second person. */
static bool joined(struct request *rq, const struct user *user, const char *group)
{
    int r = group ? user_join_group(rq->app->reg, user->uid, group) : 0;

    if (r == -ENOENT)
        refuse(rq, 400, STATUS_BAD_REQUEST, "group", "There is no such group.");
    else if (r < 0)
        request_fail(rq, "The group could not be joined", registry_error(rq->app->reg));
    return r == 0;
}

/* @group: that the user shall be in, or NULL. */
static void answer_user(struct request *rq, const struct user *user, const char *group,
                        bool is_created)
{
    if (!is_created && (!may_have(rq, user) || !joined(rq, user, group)))
        return;
    request_answer(rq, is_created ? MHD_HTTP_CREATED : MHD_HTTP_OK,
                   json_of_new_user(user, is_created));
}

static const char *group_of(const struct user_spec *spec)
{
    return spec->group_count > 0 ? spec->groups[0] : NULL;
}

static void answer_verdict(struct request *rq, enum user_verdict verdict, const struct user *user,
                           const struct user_spec *spec)
{
    switch (verdict) {
    case USER_CREATED:
        log_info("user created name=%s uid=%u by_uid=%u", user->name, user->uid, rq->peer_uid);
        answer_user(rq, user, group_of(spec), true);
        return;
    case USER_EXISTED:
        answer_user(rq, user, group_of(spec), false);
        return;
    case USER_UNBOUND: /* not of user_create() */
        break;
    case USER_NAME_INVALID:
        refuse(rq, 400, STATUS_BAD_REQUEST, "name",
               "A name is a lower-case letter and up to 30 of a-z, 0-9 and -.");
        return;
    case USER_NAME_RESERVED:
        refuse(rq, 409, STATUS_BAD_REQUEST, "name", "This name is reserved.");
        return;
    case USER_NAME_TAKEN:
        refuse(rq, 409, STATUS_BAD_REQUEST, "name", "This name is taken.");
        return;
    case USER_EMAIL_INVALID:
        refuse(rq, 400, STATUS_BAD_REQUEST, "email",
               "This is not an e-mail address (NAME@DOMAIN).");
        return;
    case USER_EXTERNAL_ID_INVALID:
        refuse(rq, 400, STATUS_BAD_REQUEST, "external_id", "This is not a usable external_id.");
        return;
    case USER_CONFLICT:
        refuse(rq, 409, STATUS_BAD_REQUEST, "external_id",
               "email and external_id are not of one user.");
        return;
    case USER_NO_GROUP:
        refuse(rq, 400, STATUS_BAD_REQUEST, "group", "There is no such group.");
        return;
    case USER_IDS_EXHAUSTED:
        request_fail(rq, "No user id is left", "ids are exhausted");
        return;
    case USER_UID_INVALID: /* of what this body cannot hold yet */
    case USER_UID_TAKEN:
    case USER_COMMENT_INVALID:
    case USER_SHELL_INVALID:
    case USER_TOO_MANY_GROUPS:
        break;
    }
    request_fail(rq, "The user could not be created", "unknown verdict");
}

/*
 * Each caller has a namespace of its own; the administrator's is 0, which no caller has, because
 * a caller row for UID 0 cannot be made.
 */
static struct user_spec spec_of(const struct request *rq, const struct user_input *input,
                                const char *groups[1])
{
    return user_input_spec(input, rq->door == DOOR_ADMIN ? 0 : rq->caller.uid, groups);
}

/*
 * Answer what needs nothing stored. False: not answered, user_create() has the word.
 *
 * An external_id is bound for those only who may act for the user: what is refused has no effect.
 */
static bool answer_known(struct request *rq, const struct user_spec *spec)
{
    enum user_verdict verdict = USER_CONFLICT;
    struct user user = {0};

    if (user_exists_already(rq->app->reg, spec, &user, &verdict) < 0) {
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
        return true;
    }
    if (verdict == USER_CREATED)
        return false;
    if (verdict == USER_UNBOUND)
        return !may_have(rq, &user);
    answer_verdict(rq, verdict, &user, spec);
    return true;
}

static void create_locked(void *arg, int got, int64_t deadline_ms)
{
    struct creation *c = arg;
    struct request *rq = c->rq;
    struct hostcheck check = {.deadline_ms = deadline_ms};
    const char *groups[1];
    struct user_spec spec = spec_of(rq, &c->input, groups);
    enum user_verdict verdict = USER_IDS_EXHAUSTED;
    struct user user = {0};
    int r = got;

    if (got == 0 && answer_known(rq, &spec)) {
        free(c);
        return;
    }
    if (got == 0)
        r = user_create(rq->app->reg, &spec, hostcheck_taken, &check, &user, &verdict);
    if (r == 0)
        answer_verdict(rq, verdict, &user, &spec);
    else if (got == -ENOTCONN)
        refuse(rq, 503, STATUS_INTERNAL, NULL, "sessiond is gone.");
    else if (r == -ETIMEDOUT || got < 0)
        refuse(rq, 503, STATUS_BUSY, NULL,
               "The password lock of the host (/etc/.pwd.lock) is held by others, or sessiond "
               "cannot open it: its journal says which.");
    else
        request_fail(rq, "The user could not be created", registry_error(rq->app->reg));
    free(c);
}

static void create_start(struct request *rq, const struct user_input *input)
{
    struct creation *c = malloc(sizeof(*c));
    int r = -ENOMEM;

    if (c) {
        *c = (struct creation){.rq = rq, .input = *input};
        r = lock_queue_add(rq->app->locks, create_locked, c);
    }
    if (r == 0) {
        request_wait(rq);
        return;
    }
    free(c);
    if (r == -ENOTCONN)
        refuse(rq, 503, STATUS_INTERNAL, NULL, "sessiond is not there.");
    else
        request_fail(rq, "The user could not be created", "no memory");
}

void users_post(struct request *rq, const json_t *body)
{
    const char *groups[1];
    struct user_input input;
    struct user_spec spec;
    struct error e;

    if (user_input_parse(body, &input, &e) < 0 ||
        (rq->door == DOOR_API && choose_group(&rq->caller, &input, &e) < 0)) {
        request_refuse(rq, &e);
        return;
    }
    spec = spec_of(rq, &input, groups);
    if (!answer_known(rq, &spec))
        create_start(rq, &input);
}

/* --- the admin's views --- */

static int external_id_add(void *arg, uint32_t owner_uid, const char *external_id)
{
    json_t *ids = arg;

    return json_array_append_new(ids, json_of_external_id(owner_uid, external_id)) < 0 ? -ENOMEM
                                                                                       : 0;
}

static json_t *user_view(struct registry *reg, const struct user *user)
{
    struct group groups[WIRE_GROUPS_MAX];
    json_t *ids = json_array();
    size_t n = 0;

    if (group_of_user(reg, user->uid, groups, WIRE_GROUPS_MAX, &n) < 0 ||
        user_external_id_list(reg, user->uid, external_id_add, ids) < 0) {
        json_decref(ids);
        return NULL;
    }
    return json_of_user(user, ids, groups, n);
}

/* Rows are collected first: the registry is not asked anything else while it lists. */
struct listing {
    struct user *users;
    size_t n, size;
};

static int listing_add(void *arg, const struct user *user)
{
    struct listing *l = arg;

    if (l->n == l->size) {
        size_t size = l->size ? l->size * 2 : 64;
        struct user *p = reallocarray(l->users, size, sizeof(*p));

        if (!p)
            return -ENOMEM;
        l->users = p;
        l->size = size;
    }
    l->users[l->n++] = *user;
    return 0;
}

void users_get(struct request *rq, const json_t *body)
{
    struct listing l = {0};
    json_t *array = json_array();
    int r = user_list(rq->app->reg, listing_add, &l);

    (void)body;
    for (size_t i = 0; r == 0 && i < l.n; i++) {
        if (json_array_append_new(array, user_view(rq->app->reg, &l.users[i])) < 0)
            r = -EIO;
    }
    free(l.users);
    if (r == 0) {
        request_answer(rq, MHD_HTTP_OK, json_pack("{s:o}", "users", array));
        return;
    }
    json_decref(array);
    request_fail(rq, "The users could not be listed", registry_error(rq->app->reg));
}

/* Find the user that the path names. False: answered. */
static bool find_named(struct request *rq, struct user *ret_user)
{
    int r = name_is_valid(rq->param) ? user_by_name(rq->app->reg, rq->param, ret_user) : -ENOENT;

    if (r == -ENOENT)
        refuse(rq, 404, STATUS_UNKNOWN_USER, "user", "There is no such user.");
    else if (r < 0)
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
    return r == 0;
}

static void answer_view(struct request *rq, const struct user *user)
{
    json_t *view = user_view(rq->app->reg, user);

    if (view)
        request_answer(rq, MHD_HTTP_OK, view);
    else
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
}

void users_get_one(struct request *rq, const json_t *body)
{
    struct user user;

    (void)body;
    if (find_named(rq, &user))
        answer_view(rq, &user);
}

/* --- lock and expiry --- */

static int patch_store(struct registry *reg, uint32_t uid, const struct user_patch *patch)
{
    int r = 0;

    if (patch->has_expiry)
        r = user_set_expiry(reg, uid, patch->expires_s);
    if (r == 0 && patch->has_locked)
        r = user_lock(reg, uid, patch->is_locked);
    return r;
}

/*
 * Stored first, so that nothing new begins; then what runs is ended. If only one of the two changes
 * could be stored, it has its effect all the same.
 */
void users_patch(struct request *rq, const json_t *body)
{
    struct app *app = rq->app;
    struct user_patch patch;
    struct user user;
    struct error e;
    int r;

    if (user_patch_parse(body, &patch, &e) < 0) {
        request_refuse(rq, &e);
        return;
    }
    if (!find_named(rq, &user))
        return;
    r = patch_store(app->reg, user.uid, &patch);
    if (r < 0)
        log_error("a user could not be changed: %s uid=%u", registry_error(app->reg), user.uid);
    lockout_rearm(app->lockout);
    if (user_by_uid(app->reg, user.uid, &user) < 0) {
        request_fail(rq, "The registry could not be read", registry_error(app->reg));
        return;
    }
    log_notice("user changed name=%s uid=%u state=%s", user.name, user.uid,
               user_state_key(user.state));
    if (user.state == USER_STATE_LOCKED || user.state == USER_STATE_EXPIRED)
        lockout_user(app, user.uid);
    if (r < 0)
        refuse(rq, 500, STATUS_INTERNAL, NULL, "The user could not be changed.");
    else
        answer_view(rq, &user);
}
