/* SPDX-License-Identifier: ISC */
/* groups.c - /v1/groups: create and list. */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>

#include "common/str.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/hostcheck.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/lock.h"
#include "sessiond/api/user_input.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* A creation that waits for the password lock. */
struct creation {
    struct request *rq;
    char name[NAME_SIZE];
};

static void refuse(struct request *rq, unsigned http, enum status status, const char *field,
                   const char *message)
{
    struct error e;

    (void)error_set(&e, http, status, field, "%s", message);
    request_refuse(rq, &e);
}

static void answer(struct request *rq, int r, const struct group *group)
{
    switch (r) {
    case 0:
        log_info("group created name=%s gid=%u", group->name, group->gid);
        request_answer(rq, MHD_HTTP_CREATED, json_of_group(group));
        return;
    case -EEXIST:
        refuse(rq, 409, STATUS_BAD_REQUEST, "name", "This name is taken.");
        return;
    case -EPERM:
        refuse(rq, 409, STATUS_BAD_REQUEST, "name", "This name is reserved.");
        return;
    case -EINVAL:
        refuse(rq, 400, STATUS_BAD_REQUEST, "name",
               "A name is a lower-case letter and up to 30 of a-z, 0-9 and -.");
        return;
    case -ETIMEDOUT:
    case -EBUSY:
        refuse(rq, 503, STATUS_BUSY, NULL,
               "The password lock of the host (/etc/.pwd.lock) is held by others, or sessiond "
               "cannot open it: its journal says which.");
        return;
    case -ENOTCONN:
        refuse(rq, 503, STATUS_INTERNAL, NULL, "sessiond is gone.");
        return;
    default:
        request_fail(rq, "The group could not be created", registry_error(rq->app->reg));
    }
}

static void create_locked(void *arg, int got, int64_t deadline_ms)
{
    struct creation *c = arg;
    struct hostcheck check = {.deadline_ms = deadline_ms};
    struct group group = {0};
    int r = got;

    if (got == 0)
        r = group_create(c->rq->app->reg, c->name, hostcheck_taken, &check, &group);
    answer(c->rq, r, &group);
    free(c);
}

void groups_post(struct request *rq, const json_t *body)
{
    struct creation *c;
    const char *name;
    struct error e;
    int r;

    if (group_input_parse(body, &name, &e) < 0) {
        request_refuse(rq, &e);
        return;
    }
    c = calloc(1, sizeof(*c));
    if (!c) {
        request_fail(rq, "The group could not be created", "no memory");
        return;
    }
    c->rq = rq;
    (void)str_copy(c->name, sizeof(c->name), name);
    r = lock_queue_add(rq->app->locks, create_locked, c);
    if (r == 0) {
        request_wait(rq);
        return;
    }
    free(c);
    answer(rq, r, NULL);
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
