/* SPDX-License-Identifier: ISC */
/* import_errors.h - what is wrong with the rows of an import: one error a row, in their order. */
#ifndef ATELIER_API_IMPORT_ERRORS_H
#define ATELIER_API_IMPORT_ERRORS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "sessiond/api/error.h"

#define IMPORT_ERRORS_MAX 100u

struct import_error {
    size_t row;
    struct error e;
};

/* All zeros is empty. */
struct import_errors {
    struct import_error *all; /* heap; in ascending row */
    size_t n;
};

/**
 * import_errors_add() - Keep the error of a row that has none yet
 *
 * The first IMPORT_ERRORS_MAX rows are kept, whatever the order is in which they come.
 *
 * Return: 0 or -ENOMEM.
 */
int import_errors_add(struct import_errors *errors, size_t row, const struct error *e);

/* No other row from this one on would be kept. */
bool import_errors_is_full(const struct import_errors *errors, size_t row);

/* [{"field", "message"}]; NULL without memory. */
json_t *import_errors_json(const struct import_errors *errors);

void import_errors_done(struct import_errors *errors);

#endif
