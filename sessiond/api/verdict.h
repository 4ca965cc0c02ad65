/* SPDX-License-Identifier: ISC */
/* verdict.h - what the registry says no to, as the error of a field. */
#ifndef ATELIER_API_VERDICT_H
#define ATELIER_API_VERDICT_H

#include "registry/registry.h"
#include "sessiond/api/error.h"

/**
 * verdict_of_user() - Why a user was not made
 * @reg:        Asked who has the name or number now, and which group there is not
 * @spec:       What was asked for: the sentence names the value
 * @prefix:     Of the field: "", or "users[3]."
 * @groups_key: How the member with the groups is called: "group" or "groups"
 *
 * Return: 0 for USER_CREATED and USER_EXISTED, else -EINVAL with *e filled.
 */
int verdict_of_user(struct registry *reg, enum user_verdict verdict, const struct user_spec *spec,
                    const char *prefix, const char *groups_key, struct error *e);

/**
 * verdict_of_change() - Why a user was not changed
 * @change:     What was asked for
 * @groups_key: How the member with the groups is called
 * @group:      Which group it is about, or NULL
 *
 * Return: 0 for USER_CHANGED, else -EINVAL with *e filled.
 */
int verdict_of_change(struct registry *reg, enum user_change_verdict verdict,
                      const struct user_change *change, const char *groups_key, const char *group,
                      struct error *e);

/**
 * verdict_of_group_name() - Why a group cannot be called so
 * @r: Of group_create() or group_rename()
 *
 * Return: 0 if @r is not about the name, else -EINVAL with *e filled.
 */
int verdict_of_group_name(struct registry *reg, int r, const char *name, struct error *e);

#endif
