/* SPDX-License-Identifier: ISC */
/* roster.h - the people of an invitation: from addresses or a CSV file to POST /v1/imports. */
#ifndef ATELIER_CTL_ROSTER_H
#define ATELIER_CTL_ROSTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/csv.h"

#define ROSTER_MAX 5000u /* the API takes no more at once */

struct roster {
    json_t *users; /* array, as the API takes it */
    size_t *lines; /* of each in the file; NULL without a file */
};

/* As sessiond-api sees it: RFC 5322's atext and dots, '@', and a domain of letters and digits. */
bool email_is_valid(const char *email);

/**
 * roster_of_csv() - People from a CSV file with the columns email, name, group, expiry
 * @bytes:      Of the file; borrowed
 * @groups:     Groups for everybody, array of names; NULL for none; borrowed
 * @now_s:      Unix seconds
 * @errors:     Gets what is wrong, in the order of the lines
 * @ret_roster: roster_done(); to be used only if there is no error
 */
void roster_of_csv(const char *bytes, size_t size, const json_t *groups, int64_t now_s,
                   struct csv_errors *errors, struct roster *ret_roster);

/* The same from addresses that have been checked. */
void roster_of_emails(char *const *emails, size_t n, const json_t *groups,
                      struct roster *ret_roster);

void roster_done(struct roster *roster);

/**
 * roster_field() - Whom a refusal is about
 * @field:     As "users[3].email", or "users[3]"
 * @count:     How many people there are
 * @ret_i:     Index
 * @ret_field: "email", or "" for the whole person; borrowed from @field
 *
 * Return: whether it is about one of them.
 */
bool roster_field(const char *field, size_t count, size_t *ret_i, const char **ret_field);

#endif
