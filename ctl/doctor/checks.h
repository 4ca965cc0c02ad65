/* SPDX-License-Identifier: ISC */
/* checks.h - the checks of checks.def, as functions and as a table. */
#ifndef ATELIER_CTL_DOCTOR_CHECKS_H
#define ATELIER_CTL_DOCTOR_CHECKS_H

#include "ctl/doctor/report.h"

#define CHECK_DECLARE(id, text, group, is_short, what, mend, look)                                 \
    void look(struct doctor *d, struct doctor_line *l);
#define X CHECK_DECLARE
#include "ctl/doctor/checks.def"
#undef X
#undef CHECK_DECLARE

/* In the order of the report. */
extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;

#endif
