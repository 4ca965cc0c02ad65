/* SPDX-License-Identifier: ISC */
/* id.h - ids and names that are used once and never again. */
#ifndef ATELIER_ID_H
#define ATELIER_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "registry/ledger.h"
#include "registry/registry.h"

/**
 * id_allocate() - Take the next id from the counter of uids and gids
 * @taken:  Host-side check, asked for each candidate
 * @ret_id: The id; 0 if there is none left in the range of registry_options
 *
 * Inside an open change: the counter moves past the id with it.
 *
 * Return: 0 or a negative errno.
 */
int id_allocate(struct registry *reg, registry_taken_fn taken, void *arg, uint32_t *ret_id);

/**
 * id_is_taken() - Has anybody, now or ever, had this id?
 * @ret_taken: As a user or group of ours, or anybody on the host
 *
 * Return: 0 or a negative errno.
 */
int id_is_taken(struct registry *reg, uint32_t id, registry_taken_fn taken, void *arg,
                bool *ret_taken);

/**
 * name_is_taken() - Has anybody, now or ever, had this name?
 * @ret_taken: By a user or group of ours, a tombstone, or anybody on the host
 *
 * Return: 0 or a negative errno.
 */
int name_is_taken(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                  bool *ret_taken);

/* How many ids of the range can still be given out. Return: 0 or a negative errno. */
int ids_free_count(struct registry *reg, uint32_t *ret_n);

/**
 * tombstone_insert() - Note that an id and a name are used from now on
 * @kind: "user" or "group"
 *
 * Inside an open change. Return: 0 or a negative errno.
 */
int tombstone_insert(struct registry *reg, uint32_t id, const char *kind, const char *name);

/* The id that was given out first under a name; 0 if none was. Return: 0 or a negative errno. */
int tombstone_find(struct registry *reg, const char *kind, const char *name, uint32_t *ret_id);

/* Note that a group has a further name. Inside an open change. Return: 0 or a negative errno. */
int used_name_add(struct registry *reg, uint32_t gid, const char *name);

/**
 * used_merge() - Note as used what another list says
 * @used:     One line of it
 * @is_first: It is the first line of this id there
 * @ret_what: On -EEXIST: what contradicts it, static text
 *
 * Inside an open change. An id that had one name here and another one there would be two people's:
 * only a group may have further names. A name that had two ids likewise; but GROUP_ALL_USERS is in
 * every registry, and has the gid that was free there.
 *
 * Return: 0, -EEXIST, or a negative errno.
 */
int used_merge(struct registry *reg, const struct used *used, bool is_first, const char **ret_what);

/* Called for each used id and name; ids ascend, the first name of an id comes first. */
typedef int (*used_fn)(void *arg, const struct used *used);

/* A non-zero return of @fn, which must not use the registry, stops it and is returned. */
int used_list(struct registry *reg, used_fn fn, void *arg);

#endif
