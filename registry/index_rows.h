/* SPDX-License-Identifier: ISC */
/* index_rows.h - what the index is to say, read from the registry. */
#ifndef ATELIER_INDEX_ROWS_H
#define ATELIER_INDEX_ROWS_H

#include "registry/index_write.h"

struct registry;

/**
 * index_rows_load() - Read generation, users, groups and memberships, the open change included
 * @ret_rows: Owned by the caller, index_rows_done()
 *
 * Return: 0 or a negative errno.
 */
int index_rows_load(struct registry *reg, struct index_rows *ret_rows);

void index_rows_done(struct index_rows *rows);

#endif
