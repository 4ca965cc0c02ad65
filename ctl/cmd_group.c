/* SPDX-License-Identifier: ISC */
/* cmd_group.c - atelier group add, group list */
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

static int group_row(struct table *t, json_t *group)
{
    json_error_t error;
    const char *name;
    json_int_t gid;

    if (json_unpack_ex(group, &error, 0, "{s:s, s:I}", "name", &name, "gid", &gid) < 0)
        return answer_is_strange(error.text);
    table_add(t, name);
    table_addf(t, "%" JSON_INTEGER_FORMAT, gid);
    return CTL_OK;
}

int cmd_group_add(struct options *opt, int argc, char **argv)
{
    cleanup_table struct table *t = table_new(2);
    cleanup_answer struct answer a = {0};
    cleanup_json json_t *body = NULL;
    const char *name = NULL;
    int code;

    if (args_parse_operand(opt, argc, argv, 0, "NAME",
                           "Make a group, for a course or a class. Its number is never used again.",
                           &name) < 0)
        return CTL_USAGE;
    body = json_pack("{s:s}", "name", name);
    if (!body) {
        say_error("the name of a group is not UTF-8: %s", name);
        return CTL_USAGE;
    }
    code = answer_get(opt, "POST", "/v1/groups", body, &a);
    if (code != CTL_OK || opt->json)
        return code;
    code = group_row(t, a.json);
    if (code == CTL_OK)
        table_print(t, stdout);
    return code;
}

int cmd_group_list(struct options *opt, int argc, char **argv)
{
    cleanup_table struct table *t = table_new(2);
    cleanup_answer struct answer a = {0};
    json_t *groups;
    size_t i;
    int code;

    if (args_parse_operand(opt, argc, argv, 0, NULL, "List all groups.", NULL) < 0)
        return CTL_USAGE;
    code = answer_get(opt, "GET", "/v1/groups", NULL, &a);
    if (code != CTL_OK || opt->json)
        return code;
    groups = json_object_get(a.json, "groups");
    if (!json_is_array(groups))
        return answer_is_strange("there is no list of groups in it");
    table_add(t, "NAME");
    table_add(t, "GID");
    for (i = 0; i < json_array_size(groups); i++) {
        code = group_row(t, json_array_get(groups, i));
        if (code != CTL_OK)
            return code;
    }
    table_print(t, stdout);
    return CTL_OK;
}
