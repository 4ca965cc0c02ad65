/* SPDX-License-Identifier: ISC */
/* external_id.h - the callers' own keys for people, one namespace for each caller. */
#ifndef ATELIER_EXTERNAL_ID_H
#define ATELIER_EXTERNAL_ID_H

#include <stdint.h>

#include "registry/registry.h"

/**
 * external_id_find() - Whom does this caller mean?
 *
 * Return: 0, -ENOENT, or a negative errno.
 */
int external_id_find(struct registry *reg, uint32_t owner_uid, const char *external_id,
                     struct user *ret_user);

/**
 * external_id_insert() - Bind a caller's key to a user
 *
 * Inside an open change. A second key of one caller for the same user, or a key that the caller
 * has given to another user, is refused by the database: ask before.
 *
 * Return: 0 or a negative errno.
 */
int external_id_insert(struct registry *reg, uint32_t owner_uid, const char *external_id,
                       uint32_t uid);

#endif
