/* SPDX-License-Identifier: ISC */
/* user_view.h - what the handlers of users, groups and the index share. */
#ifndef ATELIER_API_USER_VIEW_H
#define ATELIER_API_USER_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "registry/registry.h"
#include "sessiond/api/http.h"

/* Rows are collected first: the registry is not asked anything else while it lists. */
struct user_rows {
    struct user *users; /* heap, the caller's to free */
    size_t n, size;
};

/* A user_fn; @arg: struct user_rows. */
int user_rows_add(void *arg, const struct user *user);

/* Find the user that the path names. False: answered. */
bool user_find_named(struct request *rq, struct user *ret_user);

/* The admin's view of a user, with groups and external ids; NULL if it could not be found out. */
json_t *user_view(struct registry *reg, const struct user *user);

/* Answer 200 with it, or 500. */
void user_answer_view(struct request *rq, const struct user *user);

/* Is this one of the host's login shells, or ""? False: answered. */
bool user_shell_is_good(struct request *rq, const char *shell);

#endif
