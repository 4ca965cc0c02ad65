/* SPDX-License-Identifier: ISC */
/* user_input.h - bodies about users, groups and callers, checked. */
#ifndef ATELIER_API_USER_INPUT_H
#define ATELIER_API_USER_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "registry/registry.h"
#include "sessiond/api/error.h"

/* POST /v1/users; "" for what is not given. Copies: it outlives the body. */
struct user_input {
    char email[EMAIL_SIZE];
    char external_id[EXTERNAL_ID_SIZE];
    char name[NAME_SIZE];
    char group[NAME_SIZE];
};

/* Return: 0, or -EINVAL with *e filled. */
int user_input_parse(const json_t *body, struct user_input *ret_in, struct error *e);

/*
 * Spec for the registry; borrows from @in and @groups, which is room for the group of @in.
 * @owner_uid: the caller, or 0 for the administrator.
 */
struct user_spec user_input_spec(const struct user_input *in, uint32_t owner_uid,
                                 const char *groups[1]);

/* PATCH /v1/users/NAME; what is not given is left as it is. */
struct user_patch {
    bool has_locked, is_locked;
    bool has_expiry;
    int64_t expires_s; /* 0: never */
};

/* Return: 0, or -EINVAL with *e filled. */
int user_patch_parse(const json_t *body, struct user_patch *ret_patch, struct error *e);

/* POST /v1/groups; *ret_name is borrowed from the body. */
int group_input_parse(const json_t *body, const char **ret_name, struct error *e);

/* POST /v1/callers; *ret_groups is borrowed from the body and has 1..CALLER_GROUPS_MAX strings. */
int caller_input_parse(const json_t *body, uint32_t *ret_uid, uint32_t *ret_verbs,
                       const json_t **ret_groups, struct error *e);

#endif
