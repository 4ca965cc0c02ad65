/* SPDX-License-Identifier: ISC */
/* import.h - POST /v1/imports: many people at once, all or none. */
#ifndef ATELIER_CTL_IMPORT_H
#define ATELIER_CTL_IMPORT_H

#include "ctl/answer.h"
#include "ctl/roster.h"

/**
 * import_read() - Read a CSV file
 * @file:       Path, or "-" for standard input
 * @groups:     Groups for everybody, or NULL; borrowed
 * @ret_roster: roster_done(), whatever is returned
 *
 * Return: CTL_OK, or the exit code; every line that is wrong has been named.
 */
enum ctl_exit import_read(const struct options *opt, const char *file, const json_t *groups,
                          struct roster *ret_roster);

/**
 * import_post() - Ask for all of them
 * @file:       Where they come from, for the sentence of a refusal; NULL: from the command line
 * @is_dry_run: Change nothing
 * @ret_answer: Its "users" has as many members as @roster
 *
 * Return: CTL_OK, or the exit code, and it has been said whom and what the refusal is about.
 */
enum ctl_exit import_post(const struct options *opt, const char *file, const struct roster *roster,
                          bool is_dry_run, struct answer *ret_answer);

/* What a dry run says. */
enum ctl_exit import_print(const struct options *opt, const struct answer *a);

#endif
