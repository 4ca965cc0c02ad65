/* SPDX-License-Identifier: ISC */
/* user_input.c - bodies about one user, checked. */
#include "sessiond/api/user_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/ids.h"
#include "common/str.h"
#include "sessiond/api/timestamp.h"
#include "sessiond/api/value.h"

#include "common/banned.h"

/* Copy one optional string into its field. */
static int read_field(const struct json_in *in, const char *key, char *field, size_t size)
{
    const char *s = NULL;
    int r = json_in_string(in, key, size - 1, &s);

    if (r == 0 && s)
        r = str_copy(field, size, s);
    return r;
}

/* The same, where "" is as good as nothing. */
static int read_text(const struct json_in *in, const char *key, char *field, size_t size)
{
    const char *s = NULL;
    int r = json_in_text(in, key, size - 1, &s);

    if (r == 0 && s)
        r = str_copy(field, size, s);
    return r;
}

int user_input_expiry(const struct json_in *in, int64_t *ret_expires_s)
{
    const json_t *v = json_object_get(in->obj, "expires_at");
    char field[ERROR_FIELD_SIZE];

    if (!v)
        return 0;
    if (json_is_null(v)) {
        *ret_expires_s = 0;
        return 0;
    }
    if (!json_is_string(v) || timestamp_parse(json_string_value(v), ret_expires_s) < 0) {
        (void)snprintf(field, sizeof(field), "%sexpires_at", in->prefix);
        return error_field(in->e, field,
                           "%s must be null or a time in UTC, as 2026-11-29T12:00:00Z, not %s.",
                           field, VALUE_JSON(v));
    }
    if (*ret_expires_s == 0)
        *ret_expires_s = 1; /* To the registry 0 is never, and this was the opposite. */
    return 0;
}

int user_input_expiry_ahead(const struct json_in *in, int64_t *ret_expires_s)
{
    char field[ERROR_FIELD_SIZE];
    int64_t expires_s = 0;
    int r = user_input_expiry(in, &expires_s);

    if (r < 0 || !json_object_get(in->obj, "expires_at"))
        return r;
    if (expires_s != 0 && expires_s <= (int64_t)time(NULL)) {
        (void)snprintf(field, sizeof(field), "%sexpires_at", in->prefix);
        return error_field(in->e, field,
                           "%s is over: %s is in the past, and the user would be expired at once.",
                           field, VALUE_JSON(json_object_get(in->obj, "expires_at")));
    }
    *ret_expires_s = expires_s;
    return 0;
}

size_t user_input_names(const json_t *array, const char **ret_names, size_t max)
{
    const json_t *item;
    size_t i, n = 0;

    json_array_foreach(array, i, item)
    {
        if (n < max)
            ret_names[n++] = json_string_value(item);
    }
    return n;
}

/* `group` is what callers know; `groups` is the administrator's. */
static int read_groups(const struct json_in *in, struct user_input *u)
{
    const char *names[GROUP_NAMES_MAX];
    const json_t *array = NULL;
    int r = read_field(in, "group", u->groups[0], sizeof(u->groups[0]));

    if (r < 0)
        return r;
    u->group_count = u->groups[0][0] != '\0';
    r = json_in_strings(in, "groups", GROUP_NAMES_MAX, &array);
    if (r < 0 || !array)
        return r;
    if (u->group_count > 0)
        return error_field(in->e, "group", "group and groups cannot both be given.");
    u->groups_key = "groups";
    u->group_count = user_input_names(array, names, GROUP_NAMES_MAX);
    for (size_t i = 0; i < u->group_count; i++) {
        if (!name_is_valid(names[i]) || str_copy(u->groups[i], NAME_SIZE, names[i]) < 0)
            return error_field(in->e, "groups", "There is no group %s.", VALUE(names[i]));
    }
    return 0;
}

static int read_admin_keys(const struct json_in *in, struct user_input *u)
{
    int r = read_text(in, "comment", u->comment, sizeof(u->comment));

    if (r == 0)
        r = read_text(in, "shell", u->shell, sizeof(u->shell));
    if (r == 0)
        r = user_input_expiry_ahead(in, &u->expires_s);
    if (r == 0)
        r = json_in_u32(in, "uid", 1, UINT32_MAX - 1, &u->uid);
    if (r == 0)
        r = json_in_bool(in, "adopt", &u->is_adopted);
    if (r == 0 && u->is_adopted && !u->name[0])
        r = error_field(in->e, "name", "adopt needs the name of the account.");
    return r;
}

