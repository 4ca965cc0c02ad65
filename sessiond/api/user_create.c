/* SPDX-License-Identifier: ISC */
/*
 * user_create.c - POST /v1/users.
 *
 * The rights first, then the question whether the person exists already, which needs no lock; only
 * what has to be stored waits for the password lock of the host, and the question is asked again
 * when its turn comes: others may have answered it meanwhile.
 *
 * An account that is adopted is looked up under the lock: nobody can change its line from then on.
 */
#include <errno.h>
#include <microhttpd.h>
#include <string.h>

#include "common/ids.h"
#include "common/str.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/hostcheck.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/locked.h"
#include "sessiond/api/lockout.h"
#include "sessiond/api/user_input.h"
#include "sessiond/api/user_view.h"
#include "sessiond/api/value.h"
#include "sessiond/api/verdict.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* Below are accounts of the system (login.defs(5), UID_MIN): no person's. */
#define ADOPT_UID_MIN 1000u

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
    if (in->group_count > 0) {
        if (caller_has_group(c, in->groups[0]))
            return 0;
        return error_set(e, 403, STATUS_NOT_ALLOWED, "group",
                         "This caller may not act for the group %s.", VALUE(in->groups[0]));
    }
    if (caller_has_group(c, GROUP_ALL_USERS))
        return 0;
    if (c->group_count == 1) {
        in->group_count = 1;
        return str_copy(in->groups[0], sizeof(in->groups[0]), c->groups[0].name);
    }
    return error_field(e, "group", "This caller acts for several groups: group must be given.");
}

/* Existing users of other groups are nobody's business: the caller may not even learn the name. */
static bool may_have(struct request *rq, const struct user *user, const struct user_spec *spec)
{
    bool may = rq->door == DOOR_ADMIN;

    if (!may && caller_may_act_for(rq->app->reg, &rq->caller, user->uid, &may) < 0) {
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
        return false;
    }
    if (!may) {
        log_notice("denied: user of another group peer_uid=%u uid=%u", rq->peer_uid, user->uid);
        request_refuse_with(rq, 403, STATUS_NOT_ALLOWED, NULL,
                            "This caller may not act for the user of %s.",
                            VALUE(spec->email ? spec->email : spec->external_id));
    }
    return may;
}

/*
 * Asking again with another group puts the person there: a second course needs no second person.
 * The same is true of a new expiry. False: answered.
 */
static bool brought_up_to_date(struct request *rq, const struct user_input *in,
                               const struct user_spec *spec, struct user *user)
{
    const struct user_change change = {
        .has_expiry = spec->expires_s != EXPIRY_KEEP,
        .expires_s = spec->expires_s,
        .groups_how = spec->group_count > 0 ? USER_GROUPS_ADD : USER_GROUPS_KEEP,
        .groups = spec->groups,
        .group_count = spec->group_count,
    };
    enum user_change_verdict verdict = USER_CHANGED;
    const char *group = NULL;
    struct error e;
    int r = 0;

    if (change.has_expiry || change.group_count > 0)
        r = user_change(rq->app->reg, user->uid, &change, &group, &verdict);
    if (r == 0 &&
        verdict_of_change(rq->app->reg, verdict, &change, in->groups_key, group, &e) < 0) {
        request_refuse(rq, &e);
        return false;
    }
    if (r == 0 && change.has_expiry) {
        r = user_by_uid(rq->app->reg, user->uid, user);
        lockout_look(rq->app->lockout);
    }
    if (r < 0)
        request_fail(rq, "The user could not be changed", registry_error(rq->app->reg));
    return r == 0;
}

static void answer_created(struct request *rq, const struct user *user)
{
    log_info("user created name=%s uid=%u by_uid=%u", user->name, user->uid, rq->peer_uid);
    if (user->expires_s != 0)
        lockout_rearm(rq->app->lockout);
    request_answer(rq, MHD_HTTP_CREATED, json_of_new_user(user, true));
}

