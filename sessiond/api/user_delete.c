/* SPDX-License-Identifier: ISC */
/*
 * user_delete.c - DELETE /v1/users/NAME.
 *
 * The order: locked, durably, so that nothing new begins; what there is told to end; and only when
 * nothing of it is left the user goes. A uid without a name must not own a process. Whether one is
 * left is known from sessiond alone: without it the answer is to come again. A deletion that is
 * given up leaves a user who is locked.
 */
#include <errno.h>
#include <microhttpd.h>

#include "sessiond/api/handlers.h"
#include "sessiond/api/lockout.h"
#include "sessiond/api/run.h"
#include "sessiond/api/session.h"
#include "sessiond/api/user_view.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

static bool is_alive(const struct app *app, uint32_t uid)
{
    return run_table_count_of(app->runs, uid) > 0 || session_table_count_of(app->sessions, uid) > 0;
}

void users_delete(struct request *rq, const json_t *body)
{
    struct app *app = rq->app;
    struct user user;
    uint32_t revoked = 0;
    int r;

    (void)body;
    if (!user_find_named(rq, &user))
        return;
    if (user.state != USER_STATE_LOCKED) {
        r = user_lock(app->reg, user.uid, true);
        if (r < 0) {
            request_fail(rq, "The user could not be locked", registry_error(app->reg));
            return;
        }
        log_notice("user locked, to be deleted name=%s uid=%u", user.name, user.uid);
    }
    lockout_user(app, user.uid);
    if (!session_table_is_synced(app->sessions)) {
        request_refuse_with(rq, 503, STATUS_BUSY, NULL,
                            "sessiond is not there to say whether anything of this user runs.");
        return;
    }
    if (is_alive(app, user.uid)) {
        request_refuse_with(rq, 503, STATUS_BUSY, NULL, "What this user has is ending; try again.");
        return;
    }
    r = user_delete(app->reg, user.uid, &revoked);
    if (r < 0) {
        request_fail_change(rq, r, "The user could not be deleted", registry_error(app->reg));
        return;
    }
    log_notice("user deleted name=%s uid=%u links_revoked=%u", user.name, user.uid, revoked);
    request_answer(rq, MHD_HTTP_OK,
                   json_pack("{s:s, s:I, s:I}", "name", user.name, "uid", (json_int_t)user.uid,
                             "links_revoked", (json_int_t)revoked));
}
