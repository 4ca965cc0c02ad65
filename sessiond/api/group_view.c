/* SPDX-License-Identifier: ISC */
/* group_view.c - what the handlers of groups share. */
#include "sessiond/api/group_view.h"

#include <errno.h>
#include <microhttpd.h>

#include "common/str.h"

#include "common/banned.h"

bool group_find_named(struct request *rq, struct group *ret_group)
{
    int r = name_is_valid(rq->param) ? group_by_name(rq->app->reg, rq->param, ret_group) : -ENOENT;

    if (r == -ENOENT)
        request_refuse_with(rq, 404, STATUS_BAD_REQUEST, "group", "There is no such group.");
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

int group_refuse_name(struct request *rq, int r)
{
    switch (r) {
    case -EEXIST:
        request_refuse_with(rq, 409, STATUS_BAD_REQUEST, "name", "This name is taken.");
        return 0;
    case -EPERM:
        request_refuse_with(rq, 409, STATUS_BAD_REQUEST, "name", "This name is reserved.");
        return 0;
    case -EINVAL:
        request_refuse_with(rq, 400, STATUS_BAD_REQUEST, "name",
                            "A name is a lower-case letter and up to 30 of a-z, 0-9 and -.");
        return 0;
    default: /* an errno, not an enum */
        return r;
    }
}
