/* SPDX-License-Identifier: ISC */
/* import_errors.c - what is wrong with the rows of an import: one error a row, in their order. */
#include "sessiond/api/import_errors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/banned.h"

bool import_errors_is_full(const struct import_errors *errors, size_t row)
{
    return errors->n == IMPORT_ERRORS_MAX && errors->all[errors->n - 1].row <= row;
}

int import_errors_add(struct import_errors *errors, size_t row, const struct error *e)
{
    size_t at = errors->n;

    if (import_errors_is_full(errors, row))
        return 0;
    if (!errors->all)
        errors->all = calloc(IMPORT_ERRORS_MAX, sizeof(*errors->all));
    if (!errors->all)
        return -ENOMEM;
    while (at > 0 && errors->all[at - 1].row > row)
        at--;
    if (errors->n == IMPORT_ERRORS_MAX)
        errors->n--;
    memmove(&errors->all[at + 1], &errors->all[at], (errors->n - at) * sizeof(*errors->all));
    errors->all[at] = (struct import_error){.row = row, .e = *e};
    errors->n++;
    return 0;
}

json_t *import_errors_json(const struct import_errors *errors)
{
    json_t *array = json_array();

    for (size_t i = 0; i < errors->n; i++) {
        const struct error *e = &errors->all[i].e;
        json_t *one =
            json_pack("{s:s?, s:s}", "field", e->field[0] ? e->field : NULL, "message", e->message);

        if (json_array_append_new(array, one) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

void import_errors_done(struct import_errors *errors)
{
    free(errors->all);
    *errors = (struct import_errors){0};
}
