/* SPDX-License-Identifier: ISC */
/* cmd_net.c - atelier net */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

static const char doc[] =
    "Show who reached what over the network: each user's connections, what was refused and why, "
    "and how often each rule refused.\v"
    "OPEN: TCP connections and connected UDP sockets now. LET THROUGH and REFUSED: connections "
    "that were tried. OVER LIMIT: those of REFUSED that were too many. NOT LISTED: those of "
    "REFUSED without a destination in the second list. PASSED: tries that should have been "
    "refused and were not, since somebody had changed the rules.";

#define PATH_SIZE (sizeof("/v1/network/") + NAME_SIZE)

struct sum {
    int counted, complete;
    json_t *why_not, *since, *connections, *users, *refused, *rules;
};

struct net_user {
    json_t *user;
    json_int_t uid, open, let_through, refused, over_limit, not_listed, bytes;
};

struct net_refused {
    json_t *user, *port;
    const char *address, *protocol, *reason;
    json_int_t uid, tries, passed;
};

struct net_rule {
    json_t *family;
    const char *reason, *rule;
    json_int_t packets, bytes;
};

static void number_add(struct table *t, json_int_t n)
{
    table_addf(t, "%" JSON_INTEGER_FORMAT, n);
}

/* A name, or the UID of somebody who is no user. */
static void who_add(struct table *t, const json_t *user, json_int_t uid)
{
    if (json_is_string(user))
        table_add(t, json_string_value(user));
    else
        number_add(t, uid);
}

static struct table *table_begin(const char *const *heads, size_t count)
{
    struct table *t = table_new(count);

    for (size_t i = 0; i < count; i++)
        table_add(t, heads[i]);
    return t;
}

static enum ctl_exit users_print(const json_t *list)
{
    static const char *const heads[] = {"USER",    "OPEN",       "LET THROUGH", "BYTES",
                                        "REFUSED", "OVER LIMIT", "NOT LISTED"};
    cleanup_table struct table *t = table_begin(heads, sizeof(heads) / sizeof(heads[0]));

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct net_user u = {0};
        json_error_t error;

        if (json_unpack_ex(json_array_get(list, i), &error, 0,
                           "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "user", &u.user, "uid",
                           &u.uid, "open", &u.open, "let_through", &u.let_through, "refused",
                           &u.refused, "over_limit", &u.over_limit, "not_listed", &u.not_listed,
                           "bytes", &u.bytes) < 0)
            return answer_is_strange(error.text);
        who_add(t, u.user, u.uid);
        number_add(t, u.open);
        number_add(t, u.let_through);
        number_add(t, u.bytes);
        number_add(t, u.refused);
        number_add(t, u.over_limit);
        number_add(t, u.not_listed);
    }
    table_print(t, stdout);
    return CTL_OK;
}

static enum ctl_exit refused_print(const json_t *list)
{
    static const char *const heads[] = {"USER",   "DESTINATION", "PORT",  "PROTOCOL",
                                        "REASON", "TRIES",       "PASSED"};
    cleanup_table struct table *t = table_begin(heads, sizeof(heads) / sizeof(heads[0]));

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct net_refused r = {0};
        json_error_t error;

        if (json_unpack_ex(json_array_get(list, i), &error, 0,
                           "{s:o, s:I, s:s, s:o, s:s, s:s, s:I, s:I}", "user", &r.user, "uid",
                           &r.uid, "address", &r.address, "port", &r.port, "protocol", &r.protocol,
                           "reason", &r.reason, "tries", &r.tries, "passed", &r.passed) < 0)
            return answer_is_strange(error.text);
        who_add(t, r.user, r.uid);
        table_add(t, r.address);
        if (json_is_integer(r.port))
            number_add(t, json_integer_value(r.port));
        else
            table_add(t, "-");
        table_add(t, r.protocol);
        table_add(t, r.reason);
        number_add(t, r.tries);
        number_add(t, r.passed);
    }
    table_print(t, stdout);
    return CTL_OK;
}

