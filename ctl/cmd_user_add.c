/* SPDX-License-Identifier: ISC */
/* cmd_user_add.c - atelier user add */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/say.h"

#include "common/banned.h"

enum {
    OPTION_NAME = OPTION_OWN,
    OPTION_GROUP,
    OPTION_EXTERNAL_ID,
};

struct add_args {
    struct options *opt;
    const char *email, *name, *group, *external_id, *comment, *shell;
    json_t *groups, *expires; /* owned, or NULL */
    uint32_t uid;             /* 0: the next one */
};

static error_t add_operands_check(struct argp_state *state, const struct add_args *args)
{
    if (!args->email && !args->name && !args->external_id) {
        argp_error(state, "an e-mail address, --name or --external-id is needed");
        return EINVAL;
    }
    if (args->group && args->groups) {
        argp_error(state, "--group and --groups are for the same: put all into --groups");
        return EINVAL;
    }
    return 0;
}

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
    case 'c':
        args->comment = arg;
        return 0;
    case 's':
        args->shell = arg;
        return 0;
    case 'u':
        return args_uid(state, arg, &args->uid);
    case 'e':
        return args_moment(state, arg, &args->expires);
    case 'G':
        return args_names(state, "group", arg, &args->groups);
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->email);
    case ARGP_KEY_END:
        return add_operands_check(state, args);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option add_options[] = {
    {"comment", 'c', "COMMENT", 0, "A remark of yours; NSS does not show it", 0},
    {"expiredate", 'e', "WHEN", 0,
     "When the user's time is over: a day, a moment, +DURATION, never", 0},
    {"groups", 'G', "GROUP,...", 0, "Groups of the user, besides atelier-users", 0},
    {"shell", 's', "SHELL", 0, "Login shell inside sessions, one of /etc/shells", 0},
    {"uid", 'u', "UID", 0, "UID that the user gets [the next one]", 0},
    {"name", OPTION_NAME, "NAME", 0, "Name of the user [made from the e-mail address]", 0},
    {"group", OPTION_GROUP, "GROUP", 0, "A single group, as --groups", 0},
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

/* "s*" and "o*": a member whose value is NULL is left out. */
static json_t *add_body(const struct add_args *args)
{
    json_t *body = json_pack("{s:s*, s:s*, s:s*, s:s*, s:O*, s:s*, s:O*, s:s*}", "email",
                             args->email, "name", args->name, "group", args->group, "external_id",
                             args->external_id, "groups", args->groups, "comment", args->comment,
                             "expires_at", args->expires, "shell", args->shell);

    if (body && args->uid != 0 && json_object_set_new(body, "uid", json_integer(args->uid)) < 0)
        say_no_memory();
    return body;
}

int user_add_parse(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret_body)
{
    struct add_args args = {.opt = opt};
    json_t *body = NULL;
    int r = argp_parse(&add_argp, argc, argv, flags, NULL, &args) != 0 ? -EINVAL : 0;

    if (r == 0) {
        body = add_body(&args);
        if (!body && !(flags & ARGP_NO_ERRS))
            say_error("an argument is not UTF-8");
        if (!body)
            r = -EINVAL;
    }
    json_decref(args.groups);
    json_decref(args.expires);
    if (r == 0)
        *ret_body = body;
    return r;
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
