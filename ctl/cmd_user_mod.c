/* SPDX-License-Identifier: ISC */
/* cmd_user_mod.c - atelier user mod */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/named.h"
#include "ctl/say.h"

#include "common/banned.h"

enum {
    OPTION_EMAIL = OPTION_OWN,
};

struct mod_args {
    struct options *opt;
    const char *name, *comment, *shell, *email;
    json_t *groups, *expires; /* owned, or NULL */
    bool is_append, is_remove, is_lock, is_unlock;
};

static error_t mod_check(struct argp_state *state, const struct mod_args *args)
{
    const char *wrong = NULL;

    if (!args->name)
        wrong = "NAME is missing";
    else if ((args->is_append || args->is_remove) && !args->groups)
        wrong = "-a and -r are for -G only";
    else if (args->is_append && args->is_remove)
        wrong = "-a puts into groups, -r takes out of them: one of the two";
    else if (args->is_lock && args->is_unlock)
        wrong = "-L locks, -U unlocks: one of the two";
    else if (!args->comment && !args->shell && !args->email && !args->groups && !args->expires &&
             !args->is_lock && !args->is_unlock)
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
    case 'c':
        args->comment = arg;
        return 0;
    case 's':
        args->shell = arg;
        return 0;
    case 'e':
        return args_moment(state, arg, &args->expires);
    case 'G':
        return args_names(state, "group", arg, &args->groups);
    case 'a':
        args->is_append = true;
        return 0;
    case 'r':
        args->is_remove = true;
        return 0;
    case 'L':
        args->is_lock = true;
        return 0;
    case 'U':
        args->is_unlock = true;
        return 0;
    case OPTION_EMAIL:
        args->email = arg;
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
    {"comment", 'c', "COMMENT", 0, "A remark of yours; \"\" takes it away", 0},
    {"expiredate", 'e', "WHEN", 0,
     "When the user's time is over: a day, a moment, +DURATION, never", 0},
    {"shell", 's', "SHELL", 0, "Login shell inside sessions, one of /etc/shells; \"\": the default",
     0},
    {"groups", 'G', "GROUP,...", 0, "The groups of the user, and no others but atelier-users", 0},
    {"append", 'a', NULL, 0, "With -G: put into these, stay in the others", 0},
    {"remove", 'r', NULL, 0, "With -G: take out of these", 0},
    {"lock", 'L', NULL, 0, "As `user lock`", 0},
    {"unlock", 'U', NULL, 0, "As `user unlock`", 0},
    {"email", OPTION_EMAIL, "ADDRESS", 0, "The e-mail address; none takes it away", 0},
    {0},
};

static const struct argp mod_argp = {
    .options = mod_options,
    .parser = mod_option_parse,
    .args_doc = "NAME",
    .doc = "Change a user: all that is given at once, or nothing.\vGroups count from the next "
           "session or run on.",
    .children = options_child};

static const char *groups_key(const struct mod_args *args)
{
    if (args->is_append)
        return "groups_add";
    return args->is_remove ? "groups_remove" : "groups";
}

static json_t *mod_body(const struct mod_args *args)
{
    json_t *body =
        json_pack("{s:s*, s:s*, s:O*, s:O*}", "comment", args->comment, "shell", args->shell,
                  "expires_at", args->expires, groups_key(args), args->groups);
    json_t *email = NULL;

    if (!body)
        return NULL;
    if (args->email) {
        email = strcmp(args->email, "none") == 0 ? json_null() : json_string(args->email);
        if (!email || json_object_set_new(body, "email", email) < 0) {
            json_decref(body);
            return NULL;
        }
    }
    if ((args->is_lock || args->is_unlock) &&
        json_object_set_new(body, "locked", json_boolean(args->is_lock)) < 0)
        say_no_memory();
    return body;
}

int user_mod_parse(struct options *opt, int argc, char **argv, unsigned flags,
                   const char **ret_name, json_t **ret_body)
{
    struct mod_args args = {.opt = opt};
    json_t *body = NULL;
    int r = argp_parse(&mod_argp, argc, argv, flags, NULL, &args) != 0 ? -EINVAL : 0;

    if (r == 0) {
        body = mod_body(&args);
        if (!body && !(flags & ARGP_NO_ERRS))
            say_error("an argument is not UTF-8");
        if (!body)
            r = -EINVAL;
    }
    json_decref(args.groups);
    json_decref(args.expires);
    if (r < 0)
        return r;
    *ret_name = args.name;
    *ret_body = body;
    return 0;
}

static bool has_groups(const json_t *body)
{
    return json_object_get(body, "groups") || json_object_get(body, "groups_add") ||
           json_object_get(body, "groups_remove");
}

int cmd_user_mod(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer a = {0};
    cleanup_json json_t *body = NULL;
    const char *name = NULL;
    enum ctl_exit code;

    if (user_mod_parse(opt, argc, argv, 0, &name, &body) < 0)
        return CTL_USAGE;
    code = named_get(opt, "PATCH", NAMED_USER, name, body, &a);
    if (code == CTL_OK && !opt->json)
        code = user_line_print(a.json);
    if (code == CTL_OK && !opt->json && has_groups(body)) {
        cleanup_free char *groups = json_join(json_object_get(a.json, "groups"));
        cleanup_free char *shown = text_escape(groups, strlen(groups), NULL);

        (void)printf("    groups: %s\n", shown);
    }
    return code;
}
