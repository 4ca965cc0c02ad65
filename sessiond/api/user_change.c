/* SPDX-License-Identifier: ISC */
/*
 * user_change.c - PATCH /v1/users/NAME.
 *
 * Stored first, all of it or nothing, so that nothing new begins; then what runs is ended.
 */
#include <errno.h>

#include "sessiond/api/handlers.h"
#include "sessiond/api/lockout.h"
#include "sessiond/api/login.h"
#include "sessiond/api/user_input.h"
#include "sessiond/api/user_view.h"
#include "sessiond/api/verdict.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* Return: 0, or a negative errno or -EINVAL with the request answered; -EINPROGRESS: it is stored.
 */
static int store(struct request *rq, uint32_t uid, const struct user_patch *patch)
{
    enum user_change_verdict verdict = USER_CHANGED;
    const char *group = NULL;
    struct error e;
    int r = user_change(rq->app->reg, uid, &patch->change, &group, &verdict);

    if (r < 0) {
        request_fail_change(rq, r, "The user could not be changed", registry_error(rq->app->reg));
        return r;
    }
    r = verdict_of_change(rq->app->reg, verdict, &patch->change, patch->groups_key, group, &e);
    if (r < 0)
        request_refuse(rq, &e);
    return r;
}

/* Of the user as stored. Return: 0 or a negative errno. */
static int enforce(struct request *rq, struct user *user)
{
    struct app *app = rq->app;
    int r;

    lockout_rearm(app->lockout);
    r = user_by_uid(app->reg, user->uid, user);
    if (r < 0)
        return r;
    log_notice("user changed name=%s uid=%u state=%s by_uid=%u", user->name, user->uid,
               user_state_key(user->state), rq->peer_uid);
    if (!login_state_may(user->state))
        lockout_user(app, user->uid);
    return 0;
}

void users_patch(struct request *rq, const json_t *body)
{
    struct user_patch patch;
    struct user user;
    struct error e;
    int r;

    if (user_patch_parse(body, &patch, &e) < 0) {
        request_refuse(rq, &e);
        return;
    }
    if (patch.change.shell && !user_shell_is_good(rq, patch.change.shell))
        return;
    if (!user_find_named(rq, &user))
        return;
    r = store(rq, user.uid, &patch);
    if (r == -EINPROGRESS)
        (void)enforce(rq, &user);
    if (r < 0)
        return;
    if (enforce(rq, &user) < 0)
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
    else
        user_answer_view(rq, &user);
}
