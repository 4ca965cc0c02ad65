/* SPDX-License-Identifier: ISC */
/* change.h - transactions, and the one way in which a change reaches NSS. */
#ifndef ATELIER_CHANGE_H
#define ATELIER_CHANGE_H

#include <stdint.h>

#include "registry/registry.h"

/* Commit the open group of run rows, then begin. Return: 0 or a negative errno, nothing begun. */
int change_begin(struct registry *reg);

/* Roll back; keeps the sentence of the failure that led here. */
void change_abort(struct registry *reg);

/* A registry_taken_fn for what gives out no id and no name: there is no right to be over. */
int always_entitled(void *arg, const char *name, uint32_t id);

/* End a change that NSS cannot see. Return: 0, or a negative errno and the change is undone. */
int change_commit(struct registry *reg);

/**
 * change_touch() - Say that the open change concerns what NSS answers for an id
 * @id: Of a user (its row or its memberships) or of a group
 *
 * To be called for every such id, before the change ends: change_publish() reads these rows and no
 * others. change_abort() takes it back.
 */
void change_touch(struct registry *reg, uint32_t id);

/* The same for all ids, those that are not in use included. */
void change_touch_all(struct registry *reg);

/**
 * change_publish() - End a change that NSS can see
 *
 * @taken: Asked once more, with neither name nor id, when nothing but COMMIT is left to do; NULL
 * for a change that gives out neither
 * @arg:   For @taken
 *
 * The steps 1 (generation) to 6 of registry.h.
 *
 * Return: 0 when every NSS look-up on the host sees the change. A negative errno: the change is
 * undone; but -EINPROGRESS, whatever the cause: it is stored, and ledger or index are behind;
 * index_catch_up() tries again.
 */
int change_publish(struct registry *reg, registry_taken_fn taken, void *arg);

/**
 * index_catch_up() - Publish what is stored but not published, if there is anything
 *
 * To be called before an answer "exists already". Return: 0 or -EIO, whatever the cause.
 */
int index_catch_up(struct registry *reg);

/**
 * index_agree() - Sweep what a crash left, and write the index if it is not that of this database
 *
 * The index that the rows in the database make is compared with the file byte by byte, so an older,
 * torn or damaged one is found, and rows that were changed behind the registry's back as well.
 *
 * Return: 0 or a negative errno.
 */
int index_agree(struct registry *reg);

#endif
