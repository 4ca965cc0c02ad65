/* SPDX-License-Identifier: ISC */
/* group_input.h - bodies about groups, checked. */
#ifndef ATELIER_API_GROUP_INPUT_H
#define ATELIER_API_GROUP_INPUT_H

#include <jansson.h>

#include "registry/registry.h"
#include "sessiond/api/error.h"

/* POST /v1/groups; *ret_name is borrowed from the body. Return: 0, or -EINVAL with *e filled. */
int group_input_parse(const json_t *body, const char **ret_name, struct error *e);

/* More members than there are ids. */
#define GROUP_MEMBERS_MAX 65536u

/* PATCH /v1/groups/NAME, borrowed from the body. */
struct group_patch {
    const char *name;         /* or NULL */
    enum user_groups_how how; /* USER_GROUPS_KEEP: the members are not touched */
    const char *members_key;  /* which of members, members_add and members_remove it was */
    const json_t *members;    /* strings */
};

/* Return: 0, or -EINVAL with *e filled. */
int group_patch_parse(const json_t *body, struct group_patch *ret_patch, struct error *e);

#endif
