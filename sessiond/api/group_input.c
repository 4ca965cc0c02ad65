/* SPDX-License-Identifier: ISC */
/* group_input.c - bodies about groups, checked. */
#include "sessiond/api/group_input.h"

#include "sessiond/api/json_in.h"

#include "common/banned.h"

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

static int read_members(const struct json_in *in, struct group_patch *p)
{
    static const struct {
        const char *key;
        enum user_groups_how how;
    } ways[] = {
        {"members", USER_GROUPS_SET},
        {"members_add", USER_GROUPS_ADD},
        {"members_remove", USER_GROUPS_REMOVE},
    };

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        const json_t *array = NULL;
        int r = json_in_strings(in, ways[i].key, GROUP_MEMBERS_MAX, &array);

        if (r < 0)
            return r;
        if (!array)
            continue;
        if (p->members)
            return error_field(in->e, ways[i].key, "%s and %s cannot both be given.",
                               p->members_key, ways[i].key);
        p->members_key = ways[i].key;
        p->how = ways[i].how;
        p->members = array;
    }
    return 0;
}

int group_patch_parse(const json_t *body, struct group_patch *ret_patch, struct error *e)
{
    static const char *const keys[] = {"name", "members", "members_add", "members_remove", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    struct group_patch p = {.how = USER_GROUPS_KEEP};
    int r;

    r = json_in_only(&in, keys);
    if (r == 0)
        r = json_in_string(&in, "name", NAME_MAX_LEN, &p.name);
    if (r == 0)
        r = read_members(&in, &p);
    if (r < 0)
        return r;
    if (!p.name && !p.members)
        return error_field(
            e, NULL,
            "At least one of name, members, members_add and members_remove must be given.");
    *ret_patch = p;
    return 0;
}
