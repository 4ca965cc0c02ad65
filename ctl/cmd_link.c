/* SPDX-License-Identifier: ISC */
/* cmd_link.c - atelier link mint, link list, link revoke */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/list.h"
#include "ctl/minted.h"
#include "ctl/say.h"
#include "ctl/table.h"
#include "ctl/when.h"

#include "common/banned.h"

#define LINK_ID_DIGITS 16u

enum {
    OPTION_PURPOSE = OPTION_OWN,
    OPTION_VALID,
    OPTION_QR,
};

struct mint_args {
    struct options *opt;
    const char *name, *purpose;
    int64_t valid_s; /* 0: as the API thinks best */
    bool qr;
};

static error_t purpose_set(struct argp_state *state, struct mint_args *args, const char *arg)
{
    static const char *const purposes[] = {"any", "ssh", "web"};

    for (size_t i = 0; i < sizeof(purposes) / sizeof(purposes[0]); i++) {
        if (strcmp(arg, purposes[i]) == 0) {
            args->purpose = arg;
            return 0;
        }
    }
    argp_error(state, "the purpose is any, ssh or web, not '%s'", arg);
    return EINVAL;
}

static error_t mint_option_parse(int key, char *arg, struct argp_state *state)
{
    struct mint_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_PURPOSE:
        return purpose_set(state, args, arg);
    case OPTION_VALID:
        return args_duration(state, arg, VALID_MAX_S, &args->valid_s);
    case OPTION_QR:
        args->qr = true;
        return 0;
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->name);
    case ARGP_KEY_END:
        if (!name_is_valid(args->name)) {
            argp_error(state, args->name ? "'%s' is not a user name" : "NAME is missing",
                       args->name);
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option mint_options[] = {
    {"purpose", OPTION_PURPOSE, "PURPOSE", 0, "Which doors it opens: any, ssh or web [any]", 0},
    {"valid", OPTION_VALID, "DURATION", 0, "How long: 90s, 15m, 2h, 14d [15m; at most 14d]", 0},
    {"qr", OPTION_QR, NULL, 0, "Draw a QR code of the link, for a terminal", 0},
    {0},
};

static const struct argp mint_argp = {
    .options = mint_options,
    .parser = mint_option_parse,
    .args_doc = "NAME",
    .doc = "Make a link for a user who exists, good for one login, and print it.\vIt cannot be "
           "shown a second time.",
    .children = options_child};

int link_mint_parse(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret_body)
{
    struct mint_args args = {.opt = opt};
    json_t *body;

    if (argp_parse(&mint_argp, argc, argv, flags, NULL, &args) != 0)
        return -EINVAL;
    body = json_pack("{s:s, s:s*}", "user", args.name, "purpose", args.purpose);
    if (!body ||
        (args.valid_s && json_object_set_new(body, "valid_s", json_integer(args.valid_s)) < 0) ||
        (args.qr && json_object_set_new(body, "qr", json_true()) < 0))
        say_no_memory();
    *ret_body = body;
    return 0;
}

int cmd_link_mint(struct options *opt, int argc, char **argv)
{
    cleanup_minted struct minted m = {0};
    cleanup_json json_t *body = NULL;
    int code;

    if (link_mint_parse(opt, argc, argv, 0, &body) < 0)
        return CTL_USAGE;
    code = minted_get(opt, body, "", &m);
    if (code == CTL_OK)
        minted_print(opt, &m, "");
    return code;
}

static int link_row(struct table *t, json_t *link, bool is_short)
{
    const char *id, *user, *purpose, *state, *created, *expires;
    char day[LIST_TIME_SIZE], minute[LIST_TIME_SIZE];
    json_int_t uid, caller;
    json_error_t error;
    json_t *used;

    if (json_unpack_ex(link, &error, 0, "{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:o, s:I}", "id", &id,
                       "user", &user, "uid", &uid, "purpose", &purpose, "state", &state,
                       "created_at", &created, "expires_at", &expires, "used_at", &used,
                       "caller_uid", &caller) < 0)
        return answer_is_strange(error.text);
    table_add(t, id);
    table_add(t, user);
    table_add(t, purpose);
    table_add(t, state);
    table_add(t, is_short ? list_day(created, day) : created);
    table_add(t, is_short ? list_minute(expires, minute) : expires);
    if (is_short)
        return CTL_OK;
    table_add(t, json_text(used));
    table_addf(t, "%" JSON_INTEGER_FORMAT, caller);
    return CTL_OK;
}

int cmd_link_list(struct options *opt, int argc, char **argv)
{
    /* A short list has the first of them. */
    static const char *const heads[] = {"ID",      "USER",    "PURPOSE", "STATE",
                                        "CREATED", "EXPIRES", "USED",    "CALLER"};
    cleanup_table struct table *t = NULL;
    cleanup_answer struct answer a = {0};
    bool is_short = false;
    json_t *links;
    size_t count;
    int code;

    if (list_parse(opt, argc, argv,
                   "List the links, newest first. Their secrets are known to nobody but "
                   "whom they were given to.",
                   &is_short) < 0)
        return CTL_USAGE;
    code = answer_get(opt, "GET", "/v1/links", NULL, &a);
    if (code != CTL_OK || opt->json)
        return code;
    links = json_object_get(a.json, "links");
    if (!json_is_array(links))
        return answer_is_strange("there is no list of links in it");
    count = sizeof(heads) / sizeof(heads[0]) - (is_short ? 2 : 0);
    t = table_new(count);
    for (size_t i = 0; i < count; i++)
        table_add(t, heads[i]);
    for (size_t i = 0; i < json_array_size(links); i++) {
        code = link_row(t, json_array_get(links, i), is_short);
        if (code != CTL_OK)
            return code;
    }
    list_print(t, is_short, 0);
    return CTL_OK;
}

int cmd_link_revoke(struct options *opt, int argc, char **argv)
{
    char path[sizeof("/v1/links/") + LINK_ID_DIGITS];
    cleanup_answer struct answer a = {0};
    const char *id = NULL;
    enum ctl_exit code;

    if (args_parse_operand(opt, argc, argv, 0, "ID",
                           "Take a link back that was not used yet. What it opened already goes "
                           "on.",
                           &id) < 0)
        return CTL_USAGE;
    if (strlen(id) != LINK_ID_DIGITS || strspn(id, "0123456789abcdef") != LINK_ID_DIGITS) {
        /* Not repeated: it may be a code or a token. */
        say_error("the id of a link has %u digits 0-9 and a-f, see atelier link list",
                  LINK_ID_DIGITS);
        return CTL_USAGE;
    }
    (void)snprintf(path, sizeof(path), "/v1/links/%s", id);
    code = answer_get(opt, "DELETE", path, NULL, &a);
    if (code == CTL_OK && !opt->json)
        (void)printf("link %s is taken back\n", id);
    return (int)code;
}
