/* SPDX-License-Identifier: ISC */
/* named.h - a request about one user or group: its name is checked, and said when it is refused. */
#ifndef ATELIER_CTL_NAMED_H
#define ATELIER_CTL_NAMED_H

#include <stdbool.h>

#include "ctl/answer.h"

enum named {
    NAMED_USER,
    NAMED_GROUP,
};

/* Return: whether it could be a name; if not, it has been said why not. */
bool named_check(enum named kind, const char *name);

/**
 * named_fetch() - Ask about a name
 * @method:     HTTP method; the path is /v1/users/NAME or /v1/groups/NAME
 * @body:       Object to send, or NULL; borrowed
 * @ret_answer: Set, whatever it says, if the return is CTL_OK
 *
 * Return: CTL_OK if there is an answer; else it has been said why not.
 */
enum ctl_exit named_fetch(const struct options *opt, const char *method, enum named kind,
                          const char *name, const json_t *body, struct answer *ret_answer);

/**
 * named_judge() - Say what the error is if the answer is one, with the name before it
 *
 * With --json the error object is printed, too; a success is not.
 *
 * Return: CTL_OK for a success; else the exit code.
 */
enum ctl_exit named_judge(const struct options *opt, enum named kind, const char *name,
                          const struct answer *a);

/* named_fetch() and named_judge(). With --json a success is printed, too. */
enum ctl_exit named_get(const struct options *opt, const char *method, enum named kind,
                        const char *name, const json_t *body, struct answer *ret_answer);

#endif
