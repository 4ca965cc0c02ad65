/* SPDX-License-Identifier: ISC */
/* verdict.h - what the registry says no to, as the error of a field. */
#ifndef ATELIER_API_VERDICT_H
#define ATELIER_API_VERDICT_H

#include "registry/registry.h"
#include "sessiond/api/error.h"

/**
 * verdict_of_user() - Why a user was not made
 * @prefix:     Of the field: "", or "users[3]."
 * @groups_key: How the member with the groups is called: "group" or "groups"
 *
 * Return: 0 for USER_CREATED and USER_EXISTED, else -EINVAL with *e filled.
 */
int verdict_of_user(enum user_verdict verdict, const char *prefix, const char *groups_key,
                    struct error *e);

/**
 * verdict_of_change() - Why a user was not changed
 * @groups_key: How the member with the groups is called
 * @group:      Which group it is about, or NULL
 *
 * Return: 0 for USER_CHANGED, else -EINVAL with *e filled.
 */
int verdict_of_change(enum user_change_verdict verdict, const char *groups_key, const char *group,
                      struct error *e);

#endif
