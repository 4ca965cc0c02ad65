/* SPDX-License-Identifier: ISC */
/* checks.c - the table of checks. */
#include "ctl/doctor/checks.h"

#include "common/banned.h"

const struct doctor_check doctor_checks[] = {
#define CHECK_ROW(id, text, group, is_short, what, mend, look)                                     \
    {text, DOCTOR_GROUP_##group, (is_short) != 0, what, mend, look},
#define X CHECK_ROW
#include "ctl/doctor/checks.def"
#undef X
#undef CHECK_ROW
};

const size_t doctor_check_count = sizeof(doctor_checks) / sizeof(doctor_checks[0]);
