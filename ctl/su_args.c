/* SPDX-License-Identifier: ISC */
/* su_args.c - from the arguments of `atelier su` to the call of ssh. */
#include "ctl/su_args.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/say.h"

#include "common/banned.h"

enum {
    OPTION_PORT = OPTION_OWN,
};

static error_t port_set(struct argp_state *state, struct su_args *args, const char *arg)
{
    uint32_t port;

    if (str_to_u32(arg, UINT16_MAX, &port) < 0 || port == 0) {
        argp_error(state, "'%s' is not a port", arg);
        return EINVAL;
    }
    args->port = arg;
    return 0;
}

static error_t su_option_parse(int key, char *arg, struct argp_state *state)
{
    struct su_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_PORT:
        return port_set(state, args, arg);
    case ARGP_KEY_ARG:
        if (!args->name) {
            args->name = arg;
            return 0;
        }
        /* The program; all that follows is its own, options too. */
        args->command = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
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

static const struct argp_option su_options[] = {
    {"port", OPTION_PORT, "PORT", 0, "Where atelier-sshd listens on " SU_HOST " [" SU_PORT "]", 0},
    {0},
};

static const struct argp su_argp = {
    .options = su_options,
    .parser = su_option_parse,
    .args_doc = "NAME [[--] COMMAND [ARGUMENT...]]",
    .doc = "Log in as a user, through the same door and as confined as the user. For root alone.\v"
           "Ends with the exit code of the shell or command; 255 if the login failed.",
    .children = options_child};

int su_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                  struct su_args *ret_args)
{
    struct su_args args = {.opt = opt, .port = SU_PORT};

    if (argp_parse(&su_argp, argc, argv, flags | ARGP_IN_ORDER, NULL, &args) != 0)
        return -EINVAL;
    *ret_args = args;
    return 0;
}

/* In single quotes everything is itself but the quote; POSIX.1 XCU 2.2.2. */
char *words_quote(char *const *words)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);

    if (!out)
        say_no_memory();
    for (size_t i = 0; words[i]; i++) {
        (void)fputs(i > 0 ? " '" : "'", out);
        for (const char *c = words[i]; *c; c++)
            (void)(*c == '\'' ? fputs("'\\''", out) : fputc(*c, out));
        (void)fputc('\'', out);
    }
    if (fclose(out) != 0 || !line)
        say_no_memory();
    return line;
}

/* --- vectors ------------------------------------------------------------------------------- */

/* Append a copy of "@head@tail" and keep the end. */
static void vector_add(char ***vector, const char *head, const char *tail)
{
    size_t n = 0;
    char **grown, *word;

    while (*vector && (*vector)[n])
        n++;
    grown = reallocarray(*vector, n + 2, sizeof(*grown));
    if (!grown || asprintf(&word, "%s%s", head, tail) < 0)
        say_no_memory();
    grown[n] = word;
    grown[n + 1] = NULL;
    *vector = grown;
}

static void vector_free(char **vector)
{
    for (size_t i = 0; vector && vector[i]; i++) {
        explicit_bzero(vector[i], strlen(vector[i]));
        free(vector[i]);
    }
    free(vector);
}

/* Whatever the files of root or of the host say, this is one login, and nothing rides on it. */
static const char *const ssh_options[] = {
    "PreferredAuthentications=keyboard-interactive",
    "NumberOfPasswordPrompts=1",
    "UserKnownHostsFile=" SU_KNOWN_HOSTS,
    "GlobalKnownHostsFile=none",
    /* The name in the file, so that it is found whatever --port is. */
    "HostKeyAlias=[" SU_HOST "]:" SU_PORT,
    "StrictHostKeyChecking=yes",
    "CheckHostIP=no",
    "UpdateHostKeys=no",
    "LogLevel=ERROR",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "IdentityAgent=none",
    "ControlPath=none",
};

void su_exec_make(const struct su_args *args, const char *code, bool is_tty, char *const *envp,
                  struct su_exec *ret_exec)
{
    static const char *const handed_on[] = {"TERM=", "LANG=", "LC_", "COLORTERM="};
    struct su_exec x = {0};

    vector_add(&x.argv, SU_SSH, "");
    vector_add(&x.argv, "-F", "/dev/null");
    vector_add(&x.argv, "-p", args->port);
    for (size_t i = 0; i < sizeof(ssh_options) / sizeof(ssh_options[0]); i++)
        vector_add(&x.argv, "-o", ssh_options[i]);
    if (is_tty && !args->command)
        vector_add(&x.argv, "-t", "");
    vector_add(&x.argv, "-l", args->name);
    vector_add(&x.argv, "--", "");
    vector_add(&x.argv, SU_HOST, "");
    if (args->command) {
        cleanup_free char *line = words_quote(args->command);

        vector_add(&x.argv, line, "");
    }

    vector_add(&x.envp, "PATH=", "/usr/sbin:/usr/bin:/sbin:/bin");
    vector_add(&x.envp, "SSH_ASKPASS=", SU_ASKPASS);
    vector_add(&x.envp, "SSH_ASKPASS_REQUIRE=", "force");
    vector_add(&x.envp, "ATELIER_ASKPASS=", code);
    for (; *envp; envp++) {
        for (size_t i = 0; i < sizeof(handed_on) / sizeof(handed_on[0]); i++) {
            if (strncmp(*envp, handed_on[i], strlen(handed_on[i])) == 0)
                vector_add(&x.envp, *envp, "");
        }
    }
    *ret_exec = x;
}

void su_exec_done(struct su_exec *exec)
{
    vector_free(exec->argv);
    vector_free(exec->envp);
    *exec = (struct su_exec){0};
}