static void answer_verdict(struct request *rq, enum user_verdict verdict, struct user *user,
                           const struct user_input *in, const struct user_spec *spec)
{
    struct error e;

    if (verdict == USER_CREATED)
        answer_created(rq, user);
    else if (verdict_of_user(rq->app->reg, verdict, spec, "", in->groups_key, &e) < 0)
        request_refuse(rq, &e);
    else if (may_have(rq, user, spec) && brought_up_to_date(rq, in, spec, user))
        request_answer(rq, MHD_HTTP_OK, json_of_new_user(user, false));
}

/*
 * Each caller has a namespace of its own; the administrator's is 0, which no caller has, because
 * a caller row for UID 0 cannot be made.
 */
static struct user_spec spec_of(const struct request *rq, const struct user_input *input,
                                const char *groups[GROUP_NAMES_MAX])
{
    return user_input_spec(input, rq->door == DOOR_ADMIN ? 0 : rq->caller.uid, groups);
}

/*
 * Answer what needs nothing stored. False: not answered, user_create() has the word.
 *
 * An external_id is bound for those only who may act for the user: what is refused has no effect.
 */
static bool answer_known(struct request *rq, const struct user_input *in,
                         const struct user_spec *spec)
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
        return !may_have(rq, &user, spec);
    answer_verdict(rq, verdict, &user, in, spec);
    return true;
}

/* Return: 0, -ECANCELED if the request is answered, or a negative errno. */
static int adopt(struct request *rq, struct hostcheck *check, const struct user_input *in)
{
    int r = hostcheck_adopt(check, in->name);

    if (r == -ENOENT)
        request_refuse_with(rq, 409, STATUS_BAD_REQUEST, "name",
                            "There is no account %s in /etc/passwd.", VALUE(in->name));
    else if (r == -ENOTUNIQ)
        request_refuse_with(rq, 409, STATUS_BAD_REQUEST, "name", "/etc/passwd has %s in two lines.",
                            VALUE(in->name));
    else if (r < 0)
        return r;
    else if (check->adopted.uid < ADOPT_UID_MIN)
        request_refuse_with(rq, 409, STATUS_BAD_REQUEST, "name",
                            "%s is an account of the system: its uid is %u.", in->name,
                            check->adopted.uid);
    else if (in->uid != 0 && in->uid != check->adopted.uid)
        request_refuse_with(rq, 409, STATUS_BAD_REQUEST, "uid", "The uid of %s is %u, not %u.",
                            in->name, check->adopted.uid, in->uid);
    else
        return 0;
    return -ECANCELED;
}

static int create_locked(struct request *rq, struct hostcheck *check, void *arg)
{
    const struct user_input *in = arg;
    const char *groups[GROUP_NAMES_MAX];
    const struct user_spec spec = spec_of(rq, in, groups);
    enum user_verdict verdict = USER_IDS_EXHAUSTED;
    struct user user = {0};
    int r;

    if (in->is_adopted) {
        r = adopt(rq, check, in);
        if (r < 0)
            return r == -ECANCELED ? 0 : r;
    }
    if (answer_known(rq, in, &spec))
        return 0;
    r = user_create(rq->app->reg, &spec, hostcheck_taken, check, &user, &verdict);
    if (r == 0)
        answer_verdict(rq, verdict, &user, in, &spec);
    return r;
}

void users_post(struct request *rq, const json_t *body)
{
    const char *groups[GROUP_NAMES_MAX];
    struct user_input input;
    struct user_spec spec;
    struct error e;

    if (user_input_parse(body, rq->door == DOOR_ADMIN, &input, &e) < 0 ||
        (rq->door == DOOR_API && choose_group(&rq->caller, &input, &e) < 0)) {
        request_refuse(rq, &e);
        return;
    }
    if (!user_shell_is_good(rq, input.shell))
        return;
    spec = spec_of(rq, &input, groups);
    if (!answer_known(rq, &input, &spec))
        locked_run(rq, create_locked, &input, sizeof(input), NULL, "The user could not be created");
}
