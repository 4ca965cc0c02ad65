/* SPDX-License-Identifier: ISC */
/* args.c - options that every command takes, and commands that take one operand or none. */
#include "ctl/args.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/say.h"
#include "ctl/when.h"

#include "common/banned.h"

static error_t options_parse(int key, char *arg, struct argp_state *state)
{
    struct options *opt = state->input;

    switch (key) {
    case OPTION_SOCKET:
        /* unix(7): what does not fit into sun_path cannot be connected to. */
        if (arg[0] == '\0' || strlen(arg) >= sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
            argp_error(state, "the path of a socket has 1 to %zu bytes",
                       sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
            return EINVAL;
        }
        opt->socket = arg;
        return 0;
    case OPTION_JSON:
        opt->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options_table[] = {
    {"socket", OPTION_SOCKET, "PATH", 0,
     "Admin socket of sessiond-api [" ATELIER_RUN_DIR "/admin.sock]", 0},
    {"json", OPTION_JSON, NULL, 0, "Print the JSON of the API, one object a line", 0},
    {0},
};

const struct argp options_argp = {.options = options_table, .parser = options_parse};

const struct argp_child options_child[] = {
    {.argp = &options_argp, .header = "Common options:", .group = 1},
    {0},
};

struct operand_args {
    struct options *opt;
    const char *wanted; /* or NULL */
    const char *operand;
};

static error_t operand_parse(int key, char *arg, struct argp_state *state)
{
    struct operand_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case ARGP_KEY_ARG:
        if (!args->wanted || args->operand) {
            argp_error(state, "'%s' is one argument too many", arg);
            return EINVAL;
        }
        args->operand = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->wanted && !args->operand) {
            argp_error(state, "%s is missing", args->wanted);
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int args_parse_operand(struct options *opt, int argc, char **argv, unsigned flags,
                       const char *operand, const char *doc, const char **ret_operand)
{
    struct operand_args args = {.opt = opt, .wanted = operand};
    const struct argp argp = {
        .parser = operand_parse, .args_doc = operand, .doc = doc, .children = options_child};

    if (argp_parse(&argp, argc, argv, flags, NULL, &args) != 0)
        return -EINVAL;
    if (ret_operand)
        *ret_operand = args.operand;
    return 0;
}

struct operands_args {
    struct options *opt;
    const char *wanted;
    char **operands;
    size_t n;
};

static error_t operands_parse(int key, char *arg, struct argp_state *state)
{
    struct operands_args *args = state->input;

    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case ARGP_KEY_ARGS:
        args->operands = state->argv + state->next;
        args->n = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "%s is missing", args->wanted);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int args_parse_operands(struct options *opt, int argc, char **argv, unsigned flags,
                        const char *operands, const char *doc, char ***ret_operands, size_t *ret_n)
{
    struct operands_args args = {.opt = opt, .wanted = operands};
    const struct argp argp = {
        .parser = operands_parse, .args_doc = operands, .doc = doc, .children = options_child};

    if (argp_parse(&argp, argc, argv, flags, NULL, &args) != 0)
        return -EINVAL;
    *ret_operands = args.operands;
    *ret_n = args.n;
    return 0;
}

error_t args_operand(struct argp_state *state, char *arg, const char **operand)
{
    if (*operand) {
        argp_error(state, "'%s' is one argument too many", arg);
        return EINVAL;
    }
    *operand = arg;
    return 0;
}

error_t args_duration(struct argp_state *state, const char *arg, int64_t max_s, int64_t *ret_s)
{
    int64_t seconds = 0;
    int r = duration_parse(arg, &seconds);

    if (r == 0 && seconds <= max_s) {
        *ret_s = seconds;
        return 0;
    }
    if (r == -EINVAL)
        argp_error(state, "'%s' is not a duration such as 90s, 15m, 2h or 14d", arg);
    else
        argp_error(state, "'%s' is not between one second and %d days", arg,
                   (int)(max_s / (24 * 60 * 60)));
    return EINVAL;
}

error_t args_names(struct argp_state *state, const char *noun, const char *arg, json_t **ret_names)
{
    cleanup_json json_t *names = json_array();
    const char *start = arg;

    if (!names)
        say_no_memory();
    while (arg[0] != '\0') {
        size_t n = strcspn(start, ",");
        cleanup_free char *name = strndup(start, n);

        if (!name)
            say_no_memory();
        if (!name_is_valid(name)) {
            argp_error(state, "'%s' is not a %s name", name, noun);
            return EINVAL;
        }
        if (json_array_append_new(names, json_string(name)) < 0)
            say_no_memory();
        if (start[n] == '\0')
            break;
        start += n + 1;
    }
    json_decref(*ret_names);
    *ret_names = json_incref(names);
    return 0;
}

error_t args_moment(struct argp_state *state, const char *arg, json_t **ret_at)
{
    char text[TIME_TEXT_SIZE];
    int64_t at_s = 0;
    json_t *at;

    if (strcmp(arg, "never") != 0 && moment_parse(arg, (int64_t)time(NULL), &at_s) < 0) {
        argp_error(state,
                   "'%s' is neither a day (2026-11-30) nor a moment (2026-11-30T18:00:00+01:00), "
                   "+DURATION or never",
                   arg);
        return EINVAL;
    }
    at = at_s > 0 ? json_string(time_text((json_int_t)at_s, text)) : json_null();
    if (!at)
        say_no_memory();
    json_decref(*ret_at);
    *ret_at = at;
    return 0;
}

error_t args_uid(struct argp_state *state, const char *arg, uint32_t *ret_uid)
{
    uint32_t uid;

    if (str_to_u32(arg, UINT32_MAX, &uid) < 0 || !id_is_allocatable(uid)) {
        argp_error(state, "'%s' is not a UID from %u to %u", arg, ID_ALLOC_MIN, ID_ALLOC_MAX);
        return EINVAL;
    }
    *ret_uid = uid;
    return 0;
}
