/* SPDX-License-Identifier: ISC */
/*
 * cmd_policy.c - atelier policy: check, show, explain
 *
 * sessiond is the program that goes by the policy, so it says what is in it. What is added here are
 * names: sessiond knows numbers alone.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/str.h"
#include "ctl/args.h"
#include "ctl/cmd.h"
#include "ctl/exit.h"
#include "ctl/policy_disk.h"
#include "ctl/say.h"

#include "common/banned.h"

#define PASSWD_BUFFER 4096

struct policy_args {
    const char *name; /* of a user */
    const char *file; /* or NULL */
    bool has_name;
};

static error_t policy_parse(int key, char *arg, struct argp_state *state)
{
    struct policy_args *args = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (args->has_name && !args->name)
            return args_operand(state, arg, &args->name);
        return args_operand(state, arg, &args->file);
    case ARGP_KEY_END:
        if (args->has_name && !args->name)
            argp_error(state, "NAME is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Return: CTL_OK, or another exit code, and what is wrong has been said. */
static int user_find(const char *name, struct passwd *ret_entry, char buf[PASSWD_BUFFER])
{
    struct passwd *found = NULL;
    int r = getpwnam_r(name, ret_entry, buf, PASSWD_BUFFER, &found);

    if (!found && r != 0 && r != ENOENT && r != ESRCH) {
        say_error("cannot look up %s: %s", name, strerror(r));
        return CTL_INTERNAL;
    }
    if (!found) {
        say_error("there is no user '%s'; 'atelier user list' shows who there is", name);
        return CTL_NO;
    }
    if (!id_is_allocatable(found->pw_uid)) {
        say_error("%s is no participant: the policy says nothing of uid %u", name, found->pw_uid);
        return CTL_NO;
    }
    return CTL_OK;
}

/* @value, @file: may be NULL. */
static int hand_over(const char *option, const char *value, const char *file)
{
    const char *argv[] = {"sessiond", option, value ? value : file, value ? file : NULL, NULL};

    if (fflush(stdout) != 0)
        return CTL_INTERNAL;
    (void)execv(POLICY_PROGRAM, (char **)(uintptr_t)argv);
    say_error("cannot start %s: %s", POLICY_PROGRAM, strerror(errno));
    return CTL_INTERNAL;
}

static const struct argp check_argp = {
    .parser = policy_parse,
    .args_doc = "[FILE]",
    .doc =
        "Say whether the policy in " ATELIER_SYSCONF_DIR "/atelier can be read, and if not, where "
        "it is wrong. With FILE: that file alone, whoever owns it."};
static const struct argp show_argp = {
    .parser = policy_parse,
    .args_doc = "[FILE]",
    .doc = "Show all values and profiles, those that are shipped too. With FILE: of that file; "
           "what is in force is in " ATELIER_RUN_DIR "/policy."};
static const struct argp names_argp = {
    .doc = "Show what the names in allow (atelier.conf(5), network) stand for, as the running "
           "sessiond knows it: the last answer, the addresses that are let through, and how many "
           "were refused or left out."};
static const struct argp explain_argp = {
    .parser = policy_parse,
    .args_doc = "NAME [FILE]",
    .doc = "Show what a user gets in runs and sessions and altogether, and which profile says so; "
           "then what is the same for everybody: network and disk."};

int cmd_policy_check(struct options *opt, int argc, char **argv)
{
    struct policy_args args = {0};

    (void)opt;
    if (argp_parse(&check_argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    return hand_over("--check-policy", NULL, args.file);
}

int cmd_policy_show(struct options *opt, int argc, char **argv)
{
    struct policy_args args = {0};

    (void)opt;
    if (argp_parse(&show_argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    return hand_over("--show-policy", NULL, args.file);
}

int cmd_policy_names(struct options *opt, int argc, char **argv)
{
    (void)opt;
    if (argp_parse(&names_argp, argc, argv, 0, NULL, NULL) != 0)
        return CTL_USAGE;
    return hand_over("--show-names", NULL, NULL);
}

int cmd_policy_explain(struct options *opt, int argc, char **argv)
{
    struct policy_args args = {.has_name = true};
    cleanup_free char *who = NULL;
    char buf[PASSWD_BUFFER];
    struct passwd user;
    int code;

    (void)opt;
    if (argp_parse(&explain_argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    if (!name_is_valid(args.name)) {
        say_error("'%s' is no name of a user", args.name);
        return CTL_USAGE;
    }
    code = user_find(args.name, &user, buf);
    if (code != CTL_OK)
        return code;
    who = policy_who(&user);
    if (!who)
        say_no_memory();
    return hand_over("--explain-policy", who, args.file);
}
