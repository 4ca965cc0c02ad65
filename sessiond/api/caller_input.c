/* SPDX-License-Identifier: ISC */
/* caller_input.c - bodies about callers, checked. */
#include "sessiond/api/caller_input.h"

#include <string.h>

#include "registry/registry.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/value.h"

#include "common/banned.h"

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
            return error_field(e, "verbs",
                               "verbs may hold users, runs, net-public and links, not %s.",
                               VALUE_JSON(item));
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
