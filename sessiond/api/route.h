/* SPDX-License-Identifier: ISC */
/* route.h - which method and path is answered by whom, and who may ask. */
#ifndef ATELIER_API_ROUTE_H
#define ATELIER_API_ROUTE_H

#include <jansson.h>
#include <stdbool.h>

#include "sessiond/api/http.h"

enum route_right {
    RIGHT_ANYBODY, /* no caller row needed */
    RIGHT_USERS,   /* the row must have this verb */
    RIGHT_RUNS,
    RIGHT_LINKS,
    RIGHT_ADMIN, /* admin.sock only */
};

struct route {
    const char *method;
    const char *path; /* ends with '/' if one more part follows */
    enum route_right right;
    size_t body_max; /* bytes; 0: takes no body */
    /* @body: object, borrowed during the call; NULL if it takes none. */
    void (*handler)(struct request *rq, const json_t *body);
};

/**
 * route_find() - Find the route of a request
 * @ret_route: The route; untouched on failure
 * @ret_param: Room for PARAM_SIZE bytes
 * @ret_allow: Room for ROUTE_ALLOW_SIZE bytes: methods of this path, filled on 405
 * @e:         404 or 405
 *
 * Return: 0, or -EINVAL with *e filled.
 */
#define ROUTE_ALLOW_SIZE 32u
int route_find(const char *method, const char *path, const struct route **ret_route,
               char *ret_param, char *ret_allow, struct error *e);

/**
 * route_authorize() - May this peer ask for this?
 * @rq:    Door and peer; the caller row is filled in
 * @route: NULL for a path that there is not: only the door itself is checked
 *
 * Return: 0, or -EINVAL with *e filled (403, or 500 if it could not be found out).
 */
int route_authorize(struct request *rq, const struct route *route, struct error *e);

#endif
