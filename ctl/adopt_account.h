/* SPDX-License-Identifier: ISC */
/* adopt_account.h - the local account that is to become a user: what it is, and what speaks
 * against. */
#ifndef ATELIER_CTL_ADOPT_ACCOUNT_H
#define ATELIER_CTL_ADOPT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/setup/text.h"

/* A line of passwd(5). Strings are heap. */
struct account {
    char *name, *gecos, *home, *shell;
    uint32_t uid, gid;
};

void account_done(struct account *a);
#define cleanup_account __attribute__((cleanup(account_done)))

/**
 * account_get() - Find a line by its name
 * @passwd: Text of /etc/passwd
 * @ret:    account_done()
 *
 * Return: 0, -ENOENT, or -EINVAL for a line that cannot be read.
 */
int account_get(const struct text *passwd, const char *name, struct account *ret);

/**
 * account_judge() - Why an account cannot become a user, from passwd(5) and group(5) alone
 *
 * Return: a sentence with what to do, heap; NULL if nothing speaks against it.
 */
char *account_judge(const struct account *a, const struct text *passwd, const struct text *group);

/* Whether a shell is worth taking along: one of @shells (shells(5)) that no account gets unasked.
 */
bool shell_is_chosen(const struct text *shells, const char *shell);

#endif
