/* SPDX-License-Identifier: ISC */
/* args.c - options that every command takes, and commands that take one operand or none. */
#include "ctl/args.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

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
