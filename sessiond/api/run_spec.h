/* SPDX-License-Identifier: ISC */
/* run_spec.h - the body of POST /v1/runs, checked, and argv and environment made from it. */
#ifndef ATELIER_API_RUN_SPEC_H
#define ATELIER_API_RUN_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessiond/api/error.h"

struct limits;
struct preset;

/* Borrows everything from the JSON body. */
struct run_spec {
    const char *user_name; /* NULL if the user is given by uid */
    uint32_t user_uid;
    const struct preset *preset; /* NULL: argv is the whole command */
    const json_t *argv;          /* array of strings; NULL: none */
    const char *code;            /* source text; NULL without preset */
    size_t code_bytes;
    const json_t *env; /* object of strings; NULL: none */
    const char *stdin_text;
    size_t stdin_bytes;
    bool net_public;
    uint32_t wall_ms; /* 0: not given, until run_spec_limit() */
    uint32_t cpu_ms;  /* 0: not given; afterwards: no limit */
    uint32_t out_kb;
    uint32_t limits_required; /* bits of enum wire_limit */
};

/**
 * run_spec_parse() - Check a body
 * @body:     JSON object, borrowed for as long as @ret_spec
 * @ret_spec: Untouched on failure
 *
 * A user that cannot exist (syntax, range) is 404 unknown_user, everything else 400 bad_request.
 *
 * Return: 0, or -EINVAL with *e filled.
 */
int run_spec_parse(const json_t *body, struct run_spec *ret_spec, struct error *e);

/**
 * run_spec_limit() - Hold the limits of a body against those of its user, and fill in the others
 *
 * After the user was found: what is wrong with a request in itself comes first, and whoever may not
 * act for a user is not told what that user gets.
 *
 * Return: 0, or -EINVAL with *e filled: 400 with the field.
 */
int run_spec_limit(struct run_spec *spec, const struct limits *limits, struct error *e);

/* argv, environment and source file of a run. */
struct run_command {
    char **argv; /* NULL-terminated; vector and strings are owned */
    char **envp;
    const char *code_name; /* static; NULL for none */
};

/**
 * run_command_make() - Make argv and environment
 * @user: Name of the user
 *
 * The environment is built from nothing: HOME USER LOGNAME PATH LANG TERM, then the caller's, of
 * which LANG and TERM replace ours.
 *
 * Return: 0 or -ENOMEM; release with run_command_done().
 */
int run_command_make(const struct run_spec *spec, const char *user, struct run_command *ret_c);

void run_command_done(struct run_command *c);

#endif
