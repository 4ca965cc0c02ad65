/* SPDX-License-Identifier: ISC */
/*
 * skill_store.h - the skills of this host: SKILL_STORE, which root alone can change.
 *
 * A version NAME@HASH is made under a temporary name, synced and renamed, and never changed
 * afterwards; then the link NAME is put in the place of the one before. Whoever changes the store
 * holds a lock, so what is left under a temporary name is of somebody who did not get to the end.
 */
#ifndef ATELIER_CTL_SKILL_STORE_H
#define ATELIER_CTL_SKILL_STORE_H

#include "ctl/exit.h"
#include "ctl/skill_tree.h"

struct skill_store {
    int dir;  /* -1: there is none yet */
    int lock; /* -1: open for reading */
};

/**
 * skill_store_open() - The store of a host
 * @path:    SKILL_STORE
 * @is_edit: To change it: it is made if there is none, and locked
 *
 * Return: CTL_OK; else what is wrong has been said.
 */
enum ctl_exit skill_store_open(const char *path, bool is_edit, struct skill_store *ret_store);

void skill_store_close(struct skill_store *store);
#define cleanup_skill_store __attribute__((cleanup(skill_store_close)))

/**
 * skill_store_add() - Copy a directory into it, as the newest version of a name
 * @from:       Directory
 * @title:      Its path, for messages
 * @ret_pinned: NAME@HASH
 * @ret_is_new: There was no such version before
 *
 * Return: as above.
 */
enum ctl_exit skill_store_add(struct skill_store *store, const char *name, int from,
                              const char *title, char ret_pinned[SKILL_SIZE],
                              struct skill_tree *ret_tree, bool *ret_is_new);

/* NAME, NAME@HASH, or NAME@ and the first digits of a hash, SKILL_DIGITS_LEAST of them at least? */
#define SKILL_DIGITS_LEAST 4u
bool skill_store_names(const char *text);

/**
 * skill_store_find() - Which version the first digits of a hash mean
 * @text:      skill_store_names()
 * @ret_found: NAME@HASH; of a NAME, or of a whole hash, the same
 *
 * Return: CTL_OK; CTL_NO if it is none or more than one, and it was said.
 */
enum ctl_exit skill_store_find(const struct skill_store *store, const char *text,
                               char ret_found[SKILL_SIZE]);

/* What NAME stands for, or "" if it stands for nothing. */
void skill_store_newest(const struct skill_store *store, const char *name,
                        char ret_pinned[SKILL_SIZE]);

/**
 * skill_store_each() - Visit the versions, in the order of their names
 * @text: NAME or NAME@HASH: these alone; NULL: all
 * @fn:   Called with the open directory; what it returns that is not CTL_OK ends the visit
 *
 * Return: CTL_OK, CTL_NO if there is none that @text means (and it was said), or what @fn returned.
 */
enum ctl_exit skill_store_each(const struct skill_store *store, const char *text,
                               enum ctl_exit (*fn)(void *arg, const char *pinned, int dir),
                               void *arg);

/**
 * skill_store_del() - Take a version away
 *
 * The newest one goes last: NAME would stand for nothing while there are others.
 *
 * Return: CTL_OK, or it has been said why not.
 */
enum ctl_exit skill_store_del(struct skill_store *store, const char *pinned);

#endif
