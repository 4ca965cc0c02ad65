/* SPDX-License-Identifier: ISC */
/* test_api_text.c - where UTF-8 may be cut, and what is JSON text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "sessiond/api/text.h"

#include "common/banned.h"

/* One, two, three and four bytes, and the borders between the lengths. */
static const char mixed[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80"
                            "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";

static void text_split_anywhere_is_whole_again_and_never_cut_inside_a_character(void **state)
{
    size_t n = sizeof(mixed) - 1;

    (void)state;
    assert_true(text_is_plain(mixed, n));
    for (size_t cut = 0; cut <= n; cut++) {
        size_t tail = utf8_tail(mixed, cut);

        assert_true(tail <= UTF8_TAIL_MAX && tail <= cut);
        assert_true(text_is_plain(mixed, cut - tail));
        assert_true(text_is_plain(mixed + cut - tail, n - cut + tail));
        /* Held back only where the cut is inside a character. */
        assert_int_equal(tail > 0, cut < n && ((unsigned char)mixed[cut] & 0xc0) == 0x80);
    }
}

static void bytes_that_are_no_character_are_not_plain(void **state)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf5\x80\x80",
        "\xff",
        "\xf4\x90\x80\x80",
        "\xc3",
        "\xe2\x82",
        "\xf0\x9f\x98",
        "\xc3(",
        "\xe2(\x82",
        "\xfe",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char buf[16] = "ok ";

        memcpy(buf + 3, bad[i], strlen(bad[i]));
        assert_false(text_is_plain(bad[i], strlen(bad[i])));
        assert_false(text_is_plain(buf, 3 + strlen(bad[i])));
        assert_true(text_is_plain(buf, 3));
    }
}

static void nul_is_not_plain(void **state)
{
    (void)state;
    assert_false(text_is_plain("a\0b", 3));
    assert_true(text_is_plain("ab", 2));
}

static void what_can_never_become_a_character_is_not_held_back(void **state)
{
    static const char *const hopeless[] = {"\xe0\x80", "\xed\xa0",     "\xf0\x80",
                                           "\xf4\x90", "\xff",         "\xc0",
                                           "\x80\x80", "\x80\x80\x80", "\xf5\x80"};
    static const char *const hopeful[] = {"\xc3", "\xe0\xa0", "\xed\x9f", "\xf0\x90",
                                          "\xf4\x8f\xbf"};

    (void)state;
    for (size_t i = 0; i < sizeof(hopeless) / sizeof(hopeless[0]); i++)
        assert_int_equal(utf8_tail(hopeless[i], strlen(hopeless[i])), 0);
    for (size_t i = 0; i < sizeof(hopeful) / sizeof(hopeful[0]); i++)
        assert_int_equal(utf8_tail(hopeful[i], strlen(hopeful[i])), strlen(hopeful[i]));
    assert_int_equal(utf8_tail("", 0), 0);
}

static void control_characters_and_quotes_are_escaped(void **state)
{
    static const char in[] = "a\"\\\n\r\t\b\f\x01\x1f\x7f\xc3\xa9/";
    static const char out[] = "a\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u001f\x7f\xc3\xa9/";
    char buf[128];

    (void)state;
    assert_int_equal(json_escaped_size(in, sizeof(in) - 1), sizeof(out) - 1);
    assert_int_equal(json_escape(buf, in, sizeof(in) - 1), sizeof(out) - 1);
    assert_memory_equal(buf, out, sizeof(out) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_split_anywhere_is_whole_again_and_never_cut_inside_a_character),
        cmocka_unit_test(bytes_that_are_no_character_are_not_plain),
        cmocka_unit_test(nul_is_not_plain),
        cmocka_unit_test(what_can_never_become_a_character_is_not_held_back),
        cmocka_unit_test(control_characters_and_quotes_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
