/* SPDX-License-Identifier: ISC */
/* cmd_user.c - atelier user add, user list, user show */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

enum {
    OPTION_NAME = OPTION_OWN,
    OPTION_GROUP,
    OPTION_EXTERNAL_ID,
};

struct add_args {
    struct options *opt;
    const char *email, *name, *group, *external_id;
};

static error_t add_option_parse(int key, char *arg, struct argp_state *state)
{
    struct add_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_NAME:
        args->name = arg;
        return 0;
    case OPTION_GROUP:
        args->group = arg;
        return 0;
    case OPTION_EXTERNAL_ID:
        args->external_id = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (args->email) {
            argp_error(state, "'%s' is one argument too many", arg);
            return EINVAL;
        }
        args->email = arg;
        return 0;
    case ARGP_KEY_END:
        if (!args->email && !args->name && !args->external_id) {
            argp_error(state, "an e-mail address, --name or --external-id is needed");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option add_options[] = {
    {"name", OPTION_NAME, "NAME", 0, "Name of the user [made from the e-mail address]", 0},
    {"group", OPTION_GROUP, "GROUP", 0, "Group to put the user into, besides atelier-users", 0},
    {"external-id", OPTION_EXTERNAL_ID, "ID", 0, "Key of this person in your own system", 0},
    {0},
};

static const struct argp add_argp = {
    .options = add_options,
    .parser = add_option_parse,
    .args_doc = "[EMAIL]",
    .doc = "Make a user. Who has this external id or this e-mail address already is found, not "
           "made a second time.\vPrints the name, the UID, and \"created\" or \"existed\".",
    .children = options_child};

int user_add_parse(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret_body)
{
    struct add_args args = {.opt = opt};
    json_t *body;

    if (argp_parse(&add_argp, argc, argv, flags, NULL, &args) != 0)
        return -EINVAL;
    /* "s*": a member whose value is NULL is left out. */
    body = json_pack("{s:s*, s:s*, s:s*, s:s*}", "email", args.email, "name", args.name, "group",
                     args.group, "external_id", args.external_id);
    if (!body) {
        if (!(flags & ARGP_NO_ERRS))
            say_error("an argument is not UTF-8");
        return -EINVAL;
    }
    *ret_body = body;
    return 0;
}

int cmd_user_add(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer a = {0};
    cleanup_free char *shown = NULL;
    cleanup_json json_t *body = NULL;
    json_error_t error;
    const char *name;
    json_int_t uid;
    int code, is_created;

    if (user_add_parse(opt, argc, argv, 0, &body) < 0)
        return CTL_USAGE;
    code = answer_get(opt, "POST", "/v1/users", body, &a);
    if (code != CTL_OK || opt->json)
        return code;
    if (json_unpack_ex(a.json, &error, 0, "{s:s, s:I, s:b}", "name", &name, "uid", &uid, "created",
                       &is_created) < 0)
        return answer_is_strange(error.text);
    /* Generated names have 8 characters at most, so the lines of many calls stay aligned. */
    shown = text_escape(name, strlen(name), NULL);
    (void)printf("%-8s %5" JSON_INTEGER_FORMAT " %s\n", shown, uid,
                 is_created ? "created" : "existed");
    return CTL_OK;
}

struct user_row {
    const char *name, *state;
    json_int_t uid, created_s;
    json_t *email, *external_ids, *groups, *expires_at;
};

static int row_read(json_t *json, struct user_row *ret_row)
{
    json_error_t error;

    if (json_unpack_ex(json, &error, 0, "{s:s, s:I, s:s, s:o, s:o, s:I, s:o, s?o}", "name",
                       &ret_row->name, "uid", &ret_row->uid, "state", &ret_row->state, "email",
                       &ret_row->email, "external_ids", &ret_row->external_ids, "created_s",
                       &ret_row->created_s, "groups", &ret_row->groups, "expires_at",
                       &ret_row->expires_at) < 0)
        return answer_is_strange(error.text);
    return CTL_OK;
}

/* "0:a,990:42": UID of the caller, and its key. "-" if there are none. Heap; NULL: makes no sense.
 */
static char *external_ids_join(json_t *array)
{
    cleanup_json json_t *pairs = json_array();
    json_t *pair;
    size_t i;

    json_array_foreach(array, i, pair)
    {
        json_int_t caller;
        const char *id;

        if (json_unpack(pair, "{s:I, s:s}", "caller", &caller, "external_id", &id) < 0)
            return NULL;
        if (json_array_append_new(pairs, json_sprintf("%" JSON_INTEGER_FORMAT ":%s", caller, id)) <
            0)
            say_no_memory();
    }
    return json_is_array(array) ? json_join(pairs) : NULL;
}

int cmd_user_list(struct options *opt, int argc, char **argv)
{
    static const char *const heads[] = {"NAME",    "UID",     "STATE",  "EMAIL",
                                        "CREATED", "EXPIRES", "GROUPS", "EXTERNAL IDS"};
    const size_t count = sizeof(heads) / sizeof(heads[0]);
    cleanup_table struct table *t = table_new(count);
    cleanup_answer struct answer a = {0};
    json_t *users;
    size_t i;
    int code;

    if (args_parse_operand(opt, argc, argv, 0, NULL, "List all users.", NULL) < 0)
        return CTL_USAGE;
    code = answer_get(opt, "GET", "/v1/users", NULL, &a);
    if (code != CTL_OK || opt->json)
        return code;
    users = json_object_get(a.json, "users");
    if (!json_is_array(users))
        return answer_is_strange("there is no list of users in it");
    for (i = 0; i < count; i++)
        table_add(t, heads[i]);
    for (i = 0; i < json_array_size(users); i++) {
        cleanup_free char *groups = NULL, *external_ids = NULL;
        char created[TIME_TEXT_SIZE];
        struct user_row row = {0};

        code = row_read(json_array_get(users, i), &row);
        if (code != CTL_OK)
            return code;
        groups = json_join(row.groups);
        external_ids = external_ids_join(row.external_ids);
        if (!external_ids)
            return answer_is_strange("external_ids");
        table_add(t, row.name);
        table_addf(t, "%" JSON_INTEGER_FORMAT, row.uid);
        table_add(t, row.state);
        table_add(t, json_text(row.email));
        table_add(t, time_text(row.created_s, created));
        table_add(t, json_text(row.expires_at));
        table_add(t, groups);
        table_add(t, external_ids);
    }
    table_print(t, stdout);
    return CTL_OK;
}

static int row_print(const struct user_row *row)
{
    cleanup_table struct table *t = table_new(2);
    cleanup_free char *groups = json_join(row->groups);
    cleanup_free char *external_ids = external_ids_join(row->external_ids);
    char created[TIME_TEXT_SIZE];

    if (!external_ids)
        return answer_is_strange("external_ids");
    table_add(t, "name");
    table_add(t, row->name);
    table_add(t, "uid");
    table_addf(t, "%" JSON_INTEGER_FORMAT, row->uid);
    table_add(t, "state");
    table_add(t, row->state);
    table_add(t, "email");
    table_add(t, json_text(row->email));
    table_add(t, "external ids");
    table_add(t, external_ids);
    table_add(t, "created");
    table_add(t, time_text(row->created_s, created));
    table_add(t, "expires");
    table_add(t, json_text(row->expires_at));
    table_add(t, "groups");
    table_add(t, groups);
    table_print(t, stdout);
    return CTL_OK;
}

int cmd_user_show(struct options *opt, int argc, char **argv)
{
    char path[sizeof("/v1/users/") + NAME_SIZE];
    cleanup_answer struct answer a = {0};
    struct user_row row = {0};
    const char *name = NULL;
    int code;

    if (args_parse_operand(opt, argc, argv, 0, "NAME", "Show one user.", &name) < 0)
        return CTL_USAGE;
    if (!name_is_valid(name)) {
        say_error("'%s' is not a user name: a lower-case letter, then letters, digits and '-', at "
                  "most %d in all",
                  name, NAME_MAX_LEN);
        return CTL_USAGE;
    }
    (void)snprintf(path, sizeof(path), "/v1/users/%s", name);
    code = answer_get(opt, "GET", path, NULL, &a);
    if (code != CTL_OK || opt->json)
        return code;
    code = row_read(a.json, &row);
    return code == CTL_OK ? row_print(&row) : code;
}
