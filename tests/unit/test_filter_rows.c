/* SPDX-License-Identifier: ISC */
/*
 * test_filter_rows.c - calls made from the table, for each of its rows. A row that is added to
 * syscalls.def is tested here without a line of code: in each of its profiles, for each of its
 * numbers and values, there is a call that this row alone refuses, with exactly its errno; for each
 * of its conditions there is a call in which only that one does not hold, and it is allowed. All of
 * that again with rubbish in the high halves, and by the other entries of the kernel.
 */
#include "policy/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/filter_fixture.h"

#include "common/banned.h"

/* Counted by the preprocessor, so that a row which filter_rule_get() does not give is missed. */
#define CALL(who, call, cond, err, why, from)             +1
#define NUMBER(who, call, from_nr, to_nr, err, why, from) +1
enum {
    ROWS = 0
#include "policy/syscalls.def"
};
#undef CALL
#undef NUMBER

#define ARGS       3 /* no condition is about a later one; row_prepare() fails if that changes */
#define VALUES_MAX 16

/* Candidates for one argument. */
struct choice {
    uint64_t values[VALUES_MAX];
    size_t count;
};

static const enum filter_profile profiles[] = {FILTER_RUN, FILTER_LOGIN};

static size_t rows_that_apply(enum filter_profile p, const struct seccomp_data *d)
{
    const struct filter_rule *r;
    size_t n = 0;

    for (size_t i = 0; (r = filter_rule_get(i)); i++)
        n += filter_row_applies(r, p, d);
    return n;
}

static void choice_add(struct choice *c, uint64_t value)
{
    assert_true(c->count < VALUES_MAX);
    c->values[c->count++] = value;
}

/* What an argument is where a row does not care, and where a condition is not to hold. */
static void choice_any(struct choice *c, const struct filter_cmp *unless)
{
    static const uint64_t common[] = {0, 1, 2, 4, 6, 10, 16, 17, 41};

    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
        if (!unless || !filter_cmp_holds(unless, common[i]))
            choice_add(c, common[i]);
    }
}

/* The first call of the candidates that @rows rows apply to. */
static bool call_find(enum filter_profile p, int nr, const struct choice choices[ARGS], size_t rows,
                      struct seccomp_data *ret_d)
{
    struct seccomp_data d = {.nr = nr, .arch = ARCH_NATIVE};

    for (size_t i = 0; i < choices[0].count; i++) {
        d.args[0] = choices[0].values[i];
        for (size_t j = 0; j < choices[1].count; j++) {
            d.args[1] = choices[1].values[j];
            for (size_t k = 0; k < choices[2].count; k++) {
                d.args[2] = choices[2].values[k];
                if (rows_that_apply(p, &d) != rows)
                    continue;
                *ret_d = d;
                return true;
            }
        }
    }
    return false;
}

static void expect(const struct filter_rule *r, enum filter_profile p, const struct seccomp_data *d,
                   int want, const char *how)
{
    int got = filter_answer(p, d);

    if (got != want)
        fail_msg("%s, profile %d, number %#x(%#llx, %#llx, %#llx), %s: errno %d instead of %d",
                 r->name, p, (unsigned)d->nr, (unsigned long long)d->args[0],
                 (unsigned long long)d->args[1], (unsigned long long)d->args[2], how, got, want);
}

/* A pointer that is NULL has no high half to be changed. */
static bool arg_is_pointer(const struct filter_rule *r, unsigned int arg)
{
    for (size_t i = 0; i < r->cmp_count; i++) {
        if (r->cmp[i].arg == arg && r->cmp[i].is_nonzero)
            return true;
    }
    return false;
}

static void expect_with_any_high_half(const struct filter_rule *r, enum filter_profile p,
                                      const struct seccomp_data *d, int want, const char *how)
{
    static const uint64_t rubbish[] = {0, HIGH_BIT, 1ull << 63, 0xdeadbeefull << 32, ~0ull << 32};

    for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
        struct seccomp_data high = *d;

        for (unsigned int a = 0; a < 6; a++) {
            if (!arg_is_pointer(r, a))
                high.args[a] |= rubbish[i];
        }
        expect(r, p, &high, want, how);
    }
}

