/* SPDX-License-Identifier: ISC */
/* id.h - ids and names that are used once and never again. */
#ifndef ATELIER_ID_H
#define ATELIER_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "registry/registry.h"

/**
 * id_allocate() - Take the next id from the counter of uids and gids
 * @taken:  Host-side check, asked for each candidate
 * @ret_id: The id; 0 if there is none left
 *
 * Inside an open change: the counter moves past the id with it.
 *
 * Return: 0 or a negative errno.
 */
int id_allocate(struct registry *reg, registry_taken_fn taken, void *arg, uint32_t *ret_id);

/**
 * name_is_taken() - Has anybody, now or ever, had this name?
 * @ret_taken: By a user or group of ours, a tombstone, or anybody on the host
 *
 * Return: 0 or a negative errno.
 */
int name_is_taken(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                  bool *ret_taken);

/**
 * tombstone_insert() - Note that an id and a name are used from now on
 * @kind: "user" or "group"
 *
 * Return: 0 or a negative errno.
 */
int tombstone_insert(struct registry *reg, uint32_t id, const char *kind, const char *name);

#endif
