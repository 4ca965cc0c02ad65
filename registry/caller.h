/* SPDX-License-Identifier: ISC */
/* caller.h - callers, as the other files of registry/ see them. */
#ifndef ATELIER_CALLER_H
#define ATELIER_CALLER_H

#include "registry/registry.h"

/* Make or replace the rows of a caller, inside an open change. Return: 0 or a negative errno. */
int caller_rows_put(struct registry *reg, const struct caller *caller);

/* Remove the rows of all of them, inside an open change. Return: 0 or a negative errno. */
int caller_rows_clear(struct registry *reg);

#endif
