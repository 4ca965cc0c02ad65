/* SPDX-License-Identifier: ISC */
/* group.h - groups, as the other files of registry/ see them. */
#ifndef ATELIER_GROUP_H
#define ATELIER_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "registry/registry.h"

/* Is the name free for a group? Return: 0, -EEXIST, or a negative errno. */
int group_name_check(struct registry *reg, const char *name, registry_taken_fn taken, void *arg);

/* Insert the rows of a group, inside an open change. Return: 0 or a negative errno. */
int group_insert(struct registry *reg, uint32_t gid, const char *name);
/* The same for a gid and a name that are noted as used already. */
int group_row_insert(struct registry *reg, uint32_t gid, const char *name);

/* Make @uid a member, inside an open change. Return: 1, 0 if they were, or a negative errno. */
int group_member_add(struct registry *reg, uint32_t gid, uint32_t uid);

/* And no member any more. Return: 1, 0 if they were none, or a negative errno. */
int group_member_remove(struct registry *reg, uint32_t gid, uint32_t uid);

/* Is @uid in more than USER_GROUPS_MAX and GROUP_ALL_USERS? Return: 0 or a negative errno. */
int group_limit_check(struct registry *reg, uint32_t uid, bool *ret_is_too_many);

/* Is @uid a member, and not deleted? Return: 0 or a negative errno. */
int group_has_member(struct registry *reg, uint32_t gid, uint32_t uid, bool *ret_has);

/* Return: 0, -ENOENT, or a negative errno. */
int group_by_gid(struct registry *reg, uint32_t gid, struct group *ret_group);

struct stmt;

/**
 * group_rows_read() - Read the rows of a statement that gives gid and name
 * @st:  Bound, not stepped yet
 * @max: Room in @ret_groups
 *
 * Return: 0, -E2BIG if there are more than @max, or a negative errno.
 */
int group_rows_read(struct stmt *st, struct group *ret_groups, size_t max, size_t *ret_n);

#endif
