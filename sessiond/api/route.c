/* SPDX-License-Identifier: ISC */
/* route.c - which method and path is answered by whom, and who may ask. */
#include "sessiond/api/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sessiond/api/handlers.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

static const struct route routes[] = {
    {"GET", "/v1/healthz", RIGHT_ANYBODY, 0, health_get},
    {"POST", "/v1/runs", RIGHT_RUNS, BODY_MAX, runs_post},
    {"POST", "/v1/users", RIGHT_USERS, BODY_MAX, users_post},
    {"GET", "/v1/users", RIGHT_ADMIN, 0, users_get},
    {"GET", "/v1/users/", RIGHT_ADMIN, 0, users_get_one},
    {"PATCH", "/v1/users/", RIGHT_ADMIN, BODY_MAX, users_patch},
    {"DELETE", "/v1/users/", RIGHT_ADMIN, 0, users_delete},
    {"POST", "/v1/imports", RIGHT_ADMIN, BODY_IMPORT_MAX, imports_post},
    {"POST", "/v1/groups", RIGHT_ADMIN, BODY_MAX, groups_post},
    {"GET", "/v1/groups", RIGHT_ADMIN, 0, groups_get},
    {"GET", "/v1/groups/", RIGHT_ADMIN, 0, groups_get_one},
    {"PATCH", "/v1/groups/", RIGHT_ADMIN, BODY_MAX, groups_patch},
    {"DELETE", "/v1/groups/", RIGHT_ADMIN, 0, groups_delete},
    {"POST", "/v1/callers", RIGHT_ADMIN, BODY_MAX, callers_post},
    {"GET", "/v1/callers", RIGHT_ADMIN, 0, callers_get},
    {"DELETE", "/v1/callers/", RIGHT_ADMIN, 0, callers_delete},
    {"POST", "/v1/links", RIGHT_LINKS, BODY_MAX, links_post},
    {"GET", "/v1/links", RIGHT_ADMIN, 0, links_get},
    {"DELETE", "/v1/links/", RIGHT_ADMIN, 0, links_delete},
    {"GET", "/v1/sessions", RIGHT_ADMIN, 0, sessions_get},
    {"GET", "/v1/sessions/", RIGHT_ADMIN, 0, sessions_get_one},
    {"DELETE", "/v1/sessions/", RIGHT_ADMIN, 0, sessions_delete},
    {"GET", "/v1/network", RIGHT_ADMIN, 0, network_get},
    {"GET", "/v1/network/", RIGHT_ADMIN, 0, network_get_one},
    {"GET", "/v1/index/", RIGHT_ADMIN, 0, index_get},
    {"POST", "/v1/index", RIGHT_ADMIN, BODY_MAX, index_post},
    {"POST", "/v1/backup", RIGHT_ADMIN, BODY_MAX, backup_post},
    {"POST", "/v1/restore", RIGHT_ADMIN, BODY_MAX, restore_post},
};

#define ROUTE_COUNT (sizeof(routes) / sizeof(routes[0]))

/* Does the path fit? @ret_param gets what follows a final '/', "" if nothing may follow. */
static bool path_fits(const struct route *r, const char *path, char *ret_param)
{
    size_t len = strlen(r->path);
    const char *rest = path + len;

    if (r->path[len - 1] != '/') {
        ret_param[0] = '\0';
        return strcmp(path, r->path) == 0;
    }
    if (strncmp(path, r->path, len) != 0 || !*rest || strchr(rest, '/'))
        return false;
    return snprintf(ret_param, PARAM_SIZE, "%s", rest) < (int)PARAM_SIZE;
}

int route_find(const char *method, const char *path, const struct route **ret_route,
               char *ret_param, char *ret_allow, struct error *e)
{
    bool is_known = false;
    size_t len = 0;

    ret_allow[0] = '\0';
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (!path_fits(&routes[i], path, ret_param))
            continue;
        if (strcmp(method, routes[i].method) == 0) {
            *ret_route = &routes[i];
            return 0;
        }
        len += (size_t)snprintf(ret_allow + len, ROUTE_ALLOW_SIZE - len, "%s%s",
                                is_known ? ", " : "", routes[i].method);
        is_known = true;
    }
    if (is_known)
        return error_set(e, 405, STATUS_BAD_REQUEST, NULL, "This path takes %s.", ret_allow);
    return error_set(e, 404, STATUS_BAD_REQUEST, NULL, "There is no such path.");
}

static int deny(const struct request *rq, const struct route *route, const char *why,
                struct error *e)
{
    log_notice("denied: %s door=%s peer_uid=%u method=%s path=%s", why,
               rq->door == DOOR_ADMIN ? "admin" : "api", rq->peer_uid, route ? route->method : "?",
               route ? route->path : "?");
    return error_set(e, 403, STATUS_NOT_ALLOWED, NULL, "%s.", why);
}

/* Whoever reads this is often the administrator, trying: say what would help. */
static int deny_stranger(const struct request *rq, const struct route *route, struct error *e)
{
    (void)deny(rq, route, "not a caller", e);
    if (rq->peer_uid == 0)
        return error_set(e, 403, STATUS_NOT_ALLOWED, NULL,
                         "Root is no caller: use the admin socket, or become the caller's user.");
    return error_set(e, 403, STATUS_NOT_ALLOWED, NULL,
                     "UID %u is no caller; an administrator can add it: atelier caller add %u",
                     rq->peer_uid, rq->peer_uid);
}

static int check_verb(const struct request *rq, const struct route *route, enum caller_verb verb,
                      struct error *e)
{
    char why[64];

    if (rq->caller.verbs & (1u << verb))
        return 0;
    (void)snprintf(why, sizeof(why), "This caller does not have the right %s",
                   caller_verb_key(verb));
    return deny(rq, route, why, e);
}

int route_authorize(struct request *rq, const struct route *route, struct error *e)
{
    int r;

    if (rq->door == DOOR_ADMIN)
        return rq->peer_uid == 0 ? 0 : deny(rq, route, "Only root may use the admin socket", e);
    if (route && route->right == RIGHT_ANYBODY)
        return 0;
    r = caller_get(rq->app->reg, rq->peer_uid, &rq->caller);
    if (r == -ENOENT)
        return deny_stranger(rq, route, e);
    if (r < 0) {
        log_error("a caller could not be looked up: %s", registry_error(rq->app->reg));
        return error_set(e, 500, STATUS_INTERNAL, NULL, "The registry could not be read.");
    }
    if (!route)
        return 0;
    switch (route->right) {
    case RIGHT_ANYBODY:
        return 0;
    case RIGHT_USERS:
        return check_verb(rq, route, CALLER_VERB_USERS, e);
    case RIGHT_RUNS:
        return check_verb(rq, route, CALLER_VERB_RUNS, e);
    case RIGHT_LINKS:
        return check_verb(rq, route, CALLER_VERB_LINKS, e);
    case RIGHT_ADMIN:
        return deny(rq, route, "This is for the admin socket", e);
    }
    return deny(rq, route, "This right is not known", e);
}
