/* SPDX-License-Identifier: ISC */
/* doctor.h - which checks are asked for, and the report of them. */
#ifndef ATELIER_CTL_DOCTOR_DOCTOR_H
#define ATELIER_CTL_DOCTOR_DOCTOR_H

#include "ctl/doctor/report.h"

struct doctor_args {
    struct options *opt;
    bool is_short, is_list, is_sweep;
    const char *const *selected; /* groups and ids, borrowed from the arguments */
    size_t selected_count;       /* 0: all */
};

/* Whether a check is among those that were asked for. */
bool doctor_is_selected(const struct doctor_args *args, const struct doctor_check *check);

/* Whether a word is a group or the id of a check. */
bool doctor_is_known(const char *word);

/**
 * doctor_examine() - Look at everything that was asked for
 * @ret: Owned by the caller
 */
void doctor_examine(const struct doctor_args *args, struct report *ret);

#endif
