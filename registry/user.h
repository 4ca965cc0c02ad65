/* SPDX-License-Identifier: ISC */
/* user.h - people, as the other files of registry/ see them. */
#ifndef ATELIER_USER_H
#define ATELIER_USER_H

#include <stdint.h>

#include "registry/registry.h"
#include "registry/statement.h"

/**
 * user_field_set() - Run a statement that sets one field of a user, inside an open change
 * @text:   The value if the statement wants text
 * @number: The value if @text is NULL
 *
 * Return: 0 or a negative errno.
 */
int user_field_set(struct registry *reg, enum stmt_id id, uint32_t uid, const char *text,
                   int64_t number);

#endif
