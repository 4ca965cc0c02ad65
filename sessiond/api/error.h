/* SPDX-License-Identifier: ISC */
/* error.h - why a request is refused: HTTP code, word, field and one sentence. */
#ifndef ATELIER_API_ERROR_H
#define ATELIER_API_ERROR_H

#include "sessiond/api/status.h"

#define ERROR_FIELD_SIZE   96u
#define ERROR_MESSAGE_SIZE 384u /* a sentence, and two values (value.h) */

struct error {
    unsigned http; /* 0: nothing is wrong */
    enum status status;
    char field[ERROR_FIELD_SIZE]; /* "limits.wall_ms"; "" for none */
    char message[ERROR_MESSAGE_SIZE];
};

/**
 * error_set() - Fill in an error
 * @e:     To fill, whatever it held
 * @http:  Status code
 * @field: Name of the field it is about, or NULL; cut and made printable, it may be foreign text
 *
 * Return: -EINVAL, so that a check can end with `return error_set(...)`.
 */
int error_set(struct error *e, unsigned http, enum status status, const char *field,
              const char *format, ...) __attribute__((format(printf, 5, 6)));

/* error_set() with 400 bad_request, the most frequent kind. */
#define error_field(e, field, ...) error_set((e), 400, STATUS_BAD_REQUEST, (field), __VA_ARGS__)

#endif
