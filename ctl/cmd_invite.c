/* SPDX-License-Identifier: ISC */
/*
 * cmd_invite.c - atelier invite
 *
 * A mistyped address must not leave half a class invited: all are looked at before anything is
 * sent. What fails then fails for one person; the others get their links.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/minted.h"
#include "ctl/say.h"

#include "common/banned.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

enum {
    OPTION_GROUP = OPTION_OWN,
    OPTION_VALID,
    OPTION_QR,
};

/* As sessiond-api sees it: RFC 5322's atext and dots, '@', and a domain of letters and digits. */
static bool email_is_valid(const char *email)
{
    size_t local = strspn(email, LETTERS DIGITS ".!#$%&'*+-/=?^_`{|}~");
    const char *domain = email + local + 1;

    if (local == 0 || local > 64 || email[local] != '@' || strlen(email) > 254)
        return false;
    for (const char *label = domain;;) {
        size_t n = strspn(label, LETTERS DIGITS "-");

        if (n == 0 || n > 63)
            return false;
        if (label[n] == '\0')
            return true;
        if (label[n] != '.')
            return false;
        label += n + 1;
    }
}

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
        args->group = arg;
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
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "an e-mail address is missing");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option invite_options[] = {
    {"group", OPTION_GROUP, "GROUP", 0, "Group to put them into, besides atelier-users", 0},
    {"valid", OPTION_VALID, "DURATION", 0, "How long the links live: 2h, 14d [14d, the most]", 0},
    {"qr", OPTION_QR, NULL, 0, "Draw a QR code of each link, for a terminal", 0},
    {0},
};

static const struct argp invite_argp = {
    .options = invite_options,
    .parser = invite_option_parse,
    .args_doc = "EMAIL...",
    .doc = "Make a user for each address that has none yet, and a link for everybody; print what "
           "each person needs to get in.\vNothing is mailed. With --json there is one line for "
           "each person: user, uid, link, code, expires_at.",
    .children = options_child};

int invite_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                      struct invite_args *ret_args)
{
    struct invite_args args = {.opt = opt, .valid_s = VALID_MAX_S};

    if (argp_parse(&invite_argp, argc, argv, flags, NULL, &args) != 0)
        return -EINVAL;
    *ret_args = args;
    return 0;
}

/* What is said and printed of an error: with the address in it. */
static void refusal_say(const struct options *opt, const char *email, const struct answer *a)
{
    cleanup_free char *prefix = NULL;

    if (asprintf(&prefix, "%s: ", email) < 0)
        say_no_memory();
    if (opt->json && a->json)
        json_print_line(a->json);
    error_say(prefix, a->json, a->http);
}

/* The user of an address; *@ret_name is owned by *@ret_answer. */
static enum ctl_exit user_get(const struct invite_args *args, const char *email,
                              struct answer *ret_answer, const char **ret_name)
{
    cleanup_json json_t *body = json_pack("{s:s, s:s*}", "email", email, "group", args->group);
    enum ctl_exit code;

    if (!body) {
        say_error("the name of a group is not UTF-8: %s", args->group);
        return CTL_USAGE;
    }
    code = answer_fetch(args->opt, "POST", "/v1/users", body, ret_answer);
    if (code != CTL_OK)
        return code;
    code = exit_of_http(ret_answer->http,
                        json_string_value(json_object_get(ret_answer->json, "status")));
    if (code != CTL_OK) {
        refusal_say(args->opt, email, ret_answer);
        return code;
    }
    *ret_name = json_string_value(json_object_get(ret_answer->json, "name"));
    return *ret_name ? CTL_OK : answer_is_strange("there is no name in it");
}

/* @is_first: nothing was printed yet; between two people there is an empty line. */
static enum ctl_exit email_invite(const struct invite_args *args, const char *email, bool is_first)
{
    cleanup_minted struct minted m = {0};
    cleanup_answer struct answer user = {0};
    cleanup_free char *prefix = NULL;
    cleanup_json json_t *body = NULL;
    const char *name = NULL;
    enum ctl_exit code = user_get(args, email, &user, &name);

    if (code != CTL_OK)
        return code;
    body = json_pack("{s:s, s:I, s:b}", "user", name, "valid_s", (json_int_t)args->valid_s, "qr",
                     args->qr);
    if (!body || asprintf(&prefix, "%s: ", email) < 0)
        say_no_memory();
    code = minted_get(args->opt, body, prefix, &m);
    if (code != CTL_OK)
        return code;
    if (!is_first && !args->opt->json)
        (void)putchar('\n');
    minted_print(args->opt, &m, prefix);
    return CTL_OK;
}

int cmd_invite(struct options *opt, int argc, char **argv)
{
    enum ctl_exit first = CTL_OK;
    struct invite_args args;
    bool is_first = true;

    if (invite_args_parse(opt, argc, argv, 0, &args) < 0)
        return CTL_USAGE;
    for (size_t i = 0; i < args.count; i++) {
        enum ctl_exit code;

        code = email_invite(&args, args.emails[i], is_first);
        is_first = is_first && code != CTL_OK;
        if (code == CTL_OK)
            continue;
        say_error("%s is not invited", args.emails[i]);
        if (first == CTL_OK)
            first = code;
        if (code != CTL_UNAVAILABLE)
            continue;
        /* It would be the same for the others, after as long a wait. */
        for (i++; i < args.count; i++)
            say_error("%s is not invited", args.emails[i]);
    }
    return first;
}
