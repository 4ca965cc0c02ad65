/* SPDX-License-Identifier: ISC */
/* cmd_caller.c - atelier caller add, caller list, caller del */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/list.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

/* Room for the strings of one passwd entry; longer ones do not occur outside of attacks. */
#define PASSWD_BUFFER 65536

/**
 * unix_uid_of() - A number, or the number of a user of this host
 * @text:      Decimal UID, or a name in the host's user database
 * @ret_uid:   The UID
 *
 * (uid_t)-1 is no user: chown(2) and others give it a meaning of its own.
 *
 * Return: 0, -ENOENT, or the negative errno of the look-up.
 */
static int unix_uid_of(const char *text, uint32_t *ret_uid)
{
    cleanup_free char *buf = malloc(PASSWD_BUFFER);
    struct passwd entry, *found = NULL;
    int r;

    if (!buf)
        say_no_memory();
    if (str_to_u32(text, UINT32_MAX - 1, ret_uid) == 0)
        return 0;
    r = getpwnam_r(text, &entry, buf, PASSWD_BUFFER, &found);
    if (!found)
        return r > 0 ? -r : -ENOENT;
    *ret_uid = entry.pw_uid;
    return 0;
}

/* unix_uid_of(), and one sentence when it fails. */
static int unix_uid_say(const char *text, uint32_t *ret_uid)
{
    int r = unix_uid_of(text, ret_uid);

    if (r == -ENOENT)
        say_error("this host has no user '%s'", text);
    else if (r < 0)
        say_error("cannot look up the user '%s': %s", text, strerror(-r));
    return r;
}

char *unix_name_of(json_int_t uid)
{
    cleanup_free char *buf = malloc(PASSWD_BUFFER);
    struct passwd entry, *found = NULL;
    char *name;

    if (!buf)
        say_no_memory();
    if (uid >= 0 && uid < UINT32_MAX)
        (void)getpwuid_r((uid_t)uid, &entry, buf, PASSWD_BUFFER, &found);
    name = strdup(found ? entry.pw_name : "-");
    if (!name)
        say_no_memory();
    return name;
}

enum {
    OPTION_GROUP = OPTION_OWN,
    OPTION_VERB,
};

struct add_args {
    struct options *opt;
    const char *who;
    json_t *groups, *verbs; /* owned */
};

static error_t list_append(json_t *list, const char *text, struct argp_state *state)
{
    if (json_array_append_new(list, json_string(text)) == 0)
        return 0;
    argp_error(state, "an argument is not UTF-8");
    return EINVAL;
}

