/* SPDX-License-Identifier: ISC */
/* group_view.c - what the handlers of groups share. */
#include "sessiond/api/group_view.h"

#include <errno.h>
#include <microhttpd.h>

#include "common/str.h"
#include "sessiond/api/value.h"
#include "sessiond/api/verdict.h"

#include "common/banned.h"

bool group_find_named(struct request *rq, struct group *ret_group)
{
    int r = name_is_valid(rq->param) ? group_by_name(rq->app->reg, rq->param, ret_group) : -ENOENT;

    if (r == -ENOENT)
        request_refuse_with(rq, 404, STATUS_BAD_REQUEST, "group", "There is no group %s.",
                            VALUE(rq->param));
    else if (r < 0)
        request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
    return r == 0;
}

static int member_add(void *arg, const struct user *user)
{
    return json_array_append_new(arg, json_string(user->name)) < 0 ? -ENOMEM : 0;
}

void group_answer_view(struct request *rq, const struct group *group)
{
    json_t *members = json_array();

    if (group_member_list(rq->app->reg, group->gid, member_add, members) < 0) {
        json_decref(members);
        request_fail(rq, "The members could not be listed", registry_error(rq->app->reg));
        return;
    }
    request_answer(rq, MHD_HTTP_OK,
                   json_pack("{s:s, s:I, s:o}", "name", group->name, "gid", (json_int_t)group->gid,
                             "members", members));
}

int group_refuse_name(struct request *rq, int r, const char *name)
{
    struct error e;

    if (verdict_of_group_name(rq->app->reg, r, name, &e) == 0)
        return r;
    request_refuse(rq, &e);
    return 0;
}
