/* SPDX-License-Identifier: ISC */
/* link_input.c - the body of POST /v1/links, checked, and ids of links. */
#include "sessiond/api/link_input.h"

#include <string.h>

#include "common/str.h"
#include "magic-link/magic_link.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/value.h"

#include "common/banned.h"

static int read_user(const struct json_in *in, const char **ret_user)
{
    const json_t *v = json_object_get(in->obj, "user");

    if (!json_is_string(v))
        return error_field(in->e, "user", "user must be a string, not %s.", VALUE_JSON(v));
    if (!name_is_valid(json_string_value(v)))
        return error_set(in->e, 404, STATUS_UNKNOWN_USER, "user", "There is no user %s.",
                         VALUE_JSON(v));
    *ret_user = json_string_value(v);
    return 0;
}

static int read_purpose(const struct json_in *in, enum link_purpose *ret_purpose)
{
    const char *key = NULL;
    int r = json_in_string(in, "purpose", 8, &key);

    if (r < 0 || !key)
        return r;
    for (unsigned i = 0; i < LINK_PURPOSE__COUNT; i++) {
        if (strcmp(key, link_purpose_key((enum link_purpose)i)) == 0) {
            *ret_purpose = (enum link_purpose)i;
            return 0;
        }
    }
    return error_field(in->e, "purpose", "purpose must be any, ssh or web, not %s.", VALUE(key));
}

int link_input_parse(const json_t *body, struct link_input *ret_in, struct error *e)
{
    static const char *const keys[] = {"user", "purpose", "valid_s", "qr", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    struct link_input l = {.purpose = LINK_PURPOSE_ANY, .valid_s = LINK_LOGIN_S};
    int r;

    r = json_in_only(&in, keys);
    if (r == 0)
        r = json_in_require(&in, "user");
    if (r == 0)
        r = read_user(&in, &l.user);
    if (r == 0)
        r = read_purpose(&in, &l.purpose);
    if (r == 0)
        r = json_in_u32(&in, "valid_s", 1, LINK_VALID_S_MAX, &l.valid_s);
    if (r == 0)
        r = json_in_bool(&in, "qr", &l.wants_qr);
    if (r == 0)
        *ret_in = l;
    return r;
}

bool link_id_is_valid(const char *id)
{
    return strlen(id) == LINK_ID_SIZE - 1 && strspn(id, "0123456789abcdef") == LINK_ID_SIZE - 1;
}
