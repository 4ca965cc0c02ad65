/* SPDX-License-Identifier: ISC */
/*
 * ownroot.h - a root directory of its own, for a run or session that has more than the others.
 *
 * The prepared tree is one file system that all runs and sessions see. A directory made in it, for
 * something to be mounted on, would be there for everybody. So who gets trees of the host has a
 * root of its own, in which all that is in the prepared one is mounted once more.
 */
#ifndef ATELIER_OWNROOT_H
#define ATELIER_OWNROOT_H

/**
 * ownroot_enter() - Make the root and live in it
 * @ret_what: On failure: what it is about, static
 *
 * Must: be called in the init, in its new mount namespace, before anything of the run's own is
 * mounted. The root can be written to until ownroot_seal().
 *
 * Return: 0 or a negative errno.
 */
int ownroot_enter(const char **ret_what);

/* It becomes read-only. Return: 0 or a negative errno. */
int ownroot_seal(void);

/* "/" becomes what is mounted at @dir, what was "/" is detached. Return: 0 or a negative errno. */
int root_turn(const char *dir);

#endif