static enum ctl_exit rules_print(const json_t *list)
{
    static const char *const heads[] = {"FAMILY", "REASON", "PACKETS", "BYTES", "RULE"};
    cleanup_table struct table *t = table_begin(heads, sizeof(heads) / sizeof(heads[0]));

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct net_rule r = {0};
        json_error_t error;

        if (json_unpack_ex(json_array_get(list, i), &error, 0, "{s:o, s:s, s:s, s:I, s:I}",
                           "family", &r.family, "reason", &r.reason, "rule", &r.rule, "packets",
                           &r.packets, "bytes", &r.bytes) < 0)
            return answer_is_strange(error.text);
        table_add(t, json_text(r.family));
        table_add(t, r.reason);
        number_add(t, r.packets);
        number_add(t, r.bytes);
        table_add(t, r.rule);
    }
    table_print(t, stdout);
    return CTL_OK;
}

static const char *not_counted_text(const json_t *why_not)
{
    const char *word = json_is_string(why_not) ? json_string_value(why_not) : "";

    if (strcmp(word, "no-table") == 0)
        return "not counted: there is no table of nft";
    if (strcmp(word, "too-long") == 0)
        return "not known: reading what nft has counted took too long and was ended; try again";
    return "not known: what nft has counted could not be read; sessiond's log says more";
}

static void sum_print(const struct sum *s)
{
    cleanup_table struct table *t = table_new(2);

    table_add(t, "counted since");
    table_add(t, !s->counted                ? not_counted_text(s->why_not)
                 : json_is_string(s->since) ? json_string_value(s->since)
                                            : "before sessiond was started");
    table_add(t, "connections");
    if (json_is_integer(s->connections))
        table_addf(t, "%" JSON_INTEGER_FORMAT " of one user at most",
                   json_integer_value(s->connections));
    else
        table_add(t, "not limited by user");
    if (!s->complete) {
        table_add(t, "complete");
        table_add(t, "no: there are more than are shown, or some could not be read");
    }
    table_print(t, stdout);
}

/* @name: of the one who was asked for, or NULL */
static enum ctl_exit net_print(json_t *json, const char *name)
{
    struct sum s = {0};
    json_error_t error;
    enum ctl_exit code;

    if (json_unpack_ex(json, &error, 0, "{s:b, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "counted",
                       &s.counted, "not_counted", &s.why_not, "complete", &s.complete, "since",
                       &s.since, "connections", &s.connections, "users", &s.users, "refused",
                       &s.refused, "rules", &s.rules) < 0)
        return answer_is_strange(error.text);
    if (!json_is_array(s.users) || !json_is_array(s.refused) || !json_is_array(s.rules))
        return answer_is_strange("a list is missing");
    sum_print(&s);
    (void)putchar('\n');
    if (name && s.counted && json_array_size(s.users) == 0) {
        (void)printf("%s has not tried to reach anything.\n", name);
        return CTL_OK;
    }
    code = users_print(s.users);
    if (code == CTL_OK && json_array_size(s.refused) > 0) {
        (void)putchar('\n');
        code = refused_print(s.refused);
    }
    /* They count what all users tried. */
    if (code == CTL_OK && !name) {
        (void)putchar('\n');
        code = rules_print(s.rules);
    }
    return code;
}

struct net_args {
    struct options *opt;
    const char *name; /* borrowed from the arguments; NULL: of all */
};

static error_t net_parse(int key, char *arg, struct argp_state *state)
{
    struct net_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->name);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cmd_net(struct options *opt, int argc, char **argv)
{
    static const struct argp argp = {
        .parser = net_parse, .args_doc = "[USER]", .doc = doc, .children = options_child};
    struct net_args args = {.opt = opt};
    cleanup_answer struct answer a = {0};
    char path[PATH_SIZE] = "/v1/network";
    int code;

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    if (args.name && !name_is_valid(args.name)) {
        say_error("'%s' is not the name of a user", args.name);
        return CTL_USAGE;
    }
    if (args.name)
        (void)snprintf(path, sizeof(path), "/v1/network/%s", args.name);
    code = answer_get(opt, "GET", path, NULL, &a);
    if (code != CTL_OK || opt->json)
        return code;
    return net_print(a.json, args.name);
}
