/* SPDX-License-Identifier: ISC */
/*
 * cmd_invite.c - atelier invite
 *
 * A mistyped address must not leave half a class invited: all are looked at before anything is
 * sent, and the users are made by one request, all or none. A link that then fails fails for one
 * person; the others get theirs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/import.h"
#include "ctl/minted.h"
#include "ctl/roster.h"
#include "ctl/say.h"

#include "common/banned.h"

enum {
    OPTION_GROUP = OPTION_OWN,
    OPTION_VALID,
    OPTION_QR,
    OPTION_CSV,
    OPTION_DRY_RUN,
};

static error_t emails_check(struct argp_state *state, char *const *emails, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!email_is_valid(emails[i])) {
            argp_error(state, "'%s' is not an e-mail address; nobody was invited", emails[i]);
            return EINVAL;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcasecmp(emails[i], emails[k]) == 0) {
                argp_error(state, "%s is there twice; nobody was invited", emails[i]);
                return EINVAL;
            }
        }
    }
    return 0;
}

static error_t invite_option_parse(int key, char *arg, struct argp_state *state)
{
    struct invite_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_GROUP:
        return args_names(state, "group", arg, &args->groups);
    case OPTION_CSV:
        args->csv = arg;
        return 0;
    case OPTION_DRY_RUN:
        args->is_dry_run = true;
        return 0;
    case OPTION_VALID:
        return args_duration(state, arg, VALID_MAX_S, &args->valid_s);
    case OPTION_QR:
        args->qr = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->emails = state->argv + state->next;
        args->count = (size_t)(state->argc - state->next);
        return emails_check(state, args->emails, args->count);
    case ARGP_KEY_END:
        if ((args->csv != NULL) == (args->count > 0)) {
            argp_error(state, args->csv
                                  ? "people come from --csv or from the command line, not both"
                                  : "an e-mail address or --csv is missing");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option invite_options[] = {
    {"group", OPTION_GROUP, "GROUP,...", 0, "Groups to put them into, besides atelier-users", 0},
    {"csv", OPTION_CSV, "FILE", 0,
     "Take the people from a table with the columns email, name, group, expiry; - is standard "
     "input",
     0},
    {"dry-run", OPTION_DRY_RUN, NULL, 0,
     "Check all, print who would get which name, change nothing", 0},
    {"valid", OPTION_VALID, "DURATION", 0, "How long the links live: 2h, 14d [14d, the most]", 0},
    {"qr", OPTION_QR, NULL, 0, "Draw a QR code of each link, for a terminal", 0},
    {0},
};

static const struct argp invite_argp = {
    .options = invite_options,
    .parser = invite_option_parse,
    .args_doc = "EMAIL...\n--csv FILE",
    .doc = "Make a user for each address that has none yet, and a link for everybody; print what "
           "each person needs to get in.\vNothing is mailed. With --json there is one line for "
           "each person: user, uid, link, code, expires_at.",
    .children = options_child};

int invite_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                      struct invite_args *ret_args)
{
    struct invite_args args = {.opt = opt, .valid_s = VALID_MAX_S};

    if (argp_parse(&invite_argp, argc, argv, flags, NULL, &args) != 0) {
        json_decref(args.groups);
        return -EINVAL;
    }
    *ret_args = args;
    return 0;
}

/* @is_first: nothing was printed yet; between two people there is an empty line. */
static enum ctl_exit link_mint(const struct invite_args *args, json_t *user, bool is_first)
{
    cleanup_minted struct minted m = {0};
    cleanup_free char *prefix = NULL;
    cleanup_json json_t *body = NULL;
    const char *name, *email;
    json_error_t error;
    enum ctl_exit code;

    if (json_unpack_ex(user, &error, 0, "{s:s, s:s}", "name", &name, "email", &email) < 0)
        return answer_is_strange(error.text);
    body = json_pack("{s:s, s:I, s:b}", "user", name, "valid_s", (json_int_t)args->valid_s, "qr",
                     args->qr);
    if (!body || asprintf(&prefix, "%s: ", email) < 0)
        say_no_memory();
    code = minted_get(args->opt, body, prefix, &m);
    if (code != CTL_OK) {
        say_error(
            "%s has the user %s, but no link; when that is mended, 'atelier link mint %s' makes "
            "one",
            email, name, name);
        return code;
    }
    if (!is_first && !args->opt->json)
        (void)putchar('\n');
    minted_print(args->opt, &m, prefix);
    return CTL_OK;
}

static enum ctl_exit links_mint(const struct invite_args *args, const json_t *users)
{
    enum ctl_exit first = CTL_OK;
    bool is_first = true;

    for (size_t i = 0; i < json_array_size(users); i++) {
        enum ctl_exit code = link_mint(args, json_array_get(users, i), is_first);

        is_first = is_first && code != CTL_OK;
        if (first == CTL_OK)
            first = code;
        if (code != CTL_UNAVAILABLE)
            continue;
        /* It would be the same for the others, after as long a wait. */
        for (i++; i < json_array_size(users); i++)
            say_error("%s has no link",
                      json_text(json_object_get(json_array_get(users, i), "email")));
    }
    return first;
}

static enum ctl_exit people_invite(const struct invite_args *args, const struct roster *roster)
{
    cleanup_answer struct answer a = {0};
    enum ctl_exit code = import_post(args->opt, args->csv, roster, true, &a);

    if (code != CTL_OK)
        return code;
    if (args->is_dry_run)
        return import_print(args->opt, &a);
    answer_done(&a);
    code = import_post(args->opt, args->csv, roster, false, &a);
    return code == CTL_OK ? links_mint(args, json_object_get(a.json, "users")) : code;
}

int cmd_invite(struct options *opt, int argc, char **argv)
{
    struct roster roster = {0};
    struct invite_args args;
    enum ctl_exit code = CTL_OK;

    if (invite_args_parse(opt, argc, argv, 0, &args) < 0)
        return CTL_USAGE;
    if (args.csv)
        code = import_read(args.opt, args.csv, args.groups, &roster);
    else
        roster_of_emails(args.emails, args.count, args.groups, &roster);
    if (code == CTL_OK)
        code = people_invite(&args, &roster);
    roster_done(&roster);
    json_decref(args.groups);
    return (int)code;
}
