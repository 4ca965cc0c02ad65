/* SPDX-License-Identifier: ISC */
/* run_args.h - from the arguments of `atelier run` to the body of POST /v1/runs. */
#ifndef ATELIER_CTL_RUN_ARGS_H
#define ATELIER_CTL_RUN_ARGS_H

#include <jansson.h>
#include <stddef.h>

#include "ctl/args.h"

/* Where a program without a slash is looked for: the PATH of a run. */
#define RUN_PATH "/usr/local/bin:/usr/bin:/bin"

struct run_args {
    struct options *opt;
    json_t *body;           /* user, net, limits, env; owned */
    const char *stdin_path; /* "-" for standard input, NULL for none; borrowed */
    char **argv;            /* program and its arguments, NULL-terminated; borrowed */
};

/**
 * run_args_parse() - Read the arguments
 * @opt:      Changed by the common options
 * @flags:    ARGP_*; with ARGP_SILENT errors are returned, else they end the program
 * @ret_args: run_args_done()
 *
 * Return: 0 or -EINVAL.
 */
int run_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                   struct run_args *ret_args);

void run_args_done(struct run_args *args);

/**
 * run_args_add_argv() - Put the program into the body
 * @path: Absolute path, takes the place of argv[0]; borrowed
 *
 * Return: 0, or -EILSEQ if an argument is not UTF-8 (JSON has no other text).
 */
int run_args_add_argv(struct run_args *args, const char *path);

/**
 * run_args_add_stdin() - Put the text for the program's standard input into the body
 *
 * Return: 0, or -EILSEQ for what is not UTF-8 or holds a NUL.
 */
int run_args_add_stdin(struct run_args *args, const char *text, size_t size);

/**
 * program_find() - Absolute path of a program
 * @name:     An absolute path (kept as it is, whether it exists or not), or a bare name
 * @ret_path: Heap
 *
 * A bare name is looked for in RUN_PATH on this host: a run sees the same /usr, read-only.
 *
 * Return: 0, -ENOENT, or -EINVAL for an empty name or a relative path.
 */
int program_find(const char *name, char **ret_path);

#endif
