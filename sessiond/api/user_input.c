/* SPDX-License-Identifier: ISC */
/* user_input.c - bodies about users, groups and callers, checked. */
#include "sessiond/api/user_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/ids.h"
#include "common/str.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/timestamp.h"

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

int user_input_parse(const json_t *body, struct user_input *ret_in, struct error *e)
{
    static const char *const keys[] = {"email", "external_id", "name", "group", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    struct user_input u = {0};
    int r;

    r = json_in_only(&in, keys);
    if (r == 0)
        r = read_field(&in, "email", u.email, sizeof(u.email));
    if (r == 0)
        r = read_field(&in, "external_id", u.external_id, sizeof(u.external_id));
    if (r == 0)
        r = read_field(&in, "name", u.name, sizeof(u.name));
    if (r == 0)
        r = read_field(&in, "group", u.group, sizeof(u.group));
    if (r < 0)
        return r;
    if (!u.email[0] && !u.external_id[0] && !u.name[0])
        return error_field(e, NULL, "One of email, external_id and name must be given.");
    *ret_in = u;
    return 0;
}

struct user_spec user_input_spec(const struct user_input *in, uint32_t owner_uid,
                                 const char *groups[1])
{
    /* Everybody is in that one; it is not a course group. */
    groups[0] = in->group[0] && strcmp(in->group, GROUP_ALL_USERS) != 0 ? in->group : NULL;
    return (struct user_spec){
        .email = in->email[0] ? in->email : NULL,
        .external_id = in->external_id[0] ? in->external_id : NULL,
        .owner_uid = owner_uid,
        .name = in->name[0] ? in->name : NULL,
        .groups = groups,
        .group_count = groups[0] ? 1 : 0,
        .expires_s = EXPIRY_KEEP,
    };
}

static int read_expiry(const struct json_in *in, struct user_patch *p)
{
    const json_t *v = json_object_get(in->obj, "expires_at");

    if (!v)
        return 0;
    p->has_expiry = true;
    if (json_is_null(v))
        return 0;
    if (!json_is_string(v) || timestamp_parse(json_string_value(v), &p->expires_s) < 0)
        return error_field(in->e, "expires_at",
                           "expires_at must be null or a time in UTC, as 2026-11-29T12:00:00Z.");
    if (p->expires_s == 0)
        p->expires_s = 1; /* To the registry 0 is never, and this was the opposite. */
    return 0;
}

int user_patch_parse(const json_t *body, struct user_patch *ret_patch, struct error *e)
{
    static const char *const keys[] = {"locked", "expires_at", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    struct user_patch p = {0};
    int r;

    r = json_in_only(&in, keys);
    if (r == 0)
        r = json_in_bool(&in, "locked", &p.is_locked);
    if (r == 0)
        r = read_expiry(&in, &p);
    if (r < 0)
        return r;
    p.has_locked = json_object_get(body, "locked") != NULL;
    if (!p.has_locked && !p.has_expiry)
        return error_field(e, NULL, "One of locked and expires_at must be given.");
    *ret_patch = p;
    return 0;
}

int group_input_parse(const json_t *body, const char **ret_name, struct error *e)
{
    static const char *const keys[] = {"name", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    const char *name = NULL;
    int r;

    r = json_in_only(&in, keys);
    if (r == 0)
        r = json_in_require(&in, "name");
    if (r == 0)
        r = json_in_string(&in, "name", NAME_MAX_LEN, &name);
    if (r < 0)
        return r;
    *ret_name = name;
    return 0;
}

static int read_verbs(const json_t *verbs, uint32_t *ret_bits, struct error *e)
{
    uint32_t bits = 0;
    const json_t *item;
    size_t i;

    json_array_foreach(verbs, i, item)
    {
        uint32_t bit = CALLER_VERB__COUNT;

        for (uint32_t v = 0; v < CALLER_VERB__COUNT; v++) {
            if (strcmp(json_string_value(item), caller_verb_key((enum caller_verb)v)) == 0)
                bit = v;
        }
        if (bit == CALLER_VERB__COUNT)
            return error_field(e, "verbs", "verbs may hold users, runs, net-public and links.");
        bits |= 1u << bit;
    }
    *ret_bits = bits;
    return 0;
}

int caller_input_parse(const json_t *body, uint32_t *ret_uid, uint32_t *ret_verbs,
                       const json_t **ret_groups, struct error *e)
{
    static const char *const keys[] = {"uid", "groups", "verbs", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    const json_t *groups = NULL, *verbs = NULL;
    uint32_t uid = 0, bits = 0;
    int r;

    r = json_in_only(&in, keys);
    for (size_t i = 0; r == 0 && keys[i]; i++)
        r = json_in_require(&in, keys[i]);
    /* (uid_t)-1 is no user; 0 has admin.sock and nothing else. */
    if (r == 0)
        r = json_in_u32(&in, "uid", 1, UINT32_MAX - 1, &uid);
    if (r == 0)
        r = json_in_strings(&in, "groups", CALLER_GROUPS_MAX, &groups);
    if (r == 0)
        r = json_in_strings(&in, "verbs", CALLER_VERB__COUNT, &verbs);
    if (r == 0)
        r = read_verbs(verbs, &bits, e);
    if (r < 0)
        return r;
    if (json_array_size(groups) == 0)
        return error_field(e, "groups", "groups must name at least one group.");
    if (bits == 0)
        return error_field(e, "verbs", "verbs must name at least one right.");
    *ret_uid = uid;
    *ret_verbs = bits;
    *ret_groups = groups;
    return 0;
}
