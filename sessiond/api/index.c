/* SPDX-License-Identifier: ISC */
/* index.c - /v1/index: what NSS should say, from the registry itself; and the index, made anew. */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>

#include "common/str.h"
#include "common/wire.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/user_view.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define PAGE_USERS 1000u

static json_t *row_of(struct registry *reg, const struct user *user)
{
    struct group groups[WIRE_GROUPS_MAX];
    json_t *gids = json_array();
    size_t n = 0;

    if (group_of_user(reg, user->uid, groups, WIRE_GROUPS_MAX, &n) < 0) {
        json_decref(gids);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(gids, json_integer(groups[i].gid));
    return json_pack("{s:s, s:I, s:o}", "name", user->name, "uid", (json_int_t)user->uid, "gids",
                     gids);
}

/* One user more than a page has is asked for, to know whether there is one. */
static int users_add(struct registry *reg, uint32_t after_uid, json_t *array, bool *ret_more)
{
    struct user_rows rows = {0};
    int r = user_list_from(reg, after_uid, PAGE_USERS + 1, user_rows_add, &rows);

    *ret_more = rows.n > PAGE_USERS;
    for (size_t i = 0; r == 0 && i < rows.n && i < PAGE_USERS; i++) {
        if (json_array_append_new(array, row_of(reg, &rows.users[i])) < 0)
            r = -EIO;
    }
    free(rows.users);
    return r;
}

static int group_add(void *arg, const struct group *group)
{
    return json_array_append_new(arg, json_of_group(group)) < 0 ? -ENOMEM : 0;
}

void index_get(struct request *rq, const json_t *body)
{
    json_t *users = json_array(), *groups = json_array();
    struct registry_counts counts = {0};
    uint32_t after_uid = 0;
    bool has_more = false;
    int r;

    (void)body;
    if (str_to_u32(rq->param, UINT32_MAX, &after_uid) < 0) {
        json_decref(users);
        json_decref(groups);
        request_refuse_with(rq, 404, STATUS_BAD_REQUEST, NULL, "A page is named by a uid, or 0.");
        return;
    }
    r = registry_count(rq->app->reg, &counts);
    if (r == 0)
        r = users_add(rq->app->reg, after_uid, users, &has_more);
    if (r == 0 && after_uid == 0)
        r = group_list(rq->app->reg, group_add, groups);
    if (r == 0) {
        request_answer(rq, MHD_HTTP_OK,
                       json_pack("{s:I, s:o, s:o, s:b}", "generation",
                                 (json_int_t)counts.generation, "users", users, "groups", groups,
                                 "more", has_more));
        return;
    }
    json_decref(users);
    json_decref(groups);
    request_fail(rq, "The registry could not be read", registry_error(rq->app->reg));
}

void index_post(struct request *rq, const json_t *body)
{
    static const char *const keys[] = {NULL};
    struct registry_counts counts = {0};
    struct error e;
    const struct json_in in = {.obj = body, .prefix = "", .e = &e};
    int r;

    if (json_in_only(&in, keys) < 0) {
        request_refuse(rq, &e);
        return;
    }
    r = registry_rebuild_index(rq->app->reg);
    if (r == 0)
        r = registry_count(rq->app->reg, &counts);
    if (r < 0) {
        request_fail(rq, "The index could not be made", registry_error(rq->app->reg));
        return;
    }
    log_notice("index made anew generation=%llu by_uid=%u", (unsigned long long)counts.generation,
               rq->peer_uid);
    request_answer(rq, MHD_HTTP_OK,
                   json_pack("{s:I, s:I, s:I}", "generation", (json_int_t)counts.generation,
                             "users", (json_int_t)counts.users, "groups",
                             (json_int_t)counts.groups));
}
