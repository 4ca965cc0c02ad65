/* SPDX-License-Identifier: ISC */
/* cmd_group_mod.c - atelier group show, group mod, group del */
#include <errno.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/named.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

struct mod_args {
    struct options *opt;
    const char *name, *new_name;
    json_t *users; /* owned, or NULL */
    bool is_append, is_remove;
};

static error_t mod_check(struct argp_state *state, const struct mod_args *args)
{
    const char *wrong = NULL;

    if (!args->name)
        wrong = "NAME is missing";
    else if ((args->is_append || args->is_remove) && !args->users)
        wrong = "-a and -r are for -U only";
    else if (args->is_append && args->is_remove)
        wrong = "-a puts users in, -r takes them out: one of the two";
    else if (!args->new_name && !args->users)
        wrong = "nothing to change was given";
    if (!wrong)
        return 0;
    argp_error(state, "%s", wrong);
    return EINVAL;
}

static error_t mod_option_parse(int key, char *arg, struct argp_state *state)
{
    struct mod_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case 'n':
        args->new_name = arg;
        return 0;
    case 'U':
        return args_names(state, "user", arg, &args->users);
    case 'a':
        args->is_append = true;
        return 0;
    case 'r':
        args->is_remove = true;
        return 0;
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->name);
    case ARGP_KEY_END:
        return mod_check(state, args);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option mod_options[] = {
    {"new-name", 'n', "NAME", 0, "New name; the old one is never used again", 0},
    {"users", 'U', "USER,...", 0, "Who is in it, and nobody else", 0},
    {"append", 'a', NULL, 0, "With -U: put these in, too", 0},
    {"remove", 'r', NULL, 0, "With -U: take these out", 0},
    {0},
};

static const struct argp mod_argp = {
    .options = mod_options,
    .parser = mod_option_parse,
    .args_doc = "NAME",
    .doc = "Rename a group, or change who is in it.\vGroups count from the next session or run on.",
    .children = options_child};

int group_mod_parse(struct options *opt, int argc, char **argv, unsigned flags,
                    const char **ret_name, json_t **ret_body)
{
    struct mod_args args = {.opt = opt};
    json_t *body = NULL;
    const char *key;
    int r = argp_parse(&mod_argp, argc, argv, flags, NULL, &args) != 0 ? -EINVAL : 0;

    if (r == 0) {
        key = args.is_append ? "members_add" : args.is_remove ? "members_remove" : "members";
        body = json_pack("{s:s*, s:O*}", "name", args.new_name, key, args.users);
        if (!body && !(flags & ARGP_NO_ERRS))
            say_error("an argument is not UTF-8");
        if (!body)
            r = -EINVAL;
    }
    json_decref(args.users);
    if (r < 0)
        return r;
    *ret_name = args.name;
    *ret_body = body;
    return 0;
}

/* Name, GID, and who is in it. */
static enum ctl_exit group_print(json_t *group)
{
    cleanup_table struct table *t = table_new(2);
    cleanup_free char *members = NULL;
    json_error_t error;
    const char *name;
    json_int_t gid;
    json_t *array;

    if (json_unpack_ex(group, &error, 0, "{s:s, s:I, s:o}", "name", &name, "gid", &gid, "members",
                       &array) < 0)
        return answer_is_strange(error.text);
    if (!json_is_array(array))
        return answer_is_strange("members");
    members = json_join(array);
    table_add(t, "name");
    table_add(t, name);
    table_add(t, "gid");
    table_addf(t, "%" JSON_INTEGER_FORMAT, gid);
    table_add(t, "members");
    table_add(t, members);
    table_print(t, stdout);
    return CTL_OK;
}

int cmd_group_mod(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer a = {0};
    cleanup_json json_t *body = NULL;
    const char *name = NULL;
    enum ctl_exit code;

    if (group_mod_parse(opt, argc, argv, 0, &name, &body) < 0)
        return CTL_USAGE;
    code = named_get(opt, "PATCH", NAMED_GROUP, name, body, &a);
    if (code == CTL_OK && !opt->json)
        code = group_print(a.json);
    return code;
}

int cmd_group_show(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer a = {0};
    const char *name = NULL;
    enum ctl_exit code;

    if (args_parse_operand(opt, argc, argv, 0, "NAME", "Show a group and who is in it.", &name) < 0)
        return CTL_USAGE;
    code = named_get(opt, "GET", NAMED_GROUP, name, NULL, &a);
    if (code == CTL_OK && !opt->json)
        code = group_print(a.json);
    return code;
}

int cmd_group_del(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer a = {0};
    const char *name = NULL;
    enum ctl_exit code;

    if (args_parse_operand(opt, argc, argv, 0, "NAME",
                           "Remove a group, with all its memberships. Its name and number are "
                           "never used again.\vA group that a caller may act for stays: change the "
                           "caller first (atelier caller add).",
                           &name) < 0)
        return CTL_USAGE;
    code = named_get(opt, "DELETE", NAMED_GROUP, name, NULL, &a);
    if (code == CTL_OK && !opt->json)
        (void)printf("group %s is removed\n", name);
    return (int)code;
}
