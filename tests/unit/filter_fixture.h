/* SPDX-License-Identifier: ISC */
/* filter_fixture.h - both compiled filters, asked without the kernel, and the rows of the table. */
#ifndef ATELIER_TEST_FILTER_FIXTURE_H
#define ATELIER_TEST_FILTER_FIXTURE_H

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>

#include "policy/filter.h"

#if defined(__x86_64__)
#define ARCH_NATIVE AUDIT_ARCH_X86_64
#else
#define ARCH_NATIVE AUDIT_ARCH_AARCH64
#endif
#define X32_BIT  0x40000000
#define HIGH_BIT (1ull << 32)

/* What a call that succeeds without effect is answered with. */
#define PRETENDED (-1)

/* cmocka's group fixtures. */
int filter_programs_build(void **state);
int filter_programs_free(void **state);

/* 0: allowed; else the errno, or PRETENDED. Any other verdict (kill, trap ...) fails the test. */
int filter_answer(enum filter_profile p, const struct seccomp_data *d);

/* The table's own view, without libseccomp. */
bool filter_cmp_holds(const struct filter_cmp *c, uint64_t value);
bool filter_row_applies(const struct filter_rule *r, enum filter_profile p,
                        const struct seccomp_data *d);

/* What filter_answer() is to say where @r applies. */
int filter_row_answer(const struct filter_rule *r);

#endif
