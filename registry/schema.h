/* SPDX-License-Identifier: ISC */
/* schema.h - the tables of registry.db and the steps from one version to the next. */
#ifndef ATELIER_SCHEMA_H
#define ATELIER_SCHEMA_H

struct registry;

/* PRAGMA user_version of a database that this program reads and writes. */
#define SCHEMA_VERSION 2

/**
 * schema_migrate() - Bring the open database to SCHEMA_VERSION
 *
 * All steps are one transaction. A new database also gets its counter, generation 1 and the group
 * GROUP_ALL_USERS.
 *
 * Return: 0; -EPROTO if the database is newer than this program or is not a registry; or a
 * negative errno with the database unchanged.
 */
int schema_migrate(struct registry *reg);

#endif
