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
    char *home;             /* where the home is by now; heap, set by adopt_home_secure() */
    size_t file_count;      /* of files elsewhere */
    bool is_done;           /* all but the search elsewhere */
    bool is_home_left;      /* it could not be moved, and that has been said */
};

/* Look at everything, change nothing. Return: CTL_OK, or it has been said what speaks against it.
 */
enum ctl_exit adopt_look(struct adoption *x);

/* The registry's row; its UID is in the record afterwards. */
enum ctl_exit adopt_register(struct adoption *x);

/* Move the home, or close it where it is: from adopt_forget() on its UID can be anybody's. */
enum ctl_exit adopt_home_secure(struct adoption *x);

/* The line of /etc/passwd goes, and with it the ones in shadow, group and subuid. */
enum ctl_exit adopt_forget(struct adoption *x);

/* Give away what the old UID had in the home. */
enum ctl_exit adopt_home(struct adoption *x);

/* What else the old UID owns on this host, for whoever gets it next: into the report. The last
 * step, and a long one; it changes nothing. */
#define ADOPT_FILES_SHOWN 20
void adopt_elsewhere(struct adoption *x);

#endif
