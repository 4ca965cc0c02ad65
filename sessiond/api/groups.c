/* SPDX-License-Identifier: ISC */
/* groups.c - /v1/groups: create, list, look at. */
#include <errno.h>
#include <microhttpd.h>

#include "common/str.h"
#include "sessiond/api/group_input.h"
#include "sessiond/api/group_view.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/locked.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

struct creation {
    char name[NAME_SIZE];
};

static int create_locked(struct request *rq, struct hostcheck *check, void *arg)
{
    const struct creation *c = arg;
    struct group group = {0};
    int r = group_create(rq->app->reg, c->name, hostcheck_taken, check, &group);

    if (r < 0)
        return group_refuse_name(rq, r, c->name);
    log_info("group created name=%s gid=%u", group.name, group.gid);
    request_answer(rq, MHD_HTTP_CREATED, json_of_group(&group));
    return 0;
}

void groups_post(struct request *rq, const json_t *body)
{
    struct creation c = {0};
    const char *name;
    struct error e;

    if (group_input_parse(body, &name, &e) < 0) {
        request_refuse(rq, &e);
        return;
    }
    (void)str_copy(c.name, sizeof(c.name), name);
    locked_run(rq, create_locked, &c, sizeof(c), NULL, "The group could not be created");
}

static int list_add(void *arg, const struct group *group)
{
    return json_array_append_new(arg, json_of_group(group)) < 0 ? -ENOMEM : 0;
}

void groups_get(struct request *rq, const json_t *body)
{
    json_t *array = json_array();

    (void)body;
    if (group_list(rq->app->reg, list_add, array) < 0) {
        json_decref(array);
        request_fail(rq, "The groups could not be listed", registry_error(rq->app->reg));
        return;
    }
    request_answer(rq, MHD_HTTP_OK, json_pack("{s:o}", "groups", array));
}

void groups_get_one(struct request *rq, const json_t *body)
{
    struct group group;

    (void)body;
    if (group_find_named(rq, &group))
        group_answer_view(rq, &group);
}
