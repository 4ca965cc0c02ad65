/* SPDX-License-Identifier: ISC */
/* cmd_user.c - atelier user list, user show */
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/disk_text.h"
#include "ctl/list.h"
#include "ctl/named.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

struct user_row {
    const char *name, *state, *comment, *shell;
    json_int_t uid, created_s;
    json_t *email, *external_ids, *groups, *expires_at;
};

static int row_read(json_t *json, struct user_row *ret_row)
{
    json_error_t error;

    if (json_unpack_ex(json, &error, 0, "{s:s, s:I, s:s, s:o, s:o, s:I, s:o, s?o, s?s, s?s}",
                       "name", &ret_row->name, "uid", &ret_row->uid, "state", &ret_row->state,
                       "email", &ret_row->email, "external_ids", &ret_row->external_ids,
                       "created_s", &ret_row->created_s, "groups", &ret_row->groups, "expires_at",
                       &ret_row->expires_at, "comment", &ret_row->comment, "shell",
                       &ret_row->shell) < 0)
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

/* Everybody is in that one; whoever else is in "a,b" counts. */
static char *groups_join(json_t *groups)
{
    cleanup_json json_t *some = json_array();
    json_t *group;
    size_t i;

    if (!some)
        say_no_memory();
    json_array_foreach(groups, i, group)
    {
        if (strcmp(json_text(group), GROUP_ALL_USERS) != 0 && json_array_append(some, group) < 0)
            say_no_memory();
    }
    return json_join(some);
}

enum { SHORT_EMAIL = 3, SHORT_GROUPS = 5 };

static void short_add(struct table *t, const struct user_row *row)
{
    cleanup_free char *groups = groups_join(row->groups);
    char expires[LIST_TIME_SIZE];

    table_add(t, row->name);
    table_addf(t, "%" JSON_INTEGER_FORMAT, row->uid);
    table_add(t, row->state);
    table_add(t, json_text(row->email));
    table_add(t, list_day(json_text(row->expires_at), expires));
    table_add(t, groups);
}

static int long_add(struct table *t, const struct user_row *row)
{
    cleanup_free char *groups = json_join(row->groups);
    cleanup_free char *external_ids = external_ids_join(row->external_ids);
    char created[TIME_TEXT_SIZE];

    if (!external_ids)
        return answer_is_strange("external_ids");
    table_add(t, row->name);
    table_addf(t, "%" JSON_INTEGER_FORMAT, row->uid);
    table_add(t, row->state);
    table_add(t, json_text(row->email));
    table_add(t, time_text(row->created_s, created));
    table_add(t, json_text(row->expires_at));
    table_add(t, groups);
    table_add(t, external_ids);
    return CTL_OK;
}

static int users_print(json_t *users, bool is_short)
{
    static const char *const longs[] = {"NAME",    "UID",     "STATE",  "EMAIL",
                                        "CREATED", "EXPIRES", "GROUPS", "EXTERNAL IDS"},
                             *const shorts[] = {"NAME",  "UID",     "STATE",
                                                "EMAIL", "EXPIRES", "GROUPS"};
    const char *const *heads = is_short ? shorts : longs;
    size_t count = is_short ? sizeof(shorts) / sizeof(shorts[0]) : sizeof(longs) / sizeof(longs[0]);
    cleanup_table struct table *t = table_new(count);
    int code;

    for (size_t i = 0; i < count; i++)
        table_add(t, heads[i]);
    for (size_t i = 0; i < json_array_size(users); i++) {
        struct user_row row = {0};

        code = row_read(json_array_get(users, i), &row);
        if (code == CTL_OK && is_short)
            short_add(t, &row);
        else if (code == CTL_OK)
            code = long_add(t, &row);
        if (code != CTL_OK)
            return code;
    }
    list_print(t, is_short, LIST_CUT(SHORT_EMAIL) | LIST_CUT(SHORT_GROUPS));
    return CTL_OK;
}

int cmd_user_list(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer a = {0};
    bool is_short = false;
    json_t *users;
    int code;

    if (list_parse(opt, argc, argv,
                   "List all users.\vSTATE: reserved (was never in yet), "
                   "active, locked or expired.",
                   &is_short) < 0)
        return CTL_USAGE;
    code = answer_get(opt, "GET", "/v1/users", NULL, &a);
    if (code != CTL_OK || opt->json)
        return code;
    users = json_object_get(a.json, "users");
    if (!json_is_array(users))
        return answer_is_strange("there is no list of users in it");
    return users_print(users, is_short);
}

static int row_print(const struct user_row *row)
{
    cleanup_table struct table *t = table_new(2);
    cleanup_free char *groups = json_join(row->groups);
    cleanup_free char *external_ids = external_ids_join(row->external_ids);
    char created[TIME_TEXT_SIZE], disk[DISK_TEXT_SIZE];

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
    table_add(t, "comment");
    table_add(t, row->comment && row->comment[0] ? row->comment : "-");
    table_add(t, "shell");
    table_add(t, row->shell && row->shell[0] ? row->shell : "default");
    disk_text((uint32_t)row->uid, row->name, disk);
    table_add(t, "disk");
    table_add(t, disk);
    table_print(t, stdout);
    return CTL_OK;
}

int cmd_user_show(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer a = {0};
    struct user_row row = {0};
    const char *name = NULL;
    int code;

    if (args_parse_operand(opt, argc, argv, 0, "NAME", "Show one user.", &name) < 0)
        return CTL_USAGE;
    code = named_get(opt, "GET", NAMED_USER, name, NULL, &a);
    if (code != CTL_OK || opt->json)
        return code;
    code = row_read(a.json, &row);
    return code == CTL_OK ? row_print(&row) : code;
}