/* By the entries of i386 and x32, with the native number and with their own. */
static void expect_enosys_elsewhere(const struct filter_rule *r, enum filter_profile p,
                                    const struct seccomp_data *native)
{
    struct seccomp_data d = *native;
#ifdef __x86_64__
    int own;

    d.arch = AUDIT_ARCH_I386;
    expect(r, p, &d, ENOSYS, "i386 with the native number");
    own = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86, r->name);
    if (own >= 0) {
        d.nr = own;
        expect(r, p, &d, ENOSYS, "i386");
    }
    d.arch = ARCH_NATIVE;
    d.nr = native->nr | X32_BIT;
    expect(r, p, &d, ENOSYS, "x32 with the native number");
    own = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X32, r->name);
    if (own >= 0) {
        d.nr = own;
        expect(r, p, &d, ENOSYS, "x32");
    }
#else
    d.arch = AUDIT_ARCH_ARM;
    expect(r, p, &d, ENOSYS, "arm");
#endif
}

/* Candidates for a call that fits the row, with these values; the condition @but does not hold. */
static void row_prepare(const struct filter_rule *r, const uint64_t values[FILTER_CMP_MAX],
                        size_t but, struct choice ret_choices[ARGS])
{
    for (size_t a = 0; a < ARGS; a++)
        ret_choices[a].count = 0;
    for (size_t i = 0; i < r->cmp_count; i++) {
        const struct filter_cmp *c = &r->cmp[i];

        assert_true(c->arg < ARGS);
        if (i != but) {
            choice_add(&ret_choices[c->arg], values[i]);
            continue;
        }
        /* The neighbours first: a condition may be wider than it says. */
        if (!c->is_nonzero && c->mask == UINT32_MAX) {
            if (c->first > 0)
                choice_add(&ret_choices[c->arg], c->first - 1);
            choice_add(&ret_choices[c->arg], c->last + 1ull);
        }
        choice_any(&ret_choices[c->arg], c);
    }
    for (size_t a = 0; a < ARGS; a++) {
        if (ret_choices[a].count == 0)
            choice_any(&ret_choices[a], NULL);
    }
}

static void row_is_refused(const struct filter_rule *r, enum filter_profile p, int nr,
                           const uint64_t values[FILTER_CMP_MAX])
{
    struct choice choices[ARGS];
    struct seccomp_data d;

    row_prepare(r, values, SIZE_MAX, choices);
    if (!call_find(p, nr, choices, 1, &d) || !filter_row_applies(r, p, &d))
        fail_msg("%s, profile %d: no call is refused by this row alone: %s", r->name, p, r->reason);
    expect_with_any_high_half(r, p, &d, filter_row_answer(r), "refused");
    expect_enosys_elsewhere(r, p, &d);
}

static void row_is_the_reason(const struct filter_rule *r, enum filter_profile p, int nr,
                              const uint64_t values[FILTER_CMP_MAX])
{
    struct choice choices[ARGS];
    struct seccomp_data d;

    for (size_t i = 0; i < r->cmp_count; i++) {
        row_prepare(r, values, i, choices);
        if (!call_find(p, nr, choices, 0, &d))
            fail_msg("%s, profile %d: nothing is allowed beside condition %zu: %s", r->name, p, i,
                     r->reason);
        expect_with_any_high_half(r, p, &d, 0, "beside the condition");
    }
}

/* Every number and every value of a row. */
static void row_test(const struct filter_rule *r, enum filter_profile p)
{
    const struct filter_cmp none = {.is_nonzero = true};
    const struct filter_cmp *a = r->cmp_count > 0 ? &r->cmp[0] : &none;
    const struct filter_cmp *b = r->cmp_count > 1 ? &r->cmp[1] : &none;

    for (int nr = r->nr_first; nr <= r->nr_last; nr++) {
        for (uint32_t x = a->first; x <= a->last; x++) {
            for (uint32_t y = b->first; y <= b->last; y++) {
                uint64_t values[FILTER_CMP_MAX] = {a->is_nonzero ? 0x7ffc12345678 : x,
                                                   b->is_nonzero ? 0x7ffc12345678 : y};

                row_is_refused(r, p, nr, values);
                row_is_the_reason(r, p, nr, values);
            }
        }
    }
}

