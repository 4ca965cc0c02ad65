/* SPDX-License-Identifier: ISC */
/* users.c - /v1/users: list and look at. */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>

#include "sessiond/api/handlers.h"
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

void users_get_one(struct request *rq, const json_t *body)
{
    struct user user;

    (void)body;
    if (user_find_named(rq, &user))
        user_answer_view(rq, &user);
}
