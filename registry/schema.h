/* SPDX-License-Identifier: ISC */
/* schema.h - the tables of registry.db and the steps from one version to the next. */
#ifndef ATELIER_SCHEMA_H
#define ATELIER_SCHEMA_H

#include <stdint.h>

struct registry;
struct registry_options;

/* PRAGMA user_version of a database that this program reads and writes. */
#define SCHEMA_VERSION 4

/* PRAGMA application_id: "AT" "LR", so that file(1) can tell. */
#define REGISTRY_APPLICATION_ID 0x41544c52

/**
 * schema_migrate() - Bring the open database to SCHEMA_VERSION
 * @options: For a new database
 *
 * All steps are one transaction. A new database also gets its counter, generation 1, what the
 * ledger knows, and the group GROUP_ALL_USERS.
 *
 * Return: 0; -EPROTO if the database is newer than this program or is not a registry; or a
 * negative errno with the database unchanged.
 */
int schema_migrate(struct registry *reg, const struct registry_options *options);

/* The steps from @version on, inside an open change. Return: 0 or a negative errno. */
int schema_steps_run(struct registry *reg, int64_t version);

/* The first column of the only row of a constant query. Return: 0 or a negative errno. */
int db_number(struct registry *reg, const char *sql, int64_t *ret_n);

#endif
