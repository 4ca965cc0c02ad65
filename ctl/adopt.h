/* SPDX-License-Identifier: ISC */
/* adopt.h - the steps of `atelier adopt`, each of which can be taken again. */
#ifndef ATELIER_CTL_ADOPT_H
#define ATELIER_CTL_ADOPT_H

#include "ctl/adopt_account.h"
#include "ctl/adopt_record.h"
#include "ctl/answer.h"

struct adopt_args {
    struct options *opt;
    const char *name;
    bool is_new_uid, is_keep_home, is_dry_run, is_no_scan, is_yes;
};

/* Arguments of `adopt`. As user_add_parse(). Return: 0 or -EINVAL. */
int adopt_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                     struct adopt_args *ret_args);

struct adoption {
    const struct adopt_args *args;
    struct adopt_record record;
    struct account account; /* without a name: it is gone from /etc/passwd already */
    bool is_begun;          /* there was a record when we came */
    json_t *report;         /* what is printed at the end */
};

/* Look at everything, change nothing. Return: CTL_OK, or it has been said what speaks against it.
 */
enum ctl_exit adopt_look(struct adoption *x);

/* The registry's row; its UID is in the record afterwards. */
enum ctl_exit adopt_register(struct adoption *x);

/* The line of /etc/passwd goes, and with it the ones in shadow, group and subuid. */
enum ctl_exit adopt_forget(struct adoption *x);

/* Move the home, and give away what the old UID had. */
enum ctl_exit adopt_home(struct adoption *x);

#endif
