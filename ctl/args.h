/* SPDX-License-Identifier: ISC */
/* args.h - options that every command takes, and commands that take one operand or none. */
#ifndef ATELIER_CTL_ARGS_H
#define ATELIER_CTL_ARGS_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keys of the long options; above every character, so that there is no short form. Each command
 * numbers its own from OPTION_OWN on.
 */
enum {
    OPTION_SOCKET = 256,
    OPTION_JSON,
    OPTION_OWN,
};

struct options {
    const char *socket; /* path of the admin socket; borrowed from the arguments */
    bool json;
};

/* Parser of --socket and --json; its input is a struct options. */
extern const struct argp options_argp;

/* The same as the only child of a command's parser. */
extern const struct argp_child options_child[];

/**
 * args_parse_operand() - Parse a command that has nothing but the common options and an operand
 * @opt:         Changed by --socket and --json
 * @flags:       ARGP_*; with ARGP_SILENT errors are returned, else they end the program
 * @operand:     What the manual calls it, or NULL if the command takes none
 * @doc:         Text of --help
 * @ret_operand: The operand, borrowed from @argv; may be NULL if @operand is
 *
 * Return: 0 or -EINVAL.
 */
int args_parse_operand(struct options *opt, int argc, char **argv, unsigned flags,
                       const char *operand, const char *doc, const char **ret_operand);

/**
 * args_parse_operands() - The same for a command that takes one operand or more
 * @ret_operands: Borrowed from @argv
 * @ret_n:        Their number, 1 or more
 */
int args_parse_operands(struct options *opt, int argc, char **argv, unsigned flags,
                        const char *operands, const char *doc, char ***ret_operands, size_t *ret_n);

/* The only operand of a command with options of its own. Return: 0, or EINVAL for a second one, and
 * it was said. */
error_t args_operand(struct argp_state *state, char *arg, const char **operand);

#define VALID_MAX_S ((int64_t)14 * 24 * 60 * 60) /* no link lives longer */

/* The value of an option that is a duration up to @max_s. Return: 0, or EINVAL, and it was said. */
error_t args_duration(struct argp_state *state, const char *arg, int64_t max_s, int64_t *ret_s);

/**
 * args_names() - The value of an option that is a list of names with commas between, as "a,b"
 * @noun:      "group" or "user", for the sentence
 * @ret_names: Array of strings, empty for ""; replaced, the one before is released
 *
 * Return: 0, or EINVAL, and it was said.
 */
error_t args_names(struct argp_state *state, const char *noun, const char *arg, json_t **ret_names);

/**
 * args_moment() - The value of an option that says when something is over
 * @ret_at: A string as RFC 3339 writes it, or JSON's null for "never"; replaced as above
 *
 * Return: 0, or EINVAL, and it was said.
 */
error_t args_moment(struct argp_state *state, const char *arg, json_t **ret_at);

/* Which number the value of -u is. Return: 0, or EINVAL, and it was said. */
error_t args_uid(struct argp_state *state, const char *arg, uint32_t *ret_uid);

#endif
