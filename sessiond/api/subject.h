/* SPDX-License-Identifier: ISC */
/* subject.h - the user whom a request is about, and whether the caller may act for them. */
#ifndef ATELIER_API_SUBJECT_H
#define ATELIER_API_SUBJECT_H

#include <stdint.h>

#include "sessiond/api/error.h"
#include "sessiond/api/http.h"

/**
 * subject_find() - Find a user for whom something is to be done
 * @name: Valid, or NULL: then @uid is meant
 *
 * Whom the caller may not act for is refused before anything about their state is told.
 *
 * Return: 0, or -EINVAL with *e filled: 404 unknown_user, 403 not_allowed, 403 locked (also when
 * the user's time is over), 500.
 */
int subject_find(struct request *rq, const char *name, uint32_t uid, struct user *ret_user,
                 struct error *e);

/* 500, and the registry's reason in the log. Return: -EINVAL. */
int subject_registry_failed(const struct request *rq, struct error *e);

/* 403 not_allowed, and a line in the log. Return: -EINVAL. */
int subject_deny(const struct request *rq, uint32_t uid, const char *field, const char *why,
                 struct error *e);

#endif
