/* SPDX-License-Identifier: ISC */
/* accounts.h - lines of passwd(5), group(5) and subuid(5): who has which id. Text only, no NSS. */
#ifndef ATELIER_CTL_SETUP_ACCOUNTS_H
#define ATELIER_CTL_SETUP_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/setup/complaint.h"
#include "ctl/setup/text.h"

enum accounts_file {
    ACCOUNTS_PASSWD, /* uid and gid of each line */
    ACCOUNTS_GROUP,
    ACCOUNTS_SUBIDS, /* first id and count */
};

/**
 * accounts_in_range() - The next line that has an id of a range
 * @line:    Where to go on; begin with all zero
 * @ret_why: What it is
 *
 * Lines that cannot be read ("+" of NIS, comments) have no id.
 *
 * Return: false if there is none any more.
 */
bool accounts_in_range(const struct text *file, enum accounts_file kind, uint32_t first,
                       uint32_t last, struct line *line, struct complaint *ret_why);

/**
 * account_find() - The line of a name in passwd or group
 * @ret_id:   uid or gid
 * @ret_line: May be NULL
 *
 * Return: 0, -ENOENT, or -EINVAL for a line whose number cannot be read.
 */
int account_find(const struct text *file, const char *name, uint32_t *ret_id,
                 struct line *ret_line);

/* Whether the only difference is added lines of these names; NULL at the end. */
bool accounts_only_added(const struct text *before, const struct text *after,
                         const char *const *names);

/* A field of a line with colons, from 0. Return: false if the line has fewer. */
bool account_field(const struct line *line, size_t n, const char **ret_start, size_t *ret_size);

#endif