static void each_row_refuses_what_it_says_and_nothing_beside_it(void **state)
{
    const struct filter_rule *r;
    size_t rows = 0, absent = 0, controls = 0;

    (void)state;
    for (; (r = filter_rule_get(rows)); rows++) {
        absent += r->nr_first < 0;
        for (size_t p = 0; p < 2; p++) {
            struct seccomp_data d = {.nr = r->nr_first, .arch = ARCH_NATIVE};

            if (r->nr_first < 0)
                continue;
            if (r->profiles & FILTER_IN(profiles[p])) {
                row_test(r, profiles[p]);
                controls += r->cmp_count > 0;
            } else if (r->cmp_count == 0 && rows_that_apply(profiles[p], &d) == 0) {
                /* The other profile is the positive control. */
                expect_with_any_high_half(r, profiles[p], &d, 0, "in the other profile");
                controls++;
            }
        }
    }
    print_message("%zu rows, %zu of calls that are not on this architecture; %zu with controls\n",
                  rows, absent, controls);
    assert_int_equal(rows, ROWS);
#ifdef __x86_64__
    /* stime. Another one would be a misspelt name, or a row that does nothing. */
    assert_int_equal(absent, 1);
#endif
}

static void each_row_can_be_said_in_words(void **state)
{
    const struct filter_rule *r;

    (void)state;
    for (size_t i = 0; (r = filter_rule_get(i)); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);

        assert_non_null(to);
        if (filter_when_put(r, to) < 0)
            fail_msg("%s: filter_show.c has no name for an argument", r->name);
        assert_int_equal(fclose(to), 0);
        assert_true(size > 0);
        assert_non_null(filter_error_name(r));
        /* What means something to mdoc(7), or to who reads filter_show() by tabs. */
        assert_null(strpbrk(r->name, "\\\"\t\n "));
        assert_null(strpbrk(r->reason, "\\\"\t\n"));
        assert_null(strpbrk(r->source, "\\\"\t\n"));
        assert_null(strchr(".'", r->reason[0]));
        free(text);
    }
}

static void conditions_are_said_as_they_are(void **state)
{
    static const struct {
        struct filter_rule rule;
        const char *text;
    } cases[] = {
        {{.name = "mount"}, "always"},
        {{.name = "socket", .cmp_count = 1, .cmp = {{0, UINT32_MAX, 3, 9, false}}},
         "family is 3 to 9"},
        {{.name = "socket",
          .cmp_count = 2,
          .cmp = {{0, UINT32_MAX, 2, 2, false}, {1, 0xf, 3, 3, false}}},
         "family is 2 and type & 0xf is 3"},
        {{.name = "clone", .cmp_count = 1, .cmp = {{0, 0x20000, 0x20000, 0x20000, false}}},
         "flags has the bits 0x20000"},
        {{.name = "ioctl", .cmp_count = 1, .cmp = {{1, UINT32_MAX, 0x5412, 0x5412, false}}},
         "request is 0x5412"},
        {{.name = "prlimit64", .cmp_count = 1, .cmp = {{2, UINT64_MAX, 0, 0, true}}},
         "new_limit is not NULL"},
        {{.name = "mount", .cmp_count = 1, .cmp = {{0, UINT32_MAX, 1, 1, false}}}, NULL},
        {{.name = "clone", .cmp_count = 1, .cmp = {{5, UINT32_MAX, 1, 1, false}}}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);
        int r;

        assert_non_null(to);
        r = filter_when_put(&cases[i].rule, to);
        assert_int_equal(fclose(to), 0);
        assert_int_equal(r, cases[i].text ? 0 : -ENOENT);
        if (cases[i].text)
            assert_string_equal(text, cases[i].text);
        free(text);
    }
}

