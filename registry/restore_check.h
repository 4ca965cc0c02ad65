/* SPDX-License-Identifier: ISC */
/* restore_check.h - is a database one that only this program has written? */
#ifndef ATELIER_RESTORE_CHECK_H
#define ATELIER_RESTORE_CHECK_H

#include <stdbool.h>

#include "common/ids.h"

struct registry;

/* Beyond it nothing of ours counts; SQLite's numbers end at 2^63 and then become fractions. */
#define GENERATION_MAX (INT64_C(1) << 62)

/**
 * rows_check() - Look at every row that will be believed
 * @in:         An open database of the current schema
 * @is_checked: It is known to be good: only @ret_used is of interest
 * @ret_used:   Set for each id that was given out in it, from ID_ALLOC_MIN on
 *
 * Whatever the code above would refuse to store is refused here, too: a name that is none would
 * stop the index and the ledger for ever, a text without its syntax would get into a session.
 *
 * Return: 0; -EBADMSG with the sentence in @in; or another negative errno.
 */
int rows_check(struct registry *in, bool is_checked,
               bool ret_used[ID_ALLOC_MAX - ID_ALLOC_MIN + 1]);

#endif
