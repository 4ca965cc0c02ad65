/* SPDX-License-Identifier: ISC */
/* test_ctl_list.c - lists at a terminal: what is cut, and where; skills by their first digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/list.h"
#include "ctl/say.h"
#include "ctl/skill_store.h"

#include "common/banned.h"

/* --- a table in a line ----------------------------------------------------------------------- */

#define AE "\xc3\xa4"

/* Two rows of three columns, printed after table_fit(). Heap. */
static char *fitted(size_t width, unsigned cut)
{
    static const char *const cells[] = {
        "alice", "alice.smith@example.org",        "a,b", /* 5, 23, 3 */
        "bob",   AE AE AE AE AE AE AE AE AE AE AE, "course-one\x1b"};
    cleanup_table struct table *t = table_new(3);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        table_add(t, cells[i]);
    table_fit(t, width, cut);
    table_print(t, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void assert_fitted(size_t width, unsigned cut, const char *want)
{
    char *text = fitted(width, cut);

    assert_string_equal(text, want);
    free(text);
}

static void what_does_not_fit_is_cut_the_widest_first(void **state)
{
    const unsigned both = LIST_CUT(1) | LIST_CUT(2);
    static const char whole[] =
        "alice  alice.smith@example.org  a,b\n"
        "bob    " AE AE AE AE AE AE AE AE AE AE AE "              course-one\\x1b\n";

    (void)state;
    assert_fitted(46, both, whole);
    assert_fitted(1, 0, whole);
    assert_fitted(45, both,
                  "alice  alice.smith@example...  a,b\n"
                  "bob    " AE AE AE AE AE AE AE AE AE AE AE "             course-one\\x1b\n");
    assert_fitted(45, LIST_CUT(2),
                  "alice  alice.smith@example.org  a,b\n"
                  "bob    " AE AE AE AE AE AE AE AE AE AE AE "              course-one...\n");
    /* No narrower than that. */
    assert_fitted(1, both, "alice  alice...  a,b\nbob    " AE AE AE AE AE "...  cours...\n");
}

/* At any width: no line is longer, unless nothing is left to cut, and what is cut is still text. */
static void every_line_fits(void **state)
{
    (void)state;
    for (size_t width = 1; width < 60; width++) {
        char *text = fitted(width, LIST_CUT(1) | LIST_CUT(2));

        for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line;) {
            size_t columns = 0;

            assert_true(text_is_utf8(line, strlen(line)));
            for (const char *c = line; *c; c++)
                columns += ((unsigned char)*c & 0xc0) != 0x80;
            assert_true(columns <= (width < 25 ? 25 : width));
        }
        free(text);
    }
}

static void a_time_is_a_day_or_a_minute(void **state)
{
    char buf[LIST_TIME_SIZE];

    (void)state;
    assert_string_equal(list_day("2026-03-01T09:30:00Z", buf), "2026-03-01");
    assert_string_equal(list_minute("2026-03-01T09:30:00Z", buf), "2026-03-01 09:30");
    assert_string_equal(list_day("-", buf), "-");
    assert_string_equal(list_minute("-", buf), "-");
    assert_string_equal(list_minute("whenever it will be", buf), "whenever it will be");
}

/* --- skills ---------------------------------------------------------------------------------- */

#define ZEROS   "000000000000000000000000000000000000000000000000000000000000"
#define FIRST   "plot@1234" ZEROS
#define SECOND  "plot@1235" ZEROS
#define ANOTHER "plots@1234" ZEROS
/* Differs from the first in its last digit. */
#define LIKE_IT                                                                                    \
    "plot@1234"                                                                                    \
    "00000000000000000000000000000000000000000000000000000000000"                                  \
    "1"

static void assert_found(const struct skill_store *store, const char *text, const char *want)
{
    char found[SKILL_SIZE] = "";

    assert_true(skill_store_names(text));
    assert_int_equal(skill_store_find(store, text, found), want ? CTL_OK : CTL_NO);
    assert_string_equal(found, want ? want : "");
}

static void the_first_digits_of_a_hash_mean_one_skill_or_none(void **state)
{
    static const char *const dirs[] = {FIRST, SECOND, ANOTHER, LIKE_IT};
    static const char *const wrong[] = {"plot@", "plot@123",  "plot@12345x", "plot@123A",
                                        "@1234", "Plot@1234", FIRST "0",     "a/b@1234"};
    char path[] = "/tmp/atelier-list-XXXXXX";
    cleanup_skill_store struct skill_store store = {.dir = -1, .lock = -1};

    (void)state;
    assert_non_null(mkdtemp(path));
    assert_int_equal(skill_store_open(path, false, &store), CTL_OK);
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
        assert_int_equal(mkdirat(store.dir, dirs[i], 0755), 0);
    assert_found(&store, "plot@12340", NULL); /* two begin like this */
    assert_found(&store, LIKE_IT, LIKE_IT);
    assert_int_equal(unlinkat(store.dir, LIKE_IT, AT_REMOVEDIR), 0);
    assert_found(&store, "plot@12340", FIRST);
    assert_found(&store, "plot@1235", SECOND);
    assert_found(&store, "plot@1234", FIRST); /* and not that of plots */
    assert_found(&store, "plots@1234", ANOTHER);
    assert_found(&store, SECOND, SECOND);
    assert_found(&store, "plot", "plot");
    assert_found(&store, "plot@1236", NULL);
    assert_found(&store, "plo@1234", NULL);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (skill_store_names(wrong[i]))
            fail_msg("%s", wrong[i]);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(unlinkat(store.dir, dirs[i], AT_REMOVEDIR), 0);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_cut_the_widest_first),
        cmocka_unit_test(every_line_fits),
        cmocka_unit_test(a_time_is_a_day_or_a_minute),
        cmocka_unit_test(the_first_digits_of_a_hash_mean_one_skill_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
