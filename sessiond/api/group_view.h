/* SPDX-License-Identifier: ISC */
/* group_view.h - what the handlers of groups share. */
#ifndef ATELIER_API_GROUP_VIEW_H
#define ATELIER_API_GROUP_VIEW_H

#include <stdbool.h>

#include "registry/registry.h"
#include "sessiond/api/http.h"

/* Find the group that the path names. False: answered. */
bool group_find_named(struct request *rq, struct group *ret_group);

/* Answer 200 with the group and its members, or 500. */
void group_answer_view(struct request *rq, const struct group *group);

/**
 * group_refuse_name() - Answer that a name cannot be had
 * @r: Of group_create() or group_rename()
 *
 * Return: 0 if @r is about the name and the request is answered, else @r.
 */
int group_refuse_name(struct request *rq, int r, const char *name);

#endif
