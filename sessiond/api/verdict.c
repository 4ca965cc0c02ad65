/* SPDX-License-Identifier: ISC */
/* verdict.c - what the registry says no to, as the error of a field. */
#include "sessiond/api/verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "common/ids.h"
#include "sessiond/api/value.h"

#include "common/banned.h"

#define NAME_RULE    "a name is a lower-case letter and up to 30 of a-z, 0-9 and -"
#define COMMENT_RULE "one line of at most 127 bytes, without a colon and without control characters"
#define SHELL_RULE   "an absolute path of printable ASCII, without a colon or a blank"

/* Where the error belongs. */
struct place {
    struct error *e;
    const char *prefix;
};

__attribute__((format(printf, 4, 5))) static int refuse(const struct place *at, unsigned http,
                                                        const char *key, const char *format, ...)
{
    char field[ERROR_FIELD_SIZE], message[ERROR_MESSAGE_SIZE];
    va_list ap;

    (void)snprintf(field, sizeof(field), "%s%s", at->prefix, key);
    va_start(ap, format);
    (void)vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
    return error_set(at->e, http, STATUS_BAD_REQUEST, field, "%s", message);
}

/* --- names and numbers --- */

static int refuse_taken_name(struct registry *reg, const struct place *at, const char *name)
{
    enum used_by by = USED_BY_NOBODY;
    const char *value = VALUE(name);

    if (name_used_by(reg, name, &by) < 0)
        return refuse(at, 409, "name", "The name %s is taken.", value);
    switch (by) {
    case USED_BY_USER:
        return refuse(at, 409, "name", "The name %s is that of a user.", value);
    case USED_BY_GROUP:
        return refuse(at, 409, "name", "The name %s is that of a group.", value);
    case USED_ONCE:
        return refuse(at, 409, "name", "The name %s was once given out, and is not used again.",
                      value);
    case USED_BY_NOBODY:
        break;
    }
    return refuse(at, 409, "name", "The name %s is that of an account or a group of this host.",
                  value);
}

static int refuse_taken_uid(struct registry *reg, const struct place *at, uint32_t uid)
{
    enum used_by by = USED_BY_NOBODY;

    if (id_used_by(reg, uid, &by) < 0)
        return refuse(at, 409, "uid", "The uid %u is taken.", uid);
    switch (by) {
    case USED_BY_USER:
        return refuse(at, 409, "uid", "The uid %u is that of a user.", uid);
    case USED_BY_GROUP:
        return refuse(at, 409, "uid", "The number %u is that of a group.", uid);
    case USED_ONCE:
        return refuse(at, 409, "uid", "The uid %u was once given out, and is not used again.", uid);
    case USED_BY_NOBODY:
        break;
    }
    return refuse(at, 409, "uid", "The uid %u is that of an account or a group of this host.", uid);
}

static int refuse_uid(struct registry *reg, const struct place *at, uint32_t uid)
{
    uint32_t min = 0, max = 0;

    registry_id_range(reg, &min, &max);
    return refuse(at, 400, "uid", "The uid %u is outside of what this host gives out: %u-%u.", uid,
                  min, max);
}

static int refuse_name(struct registry *reg, const struct place *at, enum user_verdict verdict,
                       const char *name, const char *email)
{
    if (!name)
        return refuse(at, 409, "name", "All names for %s are taken: give one.", VALUE(email));
    if (verdict == USER_NAME_INVALID)
        return refuse(at, 400, "name", "%s cannot be a name: " NAME_RULE ".", VALUE(name));
    if (verdict == USER_NAME_RESERVED)
        return refuse(at, 409, "name", "The name %s is reserved for the system.", VALUE(name));
    return refuse_taken_name(reg, at, name);
}

int verdict_of_group_name(struct registry *reg, int r, const char *name, struct error *e)
{
    const struct place at = {.e = e, .prefix = ""};

    switch (r) {
    case -EEXIST:
        return refuse_name(reg, &at, USER_NAME_TAKEN, name, NULL);
    case -EPERM:
        return refuse_name(reg, &at, USER_NAME_RESERVED, name, NULL);
    case -EINVAL:
        return refuse_name(reg, &at, USER_NAME_INVALID, name, NULL);
    default: /* an errno, not an enum */
        return 0;
    }
}

/* --- the rest --- */

static int refuse_email(const struct place *at, const char *email)
{
    return refuse(at, 400, "email", "%s is no e-mail address (NAME@DOMAIN).", VALUE(email));
}

static int refuse_comment(const struct place *at, const char *comment)
{
    return refuse(at, 400, "comment", "%s cannot be a comment: " COMMENT_RULE ".", VALUE(comment));
}

