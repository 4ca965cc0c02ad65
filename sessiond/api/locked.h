/* SPDX-License-Identifier: ISC */
/* locked.h - requests that wait for the password lock of the host. */
#ifndef ATELIER_API_LOCKED_H
#define ATELIER_API_LOCKED_H

#include "sessiond/api/hostcheck.h"
#include "sessiond/api/http.h"

/**
 * locked_fn - What is done under the lock
 * @check: For hostcheck_taken(), with the deadline set
 * @input: As given
 *
 * Return: 0 with the request answered; or a negative errno, not answered: what the registry or
 * hostcheck said.
 */
typedef int (*locked_fn)(struct request *rq, struct hostcheck *check, void *input);

/**
 * locked_run() - Do it when the lock is there, and answer whatever goes wrong with it
 * @input: @size bytes, copied; what it points to is taken over
 * @done:  Called when all is over, to release what it points to; NULL: nothing is to be released
 * @what:  "The user could not be created": the sentence of a failure, borrowed for good
 */
void locked_run(struct request *rq, locked_fn fn, void *input, size_t size,
                void (*done)(void *input), const char *what);

#endif
