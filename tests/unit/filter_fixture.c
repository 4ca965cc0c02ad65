/* SPDX-License-Identifier: ISC */
/* filter_fixture.c - both compiled filters, asked without the kernel, and the rows of the table. */
#include "tests/unit/filter_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tests/unit/bpf_eval.h"

#include "common/banned.h"

struct program {
    struct sock_filter *insns;
    size_t count;
};

static struct program programs[2];

int filter_programs_build(void **state)
{
    (void)state;
    for (unsigned int p = 0; p < 2; p++) {
        if (filter_build((enum filter_profile)p, &programs[p].insns, &programs[p].count) < 0)
            return -1;
    }
    return 0;
}

int filter_programs_free(void **state)
{
    (void)state;
    for (size_t p = 0; p < 2; p++)
        free(programs[p].insns);
    return 0;
}

int filter_answer(enum filter_profile p, const struct seccomp_data *d)
{
    uint32_t action = bpf_eval(programs[p].insns, programs[p].count, d);

    if (action == SECCOMP_RET_ALLOW)
        return 0;
    assert_int_equal(action & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
    return action & SECCOMP_RET_DATA ? (int)(action & SECCOMP_RET_DATA) : PRETENDED;
}

bool filter_cmp_holds(const struct filter_cmp *c, uint64_t value)
{
    uint64_t v = value & c->mask;

    return c->is_nonzero ? v != 0 : v >= c->first && v <= c->last;
}

bool filter_row_applies(const struct filter_rule *r, enum filter_profile p,
                        const struct seccomp_data *d)
{
    if (!(r->profiles & FILTER_IN(p)) || d->nr < r->nr_first || d->nr > r->nr_last)
        return false;
    for (size_t i = 0; i < r->cmp_count; i++) {
        if (!filter_cmp_holds(&r->cmp[i], d->args[r->cmp[i].arg]))
            return false;
    }
    return true;
}

int filter_row_answer(const struct filter_rule *r)
{
    return r->error ? r->error : PRETENDED;
}
