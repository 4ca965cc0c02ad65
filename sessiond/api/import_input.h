/* SPDX-License-Identifier: ISC */
/* import_input.h - the body of an import, checked. */
#ifndef ATELIER_API_IMPORT_INPUT_H
#define ATELIER_API_IMPORT_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "registry/registry.h"
#include "sessiond/api/import_errors.h"

/* POST /v1/imports. The texts are those of the body, which is kept for them. */
struct import_input {
    json_t *body;
    bool is_dry_run;
    size_t n;                /* 1..USER_BATCH_MAX */
    struct user_spec *specs; /* @n of them, of the administrator */
    const char **groups;     /* what they point into */
    struct user_gain *gains; /* what they tell to */
    bool *is_bad;            /* @n of them: there is an error of this row */
    struct import_errors errors;
};

/**
 * import_input_parse() - Read it
 *
 * Every error of a row names it: "users[3].email". Two rows with one e-mail address (in whatever
 * case) or one name are an error of the second. They are kept in .errors: the caller looks whether
 * there are any.
 *
 * Return: 0, with *ret_in for import_input_done(); or -EINVAL with *e filled if it is the whole
 * that is wrong.
 */
int import_input_parse(const json_t *body, struct import_input *ret_in, struct error *e);

/**
 * import_input_fault() - Note that a row is wrong
 * @e: Kept if it is the first of that row
 *
 * Return: 0 or -ENOMEM.
 */
int import_input_fault(struct import_input *in, size_t row, const struct error *e);
void import_input_done(struct import_input *in);

#endif
