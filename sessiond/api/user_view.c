/* SPDX-License-Identifier: ISC */
/* user_view.c - what the handlers of users, groups and the index share. */
#include "sessiond/api/user_view.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"
#include "common/wire.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/shells.h"
#include "sessiond/api/value.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

int user_rows_add(void *arg, const struct user *user)
{
    struct user_rows *rows = arg;

    if (rows->n == rows->size) {
        size_t size = rows->size ? rows->size * 2 : 64;
        struct user *p = reallocarray(rows->users, size, sizeof(*p));

        if (!p)
            return -ENOMEM;
        rows->users = p;
        rows->size = size;
    }
    rows->users[rows->n++] = *user;
    return 0;
}

bool user_find_named(struct request *rq, struct user *ret_user)
{
    int r = name_is_valid(rq->param) ? user_by_name(rq->app->reg, rq->param, ret_user) : -ENOENT;

    if (r == -ENOENT)
        request_refuse_with(rq, 404, STATUS_UNKNOWN_USER, "user", "There is no user %s.",
                            VALUE(rq->param));
    else if (r < 0)
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
    return r == 0;
}

static int external_id_add(void *arg, uint32_t owner_uid, const char *external_id)
{
    json_t *ids = arg;

    return json_array_append_new(ids, json_of_external_id(owner_uid, external_id)) < 0 ? -ENOMEM
                                                                                       : 0;
}

json_t *user_view(struct registry *reg, const struct user *user)
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

void user_answer_view(struct request *rq, const struct user *user)
{
    json_t *view = user_view(rq->app->reg, user);

    if (view)
        request_answer(rq, MHD_HTTP_OK, view);
    else
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
}

bool user_shell_is_good(struct request *rq, const char *shell)
{
    bool has = !shell[0];
    int r = has ? 0 : shells_has(SHELLS_FILE, shell, &has);

    if (r < 0)
        request_fail(rq, "The shells of this host could not be read", strerrordesc_np(-r));
    else if (!has)
        request_refuse_with(rq, 400, STATUS_BAD_REQUEST, "shell",
                            "The shell %s is not in " SHELLS_FILE ".", VALUE(shell));
    return r == 0 && has;
}
