/* SPDX-License-Identifier: ISC */
/* callers.c - /v1/callers: which programs may use api.sock, for whom and for what. */
#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <time.h>

#include "common/str.h"
#include "sessiond/api/caller_input.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/value.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

static int find_groups(struct request *rq, const json_t *names, struct caller *c, struct error *e)
{
    const json_t *item;
    size_t i;

    json_array_foreach(names, i, item)
    {
        struct group *g = &c->groups[c->group_count];
        int r = name_is_valid(json_string_value(item))
                    ? group_by_name(rq->app->reg, json_string_value(item), g)
                    : -ENOENT;

        if (r == -ENOENT)
            return error_field(e, "groups", "There is no group %s.", VALUE_JSON(item));
        if (r < 0) {
            log_error("a group could not be looked up: %s", registry_error(rq->app->reg));
            return error_set(e, 500, STATUS_INTERNAL, NULL, "The registry could not be read.");
        }
        for (uint32_t k = 0; k < c->group_count; k++) {
            if (c->groups[k].gid == g->gid)
                return error_field(e, "groups", "The group %s is there twice.", g->name);
        }
        c->group_count++;
    }
    return 0;
}

void callers_post(struct request *rq, const json_t *body)
{
    struct caller c = {.created_s = (int64_t)time(NULL)}, stored = {0};
    const json_t *groups;
    struct error e;

    if (caller_input_parse(body, &c.uid, &c.verbs, &groups, &e) < 0 ||
        find_groups(rq, groups, &c, &e) < 0) {
        request_refuse(rq, &e);
        return;
    }
    if (caller_put(rq->app->reg, &c) < 0 || caller_get(rq->app->reg, c.uid, &stored) < 0) {
        request_fail(rq, "The caller could not be stored", registry_error(rq->app->reg));
        return;
    }
    log_info("caller stored uid=%u verbs=%#x groups=%u", c.uid, c.verbs, c.group_count);
    request_answer(rq, MHD_HTTP_OK, json_of_caller(&stored));
}

static int list_add(void *arg, const struct caller *caller)
{
    return json_array_append_new(arg, json_of_caller(caller)) < 0 ? -ENOMEM : 0;
}

void callers_get(struct request *rq, const json_t *body)
{
    json_t *array = json_array();

    (void)body;
    if (caller_list(rq->app->reg, list_add, array) < 0) {
        json_decref(array);
        request_fail(rq, "The callers could not be listed", registry_error(rq->app->reg));
        return;
    }
    request_answer(rq, MHD_HTTP_OK, json_pack("{s:o}", "callers", array));
}

void callers_delete(struct request *rq, const json_t *body)
{
    struct error e;
    uint32_t uid;
    int r =
        str_to_u32(rq->param, UINT32_MAX - 1, &uid) == 0 ? caller_del(rq->app->reg, uid) : -ENOENT;

    (void)body;
    if (r == 0) {
        log_info("caller removed uid=%u", uid);
        request_answer_empty(rq, MHD_HTTP_NO_CONTENT);
    } else if (r == -ENOENT) {
        (void)error_set(&e, 404, STATUS_BAD_REQUEST, "uid", "There is no caller with the uid %s.",
                        VALUE(rq->param));
        request_refuse(rq, &e);
    } else {
        request_fail(rq, "The caller could not be removed", registry_error(rq->app->reg));
    }
}
