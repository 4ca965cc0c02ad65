/* SPDX-License-Identifier: ISC */
/* users.c - /v1/users: list and look at. */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>

#include "sessiond/api/handlers.h"
#include "sessiond/api/run.h"
#include "sessiond/api/session.h"
#include "sessiond/api/user_view.h"

#include "common/banned.h"

void users_get(struct request *rq, const json_t *body)
{
    struct user_rows rows = {0};
    json_t *array = json_array();
    int r = user_list(rq->app->reg, user_rows_add, &rows);

    (void)body;
    for (size_t i = 0; r == 0 && i < rows.n; i++) {
        if (json_array_append_new(array, user_view(rq->app->reg, &rows.users[i])) < 0)
            r = -EIO;
    }
    free(rows.users);
    if (r == 0) {
        request_answer(rq, MHD_HTTP_OK, json_pack("{s:o}", "users", array));
        return;
    }
    json_decref(array);
    request_fail(rq, "The users could not be listed", registry_error(rq->app->reg));
}

/* What of the user has been let in and has not ended, or JSON's null: sessiond is not there to say.
 */
static json_t *live_of(const struct app *app, uint32_t uid)
{
    if (!session_table_is_synced(app->sessions))
        return json_null();
    return json_pack("{s:I, s:I}", "runs", (json_int_t)run_table_count_of(app->runs, uid),
                     "sessions", (json_int_t)session_table_count_of(app->sessions, uid));
}

void users_get_one(struct request *rq, const json_t *body)
{
    struct user user;
    json_t *view;

    (void)body;
    if (!user_find_named(rq, &user))
        return;
    view = user_view(rq->app->reg, &user);
    if (view && json_object_set_new(view, "live", live_of(rq->app, user.uid)) < 0) {
        json_decref(view);
        view = NULL;
    }
    if (view)
        request_answer(rq, MHD_HTTP_OK, view);
    else
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
}
