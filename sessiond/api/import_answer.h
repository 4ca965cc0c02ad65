/* SPDX-License-Identifier: ISC */
/* import_answer.h - what an import says of its rows: all that are wrong, or what each comes to. */
#ifndef ATELIER_API_IMPORT_ANSWER_H
#define ATELIER_API_IMPORT_ANSWER_H

#include "sessiond/api/http.h"
#include "sessiond/api/import_input.h"

/**
 * import_refuse() - Answer with every row that is wrong
 * @in:      Its .errors, and what the registry says of the other rows
 * @taken:   As for user_create_batch()
 * @bad:     The row that user_create_batch() found; .n: it was not asked
 * @verdict: Of that row
 *
 * The first row decides code, field and message.
 */
void import_refuse(struct request *rq, struct import_input *in, registry_taken_fn taken, void *arg,
                   size_t bad, enum user_verdict verdict);

/**
 * import_row_view() - What a row came to
 * @spec: With what it changed, if @is_created is false
 *
 * Return: NULL without memory.
 */
json_t *import_row_view(const struct user_spec *spec, const struct user *user, bool is_created);

#endif