static error_t add_option_parse(int key, char *arg, struct argp_state *state)
{
    struct add_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_GROUP:
        return list_append(args->groups, arg, state);
    case OPTION_VERB:
        return list_append(args->verbs, arg, state);
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->who);
    case ARGP_KEY_END:
        if (!args->who) {
            argp_error(state, "the UID or the user name of a program is missing");
            return EINVAL;
        }
        if (json_array_size(args->groups) == 0)
            (void)list_append(args->groups, GROUP_ALL_USERS, state);
        if (json_array_size(args->verbs) == 0) {
            (void)list_append(args->verbs, "users", state);
            (void)list_append(args->verbs, "runs", state);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option add_options[] = {
    {"group", OPTION_GROUP, "GROUP", 0,
     "Group whose members it may act for; may be given again [" GROUP_ALL_USERS "]", 0},
    {"verb", OPTION_VERB, "VERB", 0,
     "What it may do: users, runs, net-public or links; may be given again [users and runs]", 0},
    {0},
};

static const struct argp add_argp = {
    .options = add_options,
    .parser = add_option_parse,
    .args_doc = "UID|USER",
    .doc = "Let the programs of a Unix user use the API through api.sock. A second call replaces "
           "what the first one said.",
    .children = options_child};

int caller_add_parse(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret_body)
{
    cleanup_json json_t *groups = json_array();
    cleanup_json json_t *verbs = json_array();
    struct add_args args = {.opt = opt, .groups = groups, .verbs = verbs};
    uint32_t uid = 0;
    int r;

    if (!groups || !verbs)
        say_no_memory();
    if (argp_parse(&add_argp, argc, argv, flags, NULL, &args) != 0)
        return -EINVAL;
    r = flags & ARGP_NO_ERRS ? unix_uid_of(args.who, &uid) : unix_uid_say(args.who, &uid);
    if (r < 0)
        return r;
    *ret_body =
        json_pack("{s:I, s:O, s:O}", "uid", (json_int_t)uid, "groups", groups, "verbs", verbs);
    if (!*ret_body)
        say_no_memory();
    return 0;
}

static int caller_row(struct table *t, json_t *caller, bool is_short)
{
    cleanup_free char *user = NULL;
    cleanup_free char *group_text = NULL;
    cleanup_free char *verb_text = NULL;
    char created[TIME_TEXT_SIZE], day[LIST_TIME_SIZE];
    json_t *groups, *verbs;
    json_int_t uid, created_s;
    json_error_t error;

    if (json_unpack_ex(caller, &error, 0, "{s:I, s:o, s:o, s:I}", "uid", &uid, "groups", &groups,
                       "verbs", &verbs, "created_s", &created_s) < 0)
        return answer_is_strange(error.text);
    user = unix_name_of(uid);
    group_text = json_join(groups);
    verb_text = json_join(verbs);
    table_addf(t, "%" JSON_INTEGER_FORMAT, uid);
    table_add(t, user);
    table_add(t, verb_text);
    table_add(t, group_text);
    (void)time_text(created_s, created);
    table_add(t, is_short ? list_day(created, day) : created);
    return CTL_OK;
}

#define CALLER_COLUMNS 5
#define COLUMN_GROUPS  3

/* A failed look-up of a user is an answer about the host; a wrong argument is not. */
static int exit_of_lookup(int r)
{
    return r == -ENOENT ? CTL_NO : r == -EINVAL ? CTL_USAGE : CTL_INTERNAL;
}

int cmd_caller_add(struct options *opt, int argc, char **argv)
{
    cleanup_table struct table *t = table_new(CALLER_COLUMNS);
    cleanup_answer struct answer a = {0};
    cleanup_json json_t *body = NULL;
    int code, r;

    r = caller_add_parse(opt, argc, argv, 0, &body);
    if (r < 0)
        return exit_of_lookup(r);
    code = answer_get(opt, "POST", "/v1/callers", body, &a);
    if (code != CTL_OK || opt->json)
        return code;
    code = caller_row(t, a.json, false);
    if (code == CTL_OK)
        table_print(t, stdout);
    return code;
}

int cmd_caller_list(struct options *opt, int argc, char **argv)
{
    static const char *const heads[CALLER_COLUMNS] = {"UID", "USER", "VERBS", "GROUPS", "CREATED"};
    cleanup_table struct table *t = table_new(CALLER_COLUMNS);
    cleanup_answer struct answer a = {0};
    bool is_short = false;
    json_t *callers;
    size_t i;
    int code;

    if (list_parse(opt, argc, argv, "List the programs that may use the API.", &is_short) < 0)
        return CTL_USAGE;
    code = answer_get(opt, "GET", "/v1/callers", NULL, &a);
    if (code != CTL_OK || opt->json)
        return code;
    callers = json_object_get(a.json, "callers");
    if (!json_is_array(callers))
        return answer_is_strange("there is no list of callers in it");
    for (i = 0; i < CALLER_COLUMNS; i++)
        table_add(t, heads[i]);
    for (i = 0; i < json_array_size(callers); i++) {
        code = caller_row(t, json_array_get(callers, i), is_short);
        if (code != CTL_OK)
            return code;
    }
    list_print(t, is_short, LIST_CUT(COLUMN_GROUPS));
    return CTL_OK;
}

int cmd_caller_del(struct options *opt, int argc, char **argv)
{
    char path[sizeof("/v1/callers/") + 10]; /* 10: digits of a uint32_t */
    cleanup_answer struct answer a = {0};
    const char *who = NULL;
    uint32_t uid = 0;
    int r;

    if (args_parse_operand(opt, argc, argv, 0, "UID|USER",
                           "Take the API away from the programs of a Unix user.", &who) < 0)
        return CTL_USAGE;
    r = unix_uid_say(who, &uid);
    if (r < 0)
        return exit_of_lookup(r);
    (void)snprintf(path, sizeof(path), "/v1/callers/%" PRIu32, uid);
    return answer_get(opt, "DELETE", path, NULL, &a);
}
