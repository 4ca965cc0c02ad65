/* SPDX-License-Identifier: ISC */
/*
 * group_change.c - PATCH and DELETE of /v1/groups/NAME.
 *
 * Members are looked up before anything is changed. A new name needs the password lock, as every
 * name that is given out; it and the members are one change of the registry.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "common/ids.h"
#include "common/str.h"
#include "sessiond/api/group_input.h"
#include "sessiond/api/group_view.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/locked.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

struct change {
    struct group group;
    char name[NAME_SIZE]; /* "": it stays */
    enum user_groups_how how;
    char members_key[16];
    uint32_t *uids; /* heap */
    size_t n;
};

static void change_done(void *arg)
{
    struct change *c = arg;

    free(c->uids);
    c->uids = NULL;
}

static void refuse_all(struct request *rq)
{
    request_refuse_with(rq, 409, STATUS_BAD_REQUEST, NULL,
                        GROUP_ALL_USERS " is the group of everybody: it stays as it is.");
}

static void answer_changed(struct request *rq, struct change *c)
{
    if (c->name[0] && strcmp(c->group.name, c->name) != 0)
        log_notice("group renamed name=%s to=%s gid=%u", c->group.name, c->name, c->group.gid);
    if (c->name[0])
        (void)str_copy(c->group.name, sizeof(c->group.name), c->name);
    log_notice("group changed name=%s gid=%u by_uid=%u", c->group.name, c->group.gid, rq->peer_uid);
    group_answer_view(rq, &c->group);
}

/* @check: NULL if the name stays. Return: 0 with the request answered, or a negative errno. */
static int store(struct request *rq, struct change *c, struct hostcheck *check)
{
    const struct group_change change = {
        .name = c->name[0] ? c->name : NULL, .how = c->how, .uids = c->uids, .n = c->n};
    int r =
        group_change(rq->app->reg, c->group.gid, &change, check ? hostcheck_taken : NULL, check);

    if (r == -E2BIG) {
        request_refuse_with(rq, 400, STATUS_BAD_REQUEST, c->members_key,
                            "Somebody would be in more than %u groups.", USER_GROUPS_MAX);
        return 0;
    }
    if (r < 0)
        return c->name[0] ? group_refuse_name(rq, r, c->name) : r;
    answer_changed(rq, c);
    return 0;
}

static int rename_locked(struct request *rq, struct hostcheck *check, void *arg)
{
    return store(rq, arg, check);
}

/* Return: 0, or -EINVAL with *e filled. */
static int members_find(struct request *rq, const struct group_patch *p, struct change *c,
                        struct error *e)
{
    const json_t *item;
    size_t i;

    c->uids = calloc(json_array_size(p->members) + 1, sizeof(*c->uids));
    if (!c->uids)
        return error_set(e, 500, STATUS_INTERNAL, NULL, "There is no memory for the members.");
    json_array_foreach(p->members, i, item)
    {
        const char *name = json_string_value(item);
        struct user user;
        int r = name_is_valid(name) ? user_by_name(rq->app->reg, name, &user) : -ENOENT;

        if (r == -ENOENT)
            return error_field(e, p->members_key, "There is no user %.40s.", name);
        if (r < 0) {
            log_error("a user could not be looked up: %s", registry_error(rq->app->reg));
            return error_set(e, 500, STATUS_INTERNAL, NULL, "The registry could not be read.");
        }
        c->uids[c->n++] = user.uid;
    }
    return 0;
}

void groups_patch(struct request *rq, const json_t *body)
{
    struct change c = {0};
    struct group_patch p;
    struct error e;
    int r;

    if (group_patch_parse(body, &p, &e) < 0) {
        request_refuse(rq, &e);
        return;
    }
    if (!group_find_named(rq, &c.group))
        return;
    if (strcmp(c.group.name, GROUP_ALL_USERS) == 0) {
        refuse_all(rq);
        return;
    }
    c.how = p.how;
    if (p.members_key)
        (void)str_copy(c.members_key, sizeof(c.members_key), p.members_key);
    if (members_find(rq, &p, &c, &e) < 0) {
        request_refuse(rq, &e);
        change_done(&c);
        return;
    }
    if (p.name) {
        (void)str_copy(c.name, sizeof(c.name), p.name);
        locked_run(rq, rename_locked, &c, sizeof(c), change_done, "The group could not be changed");
        return;
    }
    r = store(rq, &c, NULL);
    if (r < 0)
        request_fail_change(rq, r, "The group could not be changed", registry_error(rq->app->reg));
    change_done(&c);
}

/* --- deletion --- */

struct search {
    uint32_t gid;
    uint32_t uid; /* of the first caller who names it; 0: none */
};

static int caller_look(void *arg, const struct caller *caller)
{
    struct search *s = arg;

    for (uint32_t i = 0; i < caller->group_count; i++) {
        if (s->uid == 0 && caller->groups[i].gid == s->gid)
            s->uid = caller->uid;
    }
    return 0;
}

static void refuse_in_use(struct request *rq, uint32_t gid)
{
    struct search s = {.gid = gid};

    (void)caller_list(rq->app->reg, caller_look, &s);
    request_refuse_with(rq, 409, STATUS_BAD_REQUEST, NULL, "The caller %u acts for this group.",
                        s.uid);
}

void groups_delete(struct request *rq, const json_t *body)
{
    struct group group;
    int r;

    (void)body;
    if (!group_find_named(rq, &group))
        return;
    r = group_delete(rq->app->reg, group.gid);
    if (r == 0) {
        log_notice("group deleted name=%s gid=%u by_uid=%u", group.name, group.gid, rq->peer_uid);
        request_answer(rq, MHD_HTTP_OK, json_of_group(&group));
    } else if (r == -EBUSY) {
        refuse_in_use(rq, group.gid);
    } else if (r == -EPERM) {
        refuse_all(rq);
    } else {
        request_fail_change(rq, r, "The group could not be deleted", registry_error(rq->app->reg));
    }
}