/* What is refused by its own number must not be had by that of another entry. */
static void no_number_of_another_entry_is_allowed(void **state)
{
    static const uint64_t values[] = {0, 1, 2, 16, ~0ull, HIGH_BIT};
    size_t allowed = 0;

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        for (int nr = 0; nr < 1024; nr++) {
            for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
                struct seccomp_data d = {.nr = nr, .arch = ARCH_NATIVE};

                for (size_t a = 0; a < 6; a++)
                    d.args[a] = values[v];
                /* Positive control: about as many as there are calls. */
                allowed += v == 0 && filter_answer(profiles[p], &d) == 0;
#ifdef __x86_64__
                d.nr = nr | X32_BIT;
                assert_int_equal(filter_answer(profiles[p], &d), ENOSYS);
                d.nr = nr;
                d.arch = AUDIT_ARCH_I386;
#else
                d.arch = AUDIT_ARCH_ARM;
#endif
                assert_int_equal(filter_answer(profiles[p], &d), ENOSYS);
            }
        }
    }
    assert_true(allowed > 2 * 200);
}

/* A session may do more than a run, and nothing less. */
static void what_sessions_do_not_get_runs_do_not_get(void **state)
{
    const struct filter_rule *r;

    (void)state;
    for (size_t i = 0; (r = filter_rule_get(i)); i++) {
        if (r->profiles & FILTER_IN(FILTER_LOGIN))
            assert_true(r->profiles & FILTER_IN(FILTER_RUN));
    }
}

/* --- Numbers without a name in libseccomp 2.5.4 ------------------------------------------------
 */

static const char *name_of(int nr, char buf[64])
{
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);

    if (!name)
        return NULL;
    (void)snprintf(buf, 64, "%s", name);
    free(name);
    return buf;
}

static bool is_refused(enum filter_profile p, int nr)
{
    struct seccomp_data d = {.nr = nr, .arch = ARCH_NATIVE};

    return filter_answer(p, &d) == ENOSYS;
}

/* What is open although nothing here has a name for it was looked at: see the end of the table. */
static bool is_left_open(int nr)
{
    static const struct {
        int first, last;
    } left_open[] = {
        {335, 336}, /* uretprobe, uprobe; x86_64 alone */
        {451,
         456}, /* cachestat, fchmodat2, map_shadow_stack, futex_wake, futex_wait, futex_requeue */
        {459, 466}, /* lsm_*, mseal, *xattrat */
        {468, 469}, /* file_getattr, file_setattr */
    };

    for (size_t i = 0; i < sizeof(left_open) / sizeof(left_open[0]); i++) {
        if (nr >= left_open[i].first && nr <= left_open[i].last)
            return true;
    }
    return false;
}

static void numbers_that_nobody_has_looked_at_are_refused(void **state)
{
    char name[64];

    (void)state;
#ifdef __x86_64__
    for (size_t p = 0; p < 2; p++) {
        size_t open = 0;

        /* The kernel gives no numbers from 548 on before those below 512 are used up. */
        for (int nr = 0; nr < 548; nr++) {
            if (is_left_open(nr)) {
                open += !is_refused(profiles[p], nr);
            } else if (!name_of(nr, name) && !is_refused(profiles[p], nr)) {
                fail_msg("profile %zu: number %d is open, and nobody knows what it is", p, nr);
            }
        }
        assert_int_equal(open, 2 + 6 + 8 + 2);
    }
#else
    (void)name;
    (void)is_left_open;
    (void)is_refused;
#endif
}

/* With 2.5.4 none has a name. A newer one has, and then it must be that of the table. */
static void numbers_of_the_table_are_those_of_their_names(void **state)
{
    const struct filter_rule *r;
    size_t named = 0;
    char name[64];

    (void)state;
    for (size_t i = 0; (r = filter_rule_get(i)); i++) {
        for (int nr = r->nr_first; nr >= 0 && nr <= r->nr_last; nr++) {
            if (!name_of(nr, name))
                continue;
            assert_string_equal(r->name, name);
            named++;
        }
    }
    assert_true(named > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_refuses_what_it_says_and_nothing_beside_it),
        cmocka_unit_test(each_row_can_be_said_in_words),
        cmocka_unit_test(conditions_are_said_as_they_are),
        cmocka_unit_test(no_number_of_another_entry_is_allowed),
        cmocka_unit_test(what_sessions_do_not_get_runs_do_not_get),
        cmocka_unit_test(numbers_that_nobody_has_looked_at_are_refused),
        cmocka_unit_test(numbers_of_the_table_are_those_of_their_names),
    };

    return cmocka_run_group_tests_name("filter_rows", tests, filter_programs_build,
                                       filter_programs_free);
}
