/* SPDX-License-Identifier: ISC */
/*
 * syscalls_page.c - atelier-syscalls(7), from the table. Run by make, never installed.
 *
 * In mdoc words of a line that begins with a macro may be macros themselves, so what the table says
 * in its own words is on lines of its own. tests/unit/test_filter_rows.c keeps characters out of
 * the table that mean something there.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/filter.h"

#include "common/banned.h"

#define ROWS_MAX 1024

static const char head[] =
    ".\\\" SPDX-License-Identifier: ISC\n"
    ".\\\" Made from policy/syscalls.def; do not edit.\n"
    ".Dd November 30, 2026\n"
    ".Dt ATELIER-SYSCALLS 7\n"
    ".Os\n"
    ".Sh NAME\n"
    ".Nm atelier-syscalls\n"
    ".Nd system calls that runs and sessions do not get\n"
    ".Sh DESCRIPTION\n"
    "Every process of a run or session of\n"
    ".Xr sessiond 8\n"
    "has a filter of\n"
    ".Xr seccomp 2 ,\n"
    "and so has everything that it starts.\n"
    "The filter ends no process: a call that it refuses fails with the error that is given here.\n"
    "Where that is\n"
    ".Sy success ,\n"
    "the call returns 0 and does nothing.\n"
    "What is not listed is allowed, as far as the kernel allows it to a user without any\n"
    "capability.\n"
    ".Pp\n"
    "Conditions on arguments look at the low 32 bits, as the kernel does, except where one is a\n"
    "pointer.\n"
    "Where several rows apply to a call it is refused with the error of one of them.\n"
    ".Pp\n"
    "Calls by another entry than the native one of this architecture, such as those of i386 and "
    "x32\n"
    "on x86_64, all fail with\n"
    ".Er ENOSYS .\n"
    ".Pp\n"
    "In brackets after the reason stands where more about it is to be found: a manual page, a "
    "file\n"
    "of the kernel, or an id of\n"
    ".Pa doc/threats.md\n"
    "in the source of atelier, such as N17.\n"
    ".Pp\n"
    "The lists were made for the architecture that this page was built on.\n";

static const char tail[] = ".Sh EXAMPLES\n"
                           "The same in one line for each row, for\n"
                           ".Xr grep 1 :\n"
                           ".Pp\n"
                           ".Dl $ /usr/lib/atelier/sessiond --show-filter=run | grep '^socket'\n"
                           ".Sh SEE ALSO\n"
                           ".Xr seccomp 2 ,\n"
                           ".Xr syscalls 2 ,\n"
                           ".Xr atelier.conf 5 ,\n"
                           ".Xr capabilities 7 ,\n"
                           ".Xr sessiond 8\n"
                           ".Sh SECURITY CONSIDERATIONS\n"
                           "A list of what is refused is not a proof that the rest is harmless: a "
                           "call that is new in the\n"
                           "kernel may do what an old one was refused for.\n"
                           "Therefore numbers that nobody has looked at yet are refused.\n";

static const struct section {
    unsigned int profiles;
    const char *title;
} sections[] = {
    {FILTER_IN(FILTER_RUN) | FILTER_IN(FILTER_LOGIN), "Refused in runs and sessions"},
    {FILTER_IN(FILTER_RUN), "Refused in runs alone"},
    {FILTER_IN(FILTER_LOGIN), "Refused in sessions alone"},
};

/* By name, those of one name as they stand in the table; numbers last. */
static int row_compare(const void *a, const void *b)
{
    const struct filter_rule *x = *(const struct filter_rule *const *)a;
    const struct filter_rule *y = *(const struct filter_rule *const *)b;
    bool x_is_range = x->nr_first != x->nr_last, y_is_range = y->nr_first != y->nr_last;
    int order;

    if (x_is_range != y_is_range)
        return x_is_range ? 1 : -1;
    if (x_is_range)
        return (x->nr_first > y->nr_first) - (x->nr_first < y->nr_first);
    order = strcmp(x->name, y->name);
    return order ? order : (x > y) - (x < y);
}

static int row_put(const struct filter_rule *r)
{
    if (r->nr_first == r->nr_last)
        (void)printf(".It Fn %s", r->name);
    else
        (void)printf(".It Numbers %d to %d", r->nr_first, r->nr_last);
    if (r->cmp_count > 0) {
        (void)printf(" No if ");
        if (filter_when_put(r, stdout) < 0)
            return -1;
    }
    (void)printf("\n.%s %s :\n%s\n(%s)\n", r->error ? "Er" : "Sy", filter_error_name(r), r->reason,
                 r->source);
    return 0;
}

static int section_put(const struct section *s)
{
    const struct filter_rule *rows[ROWS_MAX], *r;
    size_t count = 0;

    for (size_t i = 0; (r = filter_rule_get(i)); i++) {
        if (r->profiles != s->profiles || r->nr_first < 0)
            continue;
        if (count == ROWS_MAX)
            return -1;
        rows[count++] = r;
    }
    if (count == 0)
        return 0;
    qsort(rows, count, sizeof(rows[0]), row_compare);
    (void)printf(".Ss %s\n.Bl -tag -width Ds -compact\n", s->title);
    for (size_t i = 0; i < count; i++) {
        if (row_put(rows[i]) < 0)
            return -1;
    }
    (void)printf(".El\n");
    return 0;
}

int main(void)
{
    (void)fputs(head, stdout);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (section_put(&sections[i]) < 0)
            return EXIT_FAILURE;
    }
    (void)fputs(tail, stdout);
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
