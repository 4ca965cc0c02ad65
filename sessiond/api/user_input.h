/* SPDX-License-Identifier: ISC */
/* user_input.h - bodies about one user, checked. */
#ifndef ATELIER_API_USER_INPUT_H
#define ATELIER_API_USER_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "registry/registry.h"
#include "sessiond/api/error.h"
#include "sessiond/api/json_in.h"

/* GROUP_ALL_USERS may be among them. */
#define GROUP_NAMES_MAX (USER_GROUPS_MAX + 1)

/* POST /v1/users; "" and 0 for what is not given. Copies: it outlives the body. */
struct user_input {
    char email[EMAIL_SIZE];
    char external_id[EXTERNAL_ID_SIZE];
    char name[NAME_SIZE];
    char groups[GROUP_NAMES_MAX][NAME_SIZE];
    size_t group_count;
    const char *groups_key; /* which member they are of: "group" or "groups"; static */
    char comment[COMMENT_SIZE];
    char shell[SHELL_SIZE];
    int64_t expires_s; /* as in struct user_spec */
    uint32_t uid;
    bool is_adopted; /* name, and uid if it is given, are those of a local account */
};

/**
 * user_input_parse() - Read it
 * @is_admin: On admin.sock; else the keys that are for it alone are refused by name
 *
 * Return: 0, or -EINVAL with *e filled.
 */
int user_input_parse(const json_t *body, bool is_admin, struct user_input *ret_in, struct error *e);

/**
 * user_input_spec() - Spec for the registry; borrows from @in and @groups
 * @owner_uid: The caller, or 0 for the administrator
 * @groups:    Room for the names
 */
struct user_spec user_input_spec(const struct user_input *in, uint32_t owner_uid,
                                 const char *groups[GROUP_NAMES_MAX]);

/* PATCH /v1/users/NAME. Nothing is copied: it is valid as long as the body, and is not moved. */
struct user_patch {
    struct user_change change;
    const char *names[GROUP_NAMES_MAX];
    const char *groups_key; /* which of groups, groups_add and groups_remove it was; or NULL */
};

/* Return: 0, or -EINVAL with *e filled. */
int user_patch_parse(const json_t *body, struct user_patch *ret_patch, struct error *e);

/* "expires_at": null is 0, never. Untouched if it is absent. Return: 0, or -EINVAL and the error.
 */
int user_input_expiry(const struct json_in *in, int64_t *ret_expires_s);

/* The same for those who are made or found: a time that is over is refused. */
int user_input_expiry_ahead(const struct json_in *in, int64_t *ret_expires_s);

/* Names out of a checked array; as many as there is room for. */
size_t user_input_names(const json_t *array, const char **ret_names, size_t max);

#endif
