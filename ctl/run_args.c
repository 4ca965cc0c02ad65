/* SPDX-License-Identifier: ISC */
/* run_args.c - from the arguments of `atelier run` to the body of POST /v1/runs. */
#include "ctl/run_args.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/say.h"

#include "common/banned.h"

enum {
    OPTION_USER = OPTION_OWN,
    OPTION_NET,
    OPTION_WALL_MS,
    OPTION_CPU_MS,
    OPTION_OUT_KB,
    OPTION_ENV,
    OPTION_STDIN,
};

static const struct argp_option run_options[] = {
    {"user", OPTION_USER, "NAME|UID", 0, "Whose run it is; this option is needed", 0},
    {"net", OPTION_NET, "NET", 0, "Network: none or public [none]", 0},
    {"wall-ms", OPTION_WALL_MS, "N", 0, "Milliseconds until the run is killed [30000]", 0},
    {"cpu-ms", OPTION_CPU_MS, "N", 0, "Milliseconds of processor time [none]", 0},
    {"out-kb", OPTION_OUT_KB, "N", 0, "KiB that are kept of each output stream [1024]", 0},
    {"env", OPTION_ENV, "NAME=VALUE", 0, "Environment variable; may be given again", 0},
    {"stdin", OPTION_STDIN, "FILE", 0, "Standard input of the program; - is our own [empty]", 0},
    {0},
};

static const char doc[] =
    "Run a program as a user, behind all protections, and pass on its output and exit code.\v"
    "PROGRAM is an absolute path, or a name that is looked for in " RUN_PATH " of this host. "
    "Ctrl-C ends the run.";

/* Put a member into the body, and take the value; complains of text that JSON cannot hold. */
static error_t member_set(struct argp_state *state, json_t *object, const char *key, json_t *value)
{
    if (value && json_object_set_new(object, key, value) == 0)
        return 0;
    argp_error(state, "an argument is not UTF-8");
    return EINVAL;
}

static error_t user_set(struct argp_state *state, json_t *body, const char *who)
{
    uint32_t uid;

    if (str_to_u32(who, UINT32_MAX - 1, &uid) == 0)
        return member_set(state, body, "user", json_integer((json_int_t)uid));
    if (name_is_valid(who))
        return member_set(state, body, "user", json_string(who));
    argp_error(state, "'%s' is neither a user name nor a UID", who);
    return EINVAL;
}

static error_t net_set(struct argp_state *state, json_t *body, const char *net)
{
    if (strcmp(net, "none") == 0 || strcmp(net, "public") == 0)
        return member_set(state, body, "net", json_string(net));
    argp_error(state, "the network is none or public, not '%s'", net);
    return EINVAL;
}

/* Which numbers are allowed is up to the API; here it has to be a number. */
static error_t limit_set(struct argp_state *state, json_t *body, const char *key, const char *arg)
{
    json_t *limits = json_object_get(body, "limits");
    uint32_t number;

    if (str_to_u32(arg, UINT32_MAX, &number) < 0) {
        argp_error(state, "'%s' is not a number", arg);
        return EINVAL;
    }
    if (!limits) {
        limits = json_object();
        if (json_object_set_new(body, "limits", limits) < 0)
            say_no_memory();
    }
    return member_set(state, limits, key, json_integer((json_int_t)number));
}

static error_t env_set(struct argp_state *state, json_t *body, const char *arg)
{
    const char *equals = strchr(arg, '=');
    json_t *env = json_object_get(body, "env");
    cleanup_free char *name = NULL;

    if (!equals || equals == arg) {
        argp_error(state, "'%s' is not NAME=VALUE", arg);
        return EINVAL;
    }
    name = strndup(arg, (size_t)(equals - arg));
    if (!name)
        say_no_memory();
    if (!env) {
        env = json_object();
        if (json_object_set_new(body, "env", env) < 0)
            say_no_memory();
    }
    return member_set(state, env, name, json_string(equals + 1));
}

static error_t run_option_parse(int key, char *arg, struct argp_state *state)
{
    struct run_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_USER:
        return user_set(state, args->body, arg);
    case OPTION_NET:
        return net_set(state, args->body, arg);
    case OPTION_WALL_MS:
        return limit_set(state, args->body, "wall_ms", arg);
    case OPTION_CPU_MS:
        return limit_set(state, args->body, "cpu_ms", arg);
    case OPTION_OUT_KB:
        return limit_set(state, args->body, "out_kb", arg);
    case OPTION_ENV:
        return env_set(state, args->body, arg);
    case OPTION_STDIN:
        args->stdin_path = arg;
        return 0;
    case ARGP_KEY_ARG:
        /* The program; all that follows is its own, options too. */
        args->argv = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (!args->argv) {
            argp_error(state, "a program is missing");
            return EINVAL;
        }
        if (!json_object_get(args->body, "user")) {
            argp_error(state, "--user is missing");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp run_argp = {.options = run_options,
                                     .parser = run_option_parse,
                                     .args_doc = "[--] PROGRAM [ARGUMENT...]",
                                     .doc = doc,
                                     .children = options_child};

int run_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                   struct run_args *ret_args)
{
    struct run_args args = {.opt = opt, .body = json_object()};

    if (!args.body)
        say_no_memory();
    if (argp_parse(&run_argp, argc, argv, flags | ARGP_IN_ORDER, NULL, &args) != 0) {
        run_args_done(&args);
        return -EINVAL;
    }
    *ret_args = args;
    return 0;
}

void run_args_done(struct run_args *args)
{
    json_decref(args->body);
    *args = (struct run_args){0};
}

int run_args_add_argv(struct run_args *args, const char *path)
{
    json_t *list = json_array();

    if (!list || json_object_set_new(args->body, "argv", list) < 0)
        say_no_memory();
    if (json_array_append_new(list, json_string(path)) < 0)
        return -EILSEQ;
    for (size_t i = 1; args->argv[i]; i++) {
        if (json_array_append_new(list, json_string(args->argv[i])) < 0)
            return -EILSEQ;
    }
    return 0;
}

int run_args_add_stdin(struct run_args *args, const char *text, size_t size)
{
    if (memchr(text, '\0', size) ||
        json_object_set_new(args->body, "stdin", json_stringn(text, size)) < 0)
        return -EILSEQ;
    return 0;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0;
}

int program_find(const char *name, char **ret_path)
{
    if (name[0] == '/') {
        *ret_path = strdup(name);
        if (!*ret_path)
            say_no_memory();
        return 0;
    }
    if (name[0] == '\0' || strchr(name, '/'))
        return -EINVAL;
    for (const char *dir = RUN_PATH; *dir;) {
        size_t length = strcspn(dir, ":");
        char *path = NULL;

        if (asprintf(&path, "%.*s/%s", (int)length, dir, name) < 0)
            say_no_memory();
        if (is_program(path)) {
            *ret_path = path;
            return 0;
        }
        free(path);
        dir += length + (dir[length] == ':');
    }
    return -ENOENT;
}
