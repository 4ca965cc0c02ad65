/* SPDX-License-Identifier: ISC */
/*
 * sabotage.h - take one protection away, to see that a test notices.
 *
 * Only in the binaries that tests/sabotage builds with -DATELIER_SABOTAGE, which are never
 * installed; in the shipped ones the condition is the constant false and nothing of this is left.
 */
#ifndef ATELIER_SABOTAGE_H
#define ATELIER_SABOTAGE_H

#include <stdbool.h>

#ifdef ATELIER_SABOTAGE
/* True if the comma-separated ATELIER_SABOTAGE in the environment at start names this. */
bool sabotage_enabled(const char *name);
#define SABOTAGED(name) sabotage_enabled(name)
#else
#define SABOTAGED(name) false
#endif

#endif
