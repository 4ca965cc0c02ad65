/* SPDX-License-Identifier: ISC */
/*
 * group.h - control groups for the programs of tests/kernel.
 *
 * Groups are the one thing that these programs make outside of namespaces. They are children of the
 * root of the version 2 tree, or in version 1 of the group that the program is in; nothing is
 * written to another group, and no process moves but those that a behaviour started. groups_clean()
 * removes them, by a name that has the pid of the program in it.
 *
 * A controller is used where it is: in version 2 if the root gives it to its children, as under
 * systemd, else in version 1.
 */
#ifndef ATELIER_GROUP_H
#define ATELIER_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

struct group {
    char path[600];
    int version;
};

/* Thaw and remove all groups of this program; who was in them has just been killed. */
void groups_clean(void);
/* A new group with this controller, or, with NULL, of version 2 whatever its controllers. Return:
 * false if there is no place for one. */
bool group_make(const char *controller, struct group *ret);
/* A group in it, with what controllers it gives away. */
void group_below(const struct group *g, struct group *ret);
/* The path of a file of it; overwritten by the next call. */
const char *group_file(const struct group *g, const char *file);
/* Write one word to a file that is there. Return: 0 or the errno. */
int group_write(const struct group *g, const char *file, const char *text);
/* A number to the file of version 1 or 2, which must be there. */
void group_limit(const struct group *g, const char *file1, const char *file2, unsigned long value);
/* The calling process moves into it. Return: 0 or the errno. */
int group_join(const struct group *g);
/* The number in a file, or in its line "NAME NUMBER". */
unsigned long group_number(const struct group *g, const char *file, const char *name);
/* Is the process in it? */
bool group_has(const struct group *g, pid_t pid);

#endif
