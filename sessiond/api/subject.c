/* SPDX-License-Identifier: ISC */
/* subject.c - the user whom a request is about, and whether the caller may act for them. */
#include "sessiond/api/subject.h"

#include <errno.h>

#include "sessiond/api/value.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

int subject_registry_failed(const struct request *rq, struct error *e)
{
    log_error("the registry could not be read: %s", registry_error(rq->app->reg));
    return error_set(e, 500, STATUS_INTERNAL, NULL, "The registry could not be read.");
}

int subject_deny(const struct request *rq, uint32_t uid, const char *field, const char *why,
                 struct error *e)
{
    log_notice("denied: %s peer_uid=%u uid=%u", why, rq->peer_uid, uid);
    return error_set(e, 403, STATUS_NOT_ALLOWED, field, "%s.", why);
}

/* A user who may not log in may not run either; there is no state but these two that may. */
static int check_state(const struct user *user, struct error *e)
{
    switch (user->state) {
    case USER_STATE_RESERVED:
    case USER_STATE_ACTIVE:
        return 0;
    case USER_STATE_LOCKED:
        return error_set(e, 403, STATUS_LOCKED, "user", "The user %s is locked.", user->name);
    case USER_STATE_EXPIRED:
        return error_set(e, 403, STATUS_LOCKED, "user", "The time of the user %s is over.",
                         user->name);
    case USER_STATE_DELETED:
    case USER_STATE__COUNT:
        break;
    }
    return error_set(e, 404, STATUS_UNKNOWN_USER, "user", "There is no user %s.", user->name);
}

static int refuse_unknown(const char *name, uint32_t uid, struct error *e)
{
    if (name)
        return error_set(e, 404, STATUS_UNKNOWN_USER, "user", "There is no user %s.", VALUE(name));
    return error_set(e, 404, STATUS_UNKNOWN_USER, "user", "There is no user with the uid %u.", uid);
}

/* In the words of the request: a caller must not learn the name of a uid from this. */
static int deny_named(const char *name, uint32_t uid, struct error *e)
{
    if (name)
        return error_set(e, 403, STATUS_NOT_ALLOWED, "user",
                         "This caller may not act for the user %s.", VALUE(name));
    return error_set(e, 403, STATUS_NOT_ALLOWED, "user",
                     "This caller may not act for the user with the uid %u.", uid);
}

int subject_find(struct request *rq, const char *name, uint32_t uid, struct user *ret_user,
                 struct error *e)
{
    bool may = rq->door == DOOR_ADMIN;
    int r = name ? user_by_name(rq->app->reg, name, ret_user)
                 : user_by_uid(rq->app->reg, uid, ret_user);

    if (r == -ENOENT)
        return refuse_unknown(name, uid, e);
    if (r < 0)
        return subject_registry_failed(rq, e);
    if (!may && caller_may_act_for(rq->app->reg, &rq->caller, ret_user->uid, &may) < 0)
        return subject_registry_failed(rq, e);
    if (!may) {
        (void)subject_deny(rq, ret_user->uid, "user", "This caller may not act for that user", e);
        return deny_named(name, uid, e);
    }
    return check_state(ret_user, e);
}