static int check_keys(const struct json_in *in, bool is_admin)
{
    static const char *const keys[] = {"email", "external_id", "name", "group", "groups", "comment",
                                       "shell", "expires_at",  "uid",  "adopt", NULL};

    for (const char *const *key = keys + 4; !is_admin && *key; key++) {
        if (json_object_get(in->obj, *key))
            return error_set(in->e, 403, STATUS_NOT_ALLOWED, *key, "%s is for the admin socket.",
                             *key);
    }
    return json_in_only(in, keys);
}

int user_input_parse(const json_t *body, bool is_admin, struct user_input *ret_in, struct error *e)
{
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    struct user_input u = {.groups_key = "group", .expires_s = EXPIRY_KEEP};
    int r;

    r = check_keys(&in, is_admin);
    if (r == 0)
        r = read_field(&in, "email", u.email, sizeof(u.email));
    if (r == 0)
        r = read_field(&in, "external_id", u.external_id, sizeof(u.external_id));
    if (r == 0)
        r = read_field(&in, "name", u.name, sizeof(u.name));
    if (r == 0)
        r = read_groups(&in, &u);
    if (r == 0)
        r = read_admin_keys(&in, &u);
    if (r < 0)
        return r;
    if (!u.email[0] && !u.external_id[0] && !u.name[0])
        return error_field(e, NULL, "One of email, external_id and name must be given.");
    *ret_in = u;
    return 0;
}

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

struct user_spec user_input_spec(const struct user_input *in, uint32_t owner_uid,
                                 const char *groups[GROUP_NAMES_MAX])
{
    for (size_t i = 0; i < in->group_count; i++)
        groups[i] = in->groups[i];
    return (struct user_spec){
        .email = or_null(in->email),
        .external_id = or_null(in->external_id),
        .owner_uid = owner_uid,
        .name = or_null(in->name),
        .groups = groups,
        .group_count = in->group_count,
        .comment = or_null(in->comment),
        .shell = or_null(in->shell),
        .expires_s = in->expires_s,
        .uid = in->uid,
    };
}

/* --- changes --- */

static int read_email(const struct json_in *in, struct user_change *c)
{
    if (!json_is_null(json_object_get(in->obj, "email")))
        return json_in_string(in, "email", EMAIL_SIZE - 1, &c->email);
    c->email = "";
    return 0;
}

static int read_group_change(const struct json_in *in, struct user_patch *p)
{
    static const struct {
        const char *key;
        enum user_groups_how how;
    } ways[] = {
        {"groups", USER_GROUPS_SET},
        {"groups_add", USER_GROUPS_ADD},
        {"groups_remove", USER_GROUPS_REMOVE},
    };

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        const json_t *array = NULL;
        int r = json_in_strings(in, ways[i].key, GROUP_NAMES_MAX, &array);

        if (r < 0)
            return r;
        if (!array)
            continue;
        if (p->groups_key)
            return error_field(in->e, ways[i].key, "%s and %s cannot both be given.", p->groups_key,
                               ways[i].key);
        p->groups_key = ways[i].key;
        p->change.groups_how = ways[i].how;
        p->change.groups = p->names;
        p->change.group_count = user_input_names(array, p->names, GROUP_NAMES_MAX);
    }
    return 0;
}

int user_patch_parse(const json_t *body, struct user_patch *ret_patch, struct error *e)
{
    static const char *const keys[] = {"locked", "expires_at", "comment",       "shell", "email",
                                       "groups", "groups_add", "groups_remove", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    struct user_patch *p = ret_patch;
    struct user_change *c = &p->change;
    int r;

    *p = (struct user_patch){0};
    r = json_in_only(&in, keys);
    if (r == 0)
        r = json_in_bool(&in, "locked", &c->is_locked);
    if (r == 0)
        r = user_input_expiry(&in, &c->expires_s);
    if (r == 0)
        r = json_in_text(&in, "comment", COMMENT_SIZE - 1, &c->comment);
    if (r == 0)
        r = json_in_text(&in, "shell", SHELL_SIZE - 1, &c->shell);
    if (r == 0)
        r = read_email(&in, c);
    if (r == 0)
        r = read_group_change(&in, p);
    if (r < 0)
        return r;
    c->has_locked = json_object_get(body, "locked") != NULL;
    c->has_expiry = json_object_get(body, "expires_at") != NULL;
    if (json_object_size(body) == 0)
        return error_field(e, NULL,
                           "At least one of locked, expires_at, comment, shell, email, "
                           "groups, groups_add and groups_remove must be given.");
    return 0;
}