static int refuse_shell(const struct place *at, const char *shell)
{
    return refuse(at, 400, "shell", "%s cannot be a shell: " SHELL_RULE ".", VALUE(shell));
}

static int refuse_many(const struct place *at, const char *key, const char *who)
{
    return refuse(at, 400, key, "%s would be in more than %u groups besides " GROUP_ALL_USERS ".",
                  who ? VALUE(who) : "The user", USER_GROUPS_MAX);
}

static int refuse_group(struct registry *reg, const struct place *at, const char *key,
                        const struct user_spec *spec)
{
    const char *group = NULL;

    if (group_first_missing(reg, spec->groups, spec->group_count, &group) < 0 || !group)
        return refuse(at, 400, key, "One of the groups is not there.");
    return refuse(at, 400, key, "There is no group %s.", VALUE(group));
}

static int refuse_conflict(const struct place *at, const struct user_spec *spec)
{
    return refuse(at, 409, "external_id",
                  "The e-mail address %s and the external_id %s are not of "
                  "one user.",
                  VALUE(spec->email), VALUE(spec->external_id));
}

/* How the request calls the person. */
static const char *who_of(const struct user_spec *spec)
{
    if (spec->email)
        return spec->email;
    return spec->name ? spec->name : spec->external_id;
}

int verdict_of_user(struct registry *reg, enum user_verdict verdict, const struct user_spec *spec,
                    const char *prefix, const char *groups_key, struct error *e)
{
    const struct place at = {.e = e, .prefix = prefix};

    switch (verdict) {
    case USER_CREATED:
    case USER_EXISTED:
        return 0;
    case USER_NAME_INVALID:
    case USER_NAME_RESERVED:
    case USER_NAME_TAKEN:
        return refuse_name(reg, &at, verdict, spec->name, spec->email);
    case USER_EMAIL_INVALID:
        return refuse_email(&at, spec->email);
    case USER_EXTERNAL_ID_INVALID:
        return refuse(&at, 400, "external_id",
                      "%s cannot be an external_id: 1 to 128 printable ASCII characters.",
                      VALUE(spec->external_id));
    case USER_CONFLICT:
        return refuse_conflict(&at, spec);
    case USER_NO_GROUP:
        return refuse_group(reg, &at, groups_key, spec);
    case USER_TOO_MANY_GROUPS:
        return refuse_many(&at, groups_key, who_of(spec));
    case USER_UID_INVALID:
        return refuse_uid(reg, &at, spec->uid);
    case USER_UID_TAKEN:
        return refuse_taken_uid(reg, &at, spec->uid);
    case USER_COMMENT_INVALID:
        return refuse_comment(&at, spec->comment);
    case USER_SHELL_INVALID:
        return refuse_shell(&at, spec->shell);
    case USER_IDS_EXHAUSTED:
        return error_set(e, 500, STATUS_INTERNAL, NULL, "No user id is left.");
    case USER_UNBOUND: /* of user_exists_already() alone */
        break;
    }
    return error_set(e, 500, STATUS_INTERNAL, NULL, "The user could not be created.");
}

static int refuse_taken_email(struct registry *reg, const struct place *at, const char *email)
{
    struct user user;

    if (user_by_email(reg, email, &user) < 0)
        return refuse(at, 409, "email", "Another user has the e-mail address %s.", VALUE(email));
    return refuse(at, 409, "email", "The user %s has the e-mail address %s.", user.name,
                  VALUE(email));
}

int verdict_of_change(struct registry *reg, enum user_change_verdict verdict,
                      const struct user_change *change, const char *groups_key, const char *group,
                      struct error *e)
{
    const struct place at = {.e = e, .prefix = ""};
    const char *key = groups_key ? groups_key : "groups";

    switch (verdict) {
    case USER_CHANGED:
        return 0;
    case USER_CHANGE_EMAIL_INVALID:
        return refuse_email(&at, change->email);
    case USER_CHANGE_EMAIL_TAKEN:
        return refuse_taken_email(reg, &at, change->email);
    case USER_CHANGE_COMMENT_INVALID:
        return refuse_comment(&at, change->comment);
    case USER_CHANGE_SHELL_INVALID:
        return refuse_shell(&at, change->shell);
    case USER_CHANGE_NO_GROUP:
        return refuse(&at, 400, key, "There is no group %s.", VALUE(group));
    case USER_CHANGE_GROUP_IS_ALL:
        return refuse(&at, 400, key, "Everybody is in " GROUP_ALL_USERS ": nobody leaves it.");
    case USER_CHANGE_TOO_MANY_GROUPS:
        return refuse_many(&at, key, NULL);
    }
    return error_set(e, 500, STATUS_INTERNAL, NULL, "The user could not be changed.");
}
