/* SPDX-License-Identifier: ISC */
/* verdict.c - what the registry says no to, as the error of a field. */
#include "sessiond/api/verdict.h"

#include <stddef.h>
#include <stdio.h>

#include "common/ids.h"

#include "common/banned.h"

#define COMMENT_RULE                                                                               \
    "A comment is one line of at most 127 bytes, without a colon and without control characters."
#define SHELL_RULE "A shell is an absolute path of printable ASCII, without a colon or a blank."
#define MANY_RULE  "A user can be in %u groups besides " GROUP_ALL_USERS "."

static int refuse(struct error *e, unsigned http, const char *prefix, const char *key,
                  const char *message)
{
    char field[ERROR_FIELD_SIZE];

    (void)snprintf(field, sizeof(field), "%s%s", prefix, key);
    return error_set(e, http, STATUS_BAD_REQUEST, field, "%s", message);
}

static int refuse_many(struct error *e, const char *prefix, const char *key)
{
    char message[ERROR_MESSAGE_SIZE];

    (void)snprintf(message, sizeof(message), MANY_RULE, USER_GROUPS_MAX);
    return refuse(e, 400, prefix, key, message);
}

int verdict_of_user(enum user_verdict verdict, const char *prefix, const char *groups_key,
                    struct error *e)
{
    switch (verdict) {
    case USER_CREATED:
    case USER_EXISTED:
        return 0;
    case USER_NAME_INVALID:
        return refuse(e, 400, prefix, "name",
                      "A name is a lower-case letter and up to 30 of a-z, 0-9 and -.");
    case USER_NAME_RESERVED:
        return refuse(e, 409, prefix, "name", "This name is reserved.");
    case USER_NAME_TAKEN:
        return refuse(e, 409, prefix, "name", "This name is taken.");
    case USER_EMAIL_INVALID:
        return refuse(e, 400, prefix, "email", "This is not an e-mail address (NAME@DOMAIN).");
    case USER_EXTERNAL_ID_INVALID:
        return refuse(e, 400, prefix, "external_id", "This is not a usable external_id.");
    case USER_CONFLICT:
        return refuse(e, 409, prefix, "external_id", "email and external_id are not of one user.");
    case USER_NO_GROUP:
        return refuse(e, 400, prefix, groups_key, "There is no such group.");
    case USER_TOO_MANY_GROUPS:
        return refuse_many(e, prefix, groups_key);
    case USER_UID_INVALID:
        return refuse(e, 400, prefix, "uid", "This uid is outside of the range of this host.");
    case USER_UID_TAKEN:
        return refuse(e, 409, prefix, "uid", "This uid is taken.");
    case USER_COMMENT_INVALID:
        return refuse(e, 400, prefix, "comment", COMMENT_RULE);
    case USER_SHELL_INVALID:
        return refuse(e, 400, prefix, "shell", SHELL_RULE);
    case USER_IDS_EXHAUSTED:
        return error_set(e, 500, STATUS_INTERNAL, NULL, "No user id is left.");
    case USER_UNBOUND: /* of user_exists_already() alone */
        break;
    }
    return error_set(e, 500, STATUS_INTERNAL, NULL, "The user could not be created.");
}

static int refuse_group(struct error *e, const char *key, const char *group)
{
    return error_field(e, key, "There is no group %.40s.", group ? group : "of that name");
}

int verdict_of_change(enum user_change_verdict verdict, const char *groups_key, const char *group,
                      struct error *e)
{
    const char *key = groups_key ? groups_key : "groups";

    switch (verdict) {
    case USER_CHANGED:
        return 0;
    case USER_CHANGE_EMAIL_INVALID:
        return refuse(e, 400, "", "email", "This is not an e-mail address (NAME@DOMAIN).");
    case USER_CHANGE_EMAIL_TAKEN:
        return refuse(e, 409, "", "email", "Another user has this e-mail address.");
    case USER_CHANGE_COMMENT_INVALID:
        return refuse(e, 400, "", "comment", COMMENT_RULE);
    case USER_CHANGE_SHELL_INVALID:
        return refuse(e, 400, "", "shell", SHELL_RULE);
    case USER_CHANGE_NO_GROUP:
        return refuse_group(e, key, group);
    case USER_CHANGE_GROUP_IS_ALL:
        return refuse(e, 400, "", key, "Everybody is in " GROUP_ALL_USERS ".");
    case USER_CHANGE_TOO_MANY_GROUPS:
        return refuse_many(e, "", key);
    }
    return error_set(e, 500, STATUS_INTERNAL, NULL, "The user could not be changed.");
}
