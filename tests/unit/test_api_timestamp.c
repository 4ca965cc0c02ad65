/* SPDX-License-Identifier: ISC */
/* test_api_timestamp.c - moments as text, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "sessiond/api/timestamp.h"

#include "common/banned.h"

struct moment {
    const char *text;
    int64_t s;
};

static void moments_are_the_same_both_ways(void **state)
{
    static const struct moment moments[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2000-02-29T23:59:59Z", 951868799},
        {"2026-11-29T12:00:00Z", 1795953600},
        {"2038-01-19T03:14:08Z", 2147483648},
        {"9999-12-31T23:59:59Z", 253402300799},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        char text[TIMESTAMP_SIZE];
        int64_t s = -1;

        assert_int_equal(timestamp_parse(moments[i].text, &s), 0);
        assert_int_equal(s, moments[i].s);
        assert_int_equal(timestamp_format(s, text), 0);
        assert_string_equal(text, moments[i].text);
    }
}

static void fraction_of_a_second_is_cut_off(void **state)
{
    int64_t s = 0;

    (void)state;
    assert_int_equal(timestamp_parse("1970-01-01T00:00:09.999Z", &s), 0);
    assert_int_equal(s, 9);
}

static void what_is_no_moment_in_utc_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "now",
        "2026-11-29",
        "2026-11-29T12:00Z",
        "2026-11-29 12:00:00Z",
        "2026-11-29t12:00:00z",
        "2026-11-29T12:00:00",
        "2026-11-29T12:00:00+00:00",
        "2026-11-29T12:00:00Z ",
        " 2026-11-29T12:00:00Z",
        "2026-11-29T12:00:00.Z",
        "2026-11-29T12:00:00,5Z",
        "+026-11-29T12:00:00Z",
        "1969-12-31T23:59:59Z",
        "2026-00-29T12:00:00Z",
        "2026-13-29T12:00:00Z",
        "2026-11-00T12:00:00Z",
        "2026-11-31T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "2026-11-29T24:00:00Z",
        "2026-11-29T12:60:00Z",
        "2026-11-29T12:00:60Z",
        "10000-01-01T00:00:00Z",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t s = 42;

        if (timestamp_parse(bad[i], &s) != -EINVAL || s != 42)
            fail_msg("accepted: %s", bad[i]);
    }
}

static void moments_without_four_digits_of_year_are_not_written(void **state)
{
    char text[TIMESTAMP_SIZE] = "x";

    (void)state;
    assert_int_equal(timestamp_format(-1, text), -ERANGE);
    assert_string_equal(text, "");
    assert_int_equal(timestamp_format(253402300800, text), -ERANGE);
    assert_int_equal(timestamp_format(INT64_MAX, text), -ERANGE);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_the_same_both_ways),
        cmocka_unit_test(fraction_of_a_second_is_cut_off),
        cmocka_unit_test(what_is_no_moment_in_utc_is_refused),
        cmocka_unit_test(moments_without_four_digits_of_year_are_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
