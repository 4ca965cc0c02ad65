/* SPDX-License-Identifier: ISC */
/* main.c - atelier: the admin's command. Finds the command and hands over. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/near.h"
#include "ctl/args.h"
#include "ctl/cmd.h"
#include "ctl/exit.h"
#include "ctl/say.h"

#include "common/banned.h"

const char *argp_program_version = PACKAGE_STRING;

struct command {
    const char *noun;
    const char *verb; /* NULL: the command is one word */
    int (*run)(struct options *opt, int argc, char **argv);
    const char *text;
};

static const struct command commands[] = {
#define COMMAND_ROW(noun, verb, fn, text) {noun, verb, fn, text},
    COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

/* These print what is no list of values, and do not take --json behind them either. */
static int (*const without_json[])(struct options *opt, int argc, char **argv) = {
    cmd_policy_check, cmd_policy_show, cmd_policy_names, cmd_policy_explain, cmd_setup};

static bool has_json(const struct command *c)
{
    for (size_t i = 0; i < sizeof(without_json) / sizeof(without_json[0]); i++) {
        if (c->run == without_json[i])
            return false;
    }
    return true;
}

struct main_args {
    struct options opt;
    const struct command *command;
    int first; /* index of the last word of the command */
};

static bool has_noun(const char *noun)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].noun, noun) == 0)
            return true;
    }
    return false;
}

static const struct command *command_find(const char *noun, const char *verb)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command *c = &commands[i];

        if (strcmp(c->noun, noun) == 0 && (!c->verb || (verb && strcmp(c->verb, verb) == 0)))
            return c;
    }
    return NULL;
}

/* "there is no command 'usr'; did you mean user?" @noun: NULL: there is none. @word: NULL: none
 * came after it. */
static void command_refuse(struct argp_state *state, const char *noun, const char *word)
{
    const char *known[COMMAND_COUNT];
    char hint[NEAR_HINT_SIZE];
    size_t n = 0;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (noun && strcmp(commands[i].noun, noun) == 0)
            known[n++] = commands[i].verb;
        else if (!noun && (n == 0 || strcmp(known[n - 1], commands[i].noun) != 0))
            known[n++] = commands[i].noun;
    }
    (void)near_hint(word ? word : "", known, n, hint);
    if (!word)
        argp_error(state, "'%s' needs a second word; %s", noun, hint);
    else
        argp_error(state, "there is no command '%s%s%s'; %s", noun ? noun : "", noun ? " " : "",
                   word, hint);
}

/* @noun: NULL: of all. */
static void commands_write(FILE *out, const char *noun)
{
    (void)fputs("Commands (--help after each says more):\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!noun || strcmp(noun, commands[i].noun) == 0)
            (void)fprintf(out, "  %-7s %-7s %s\n", commands[i].noun,
                          commands[i].verb ? commands[i].verb : "", commands[i].text);
    }
}

static int output_finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    say_error("cannot write to standard output: %s", strerror(errno));
    return CTL_INTERNAL;
}

static error_t command_parse(struct main_args *args, const char *noun, struct argp_state *state)
{
    const char *verb = state->next < state->argc ? state->argv[state->next] : NULL;

    if (!has_noun(noun)) {
        command_refuse(state, NULL, noun);
        return EINVAL;
    }
    if (verb && strcmp(verb, "--help") == 0 && !command_find(noun, NULL)) {
        (void)printf("Usage: atelier %s COMMAND [ARGUMENT...]\n\n", noun);
        commands_write(stdout, noun);
        exit(output_finish(CTL_OK));
    }
    args->command = command_find(noun, verb);
    if (!args->command) {
        if (verb)
            command_refuse(state, noun, verb);
        else
            command_refuse(state, noun, NULL);
        return EINVAL;
    }
    if (args->opt.json && !has_json(args->command)) {
        argp_error(state, "%s%s%s has no --json", noun, args->command->verb ? " " : "",
                   args->command->verb ? args->command->verb : "");
        return EINVAL;
    }
    args->first = args->command->verb ? state->next : state->next - 1;
    state->next = state->argc;
    return 0;
}

static error_t main_parse(int key, char *arg, struct argp_state *state)
{
    struct main_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->opt;
        return 0;
    case ARGP_KEY_ARG:
        return command_parse(args, arg, state);
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The lists of commands and exit codes, from their tables. */
static char *help_write(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        say_no_memory();
    commands_write(out, NULL);
    (void)fputs("\nExit status:\n", out);
#define EXIT_ROW(id, number, text) (void)fprintf(out, "  %3d %s\n", number, text);
    CTL_EXITS(EXIT_ROW)
#undef EXIT_ROW
    if (fclose(out) != 0 || !text)
        say_no_memory();
    return text;
}

static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    /* argp frees what is not the text that it gave. */
    return key == ARGP_KEY_HELP_POST_DOC ? help_write() : (char *)(uintptr_t)text;
}

static const struct argp main_argp = {
    .parser = main_parse,
    .args_doc = "COMMAND [ARGUMENT...]",
    .doc = "Look after the users, links, sessions, groups, callers and runs of a workshop host.\v ",
    .children = options_child,
    .help_filter = help_filter};

/* A missing descriptor 0, 1 or 2 would be given to the socket, and output would go there. */
static void standard_fds_open(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        (void)close(fd);
}

int main(int argc, char **argv)
{
    struct main_args args = {.opt = {.socket = ATELIER_RUN_DIR "/admin.sock"}};
    char title[64];

    standard_fds_open();
    if (argp_parse(&main_argp, argc, argv, ARGP_IN_ORDER, NULL, &args) != 0)
        return CTL_USAGE;
    (void)snprintf(title, sizeof(title), "atelier %s%s%s", args.command->noun,
                   args.command->verb ? " " : "", args.command->verb ? args.command->verb : "");
    argv[args.first] = title;
    return output_finish(args.command->run(&args.opt, argc - args.first, argv + args.first));
}
