/* SPDX-License-Identifier: ISC */
/*
 * hostlist.h - hostcheck.h for thousands of names and ids at once.
 *
 * The password lock is held for a second at most, and a source of nsswitch.conf may take half a
 * millisecond for an answer. But the lock is about /etc/passwd and /etc/group alone: nothing that
 * such a source says depends on it. So the order is:
 *   1. the allocation is rehearsed with hostlist_note(), which writes down what is asked
 *   2. hostlist_ask() puts these questions to NSS, a few at a time, while everything else goes on;
 *      if something is taken, others take its place, and 1. is done again
 *   3. under the lock, hostlist_lock() reads the two files, and the allocation is done with
 *      hostlist_taken(), which puts to NSS only what has become necessary since
 */
#ifndef ATELIER_API_HOSTLIST_H
#define ATELIER_API_HOSTLIST_H

#include <stdbool.h>
#include <stdint.h>

struct hostlist;

/* Reads the files, for 1., and nsswitch.h. Return: 0 or a negative errno. */
int hostlist_new(struct hostlist **ret_list);
void hostlist_free(struct hostlist *list);

/* A registry_taken_fn; @arg: struct hostlist. Free is what the files have not, unless NSS said so.
 */
int hostlist_note(void *arg, const char *name, uint32_t id);

/**
 * hostlist_ask() - Put questions to NSS until a moment has passed
 * @until_ms: clock_mono_ms(); one is asked at any rate
 *
 * Return: 0 if all are answered, 1 if there are more, or a negative errno: could not find out.
 */
int hostlist_ask(struct hostlist *list, int64_t until_ms);

/* Was anything taken since this was asked last? Then a rehearsal comes to other names and ids. */
bool hostlist_has_news(struct hostlist *list);

/**
 * hostlist_lock() - The password lock is ours: read the files
 * @deadline_ms: clock_mono_ms(); later nothing is decided
 *
 * Return: 0 or a negative errno.
 */
int hostlist_lock(struct hostlist *list, int64_t deadline_ms);

/* A registry_taken_fn; @arg: struct hostlist. As hostcheck_taken(). */
int hostlist_taken(void *arg, const char *name, uint32_t id);

#endif
