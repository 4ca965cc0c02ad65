/* SPDX-License-Identifier: ISC */
/* backup.h - copies of the database beside it. */
#ifndef ATELIER_BACKUP_H
#define ATELIER_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

struct registry;

/**
 * copy_make() - A consistent copy of the open database in registry/
 * @name:      Of the file
 * @replace:   One that is there is replaced; else it is -EEXIST
 * @ret_bytes: Its size; or NULL
 *
 * 0600 and durable. Nothing is left of one that fails.
 *
 * Return: 0 or a negative errno.
 */
int copy_make(struct registry *reg, const char *name, bool replace, uint64_t *ret_bytes);

/* Remove what a crash left of copies and of a restore. Return: 0 or a negative errno. */
int copies_sweep(struct registry *reg);

/* Remove a database and what belongs to it, if it is there. Return: 0 or a negative errno. */
int db_remove(struct registry *reg, const char *name);

/* Remove only what belongs to it: of another database of that name it would be garbage. */
int db_remove_beside(struct registry *reg, const char *name);

#endif
