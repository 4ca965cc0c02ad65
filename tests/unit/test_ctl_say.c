/* SPDX-License-Identifier: ISC */
/* test_ctl_say.c - foreign text on a terminal: escapes and tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

static void check(const char *text, size_t bytes, const char *wanted, size_t wanted_columns)
{
    size_t columns = 0;
    char *escaped = text_escape(text, bytes, &columns);

    assert_string_equal(escaped, wanted);
    assert_int_equal(columns, wanted_columns);
    free(escaped);
}

#define CHECK(text, wanted, columns) check(text, sizeof(text) - 1, wanted, columns)

static void visible_text_stays_as_it_is(void **state)
{
    (void)state;
    CHECK("", "", 0);
    CHECK("alice@example.org ~!", "alice@example.org ~!", 20);
    CHECK("J\xc3\xbcrgen \xe6\x97\xa5 \xf0\x9f\x98\x80",
          "J\xc3\xbcrgen \xe6\x97\xa5 \xf0\x9f\x98\x80", 10);
}

static void control_bytes_never_reach_the_terminal(void **state)
{
    (void)state;
    CHECK("\x1b]0;t\x07", "\\x1b]0;t\\x07", 12);
    CHECK("a\nb\r\tc", "a\\nb\\r\\tc", 9);
    CHECK("a\0b", "a\\x00b", 6);
    CHECK("\x7f", "\\x7f", 4);
    for (int c = 0; c < 256; c++) {
        char byte = (char)c, *escaped = text_escape(&byte, 1, NULL);

        for (const char *p = escaped; *p; p++)
            assert_true(*p >= ' ' && *p < 0x7f);
        free(escaped);
    }
}

static void an_escape_cannot_be_forged(void **state)
{
    (void)state;
    CHECK("\\x1b", "\\\\x1b", 5);
}

static void bytes_that_are_not_utf8_are_shown_one_by_one(void **state)
{
    (void)state;
    CHECK("\xff\xfe", "\\xff\\xfe", 8);
    CHECK("\xc3", "\\xc3", 4);
    CHECK("\xc0\xaf", "\\xc0\\xaf", 8);                    /* overlong '/' */
    CHECK("\xe0\x80\xaf", "\\xe0\\x80\\xaf", 12);          /* the same in three bytes */
    CHECK("\xed\xa0\x80", "\\xed\\xa0\\x80", 12);          /* surrogate */
    CHECK("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", 16); /* above U+10FFFF */
    CHECK("\xc3(", "\\xc3(", 5);
}

static void text_that_hides_or_turns_round_is_shown_as_numbers(void **state)
{
    (void)state;
    CHECK("a\xe2\x80\xae"
          "b",
          "a\\u{202e}b", 10);              /* right-to-left override */
    CHECK("\xe2\x81\xa6", "\\u{2066}", 8); /* isolate */
    CHECK("\xe2\x80\x8b", "\\u{200b}", 8); /* zero width space */
    CHECK("\xef\xbb\xbf", "\\u{feff}", 8);
    CHECK("\xc2\x9b"
          "31m",
          "\\u{9b}31m", 9); /* C1: a terminal's CSI in one character */
    CHECK("\xe2\x80\xa8", "\\u{2028}", 8);
}

static char *printed(const struct table *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    table_print(t, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    static const char *const cells[] = {"NAME", "UID",       "EMAIL", "alice", "10001",
                                        "a@b",  "j\xc3\xbc", "1",     "-"};
    struct table *t = table_new(3);
    char *text;

    (void)state;
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        table_add(t, cells[i]);
    text = printed(t);
    assert_string_equal(text, "NAME   UID    EMAIL\n"
                              "alice  10001  a@b\n"
                              "j\xc3\xbc     1      -\n");
    free(text);
    table_free(t);
}

static void no_line_of_a_table_ends_in_blanks(void **state)
{
    struct table *t = table_new(2);
    char *text;

    (void)state;
    table_addf(t, "%d", 7);
    table_add(t, "x");
    table_add(t, "long");
    table_add(t, "");
    text = printed(t);
    assert_string_equal(text, "7     x\nlong\n");
    free(text);
    table_free(t);
}

static void a_cell_cannot_break_out_of_its_row(void **state)
{
    struct table *t = table_new(2);
    char *text;

    (void)state;
    table_add(t, "a\nroot  0");
    table_add(t, "b\x1b[2J");
    text = printed(t);
    assert_string_equal(text, "a\\nroot  0  b\\x1b[2J\n");
    free(text);
    table_free(t);
}

static void an_empty_table_prints_nothing(void **state)
{
    struct table *t = table_new(2);
    char *text;

    (void)state;
    text = printed(t);
    assert_string_equal(text, "");
    free(text);
    table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visible_text_stays_as_it_is),
        cmocka_unit_test(control_bytes_never_reach_the_terminal),
        cmocka_unit_test(an_escape_cannot_be_forged),
        cmocka_unit_test(bytes_that_are_not_utf8_are_shown_one_by_one),
        cmocka_unit_test(text_that_hides_or_turns_round_is_shown_as_numbers),
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(no_line_of_a_table_ends_in_blanks),
        cmocka_unit_test(a_cell_cannot_break_out_of_its_row),
        cmocka_unit_test(an_empty_table_prints_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
