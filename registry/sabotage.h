/* SPDX-License-Identifier: ISC */
/*
 * sabotage.h - take one condition out of a statement, to see that a test notices.
 *
 * Only in the binary that tests/sabotage builds with -DATELIER_SABOTAGE, which is never installed;
 * in the shipped one a statement is the constant text of statements.def.
 */
#ifndef ATELIER_REGISTRY_SABOTAGE_H
#define ATELIER_REGISTRY_SABOTAGE_H

#include "registry/statement.h"

#ifdef ATELIER_SABOTAGE
/* @sql as it is, or without what ATELIER_SABOTAGE names. Valid until the next call. */
const char *sabotage_sql(enum stmt_id id, const char *sql);
#define SABOTAGED_SQL(id, sql) sabotage_sql(id, sql)
#else
#define SABOTAGED_SQL(id, sql) (sql)
#endif

#endif
