/* SPDX-License-Identifier: ISC */
/* test_request.c - what sessiond checks again of the fields that the api fills in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "sessiond/monitor/request.h"

#include "common/banned.h"

static bool shell_is_valid(const char *text)
{
    char shell[WIRE_PATH_SIZE] = "";

    (void)str_copy(shell, sizeof(shell), text);
    return request_shell_is_valid(shell);
}

static void a_shell_is_nothing_or_an_absolute_path(void **state)
{
    (void)state;
    assert_true(shell_is_valid(""));
    assert_true(shell_is_valid("/bin/dash"));
    assert_true(shell_is_valid("/opt/a~b/c"));
    assert_false(shell_is_valid("bin/dash"));
    assert_false(shell_is_valid("-c"));
}

/* It becomes part of a line of passwd(5), and of the mark that the login shell reads. */
static void a_shell_adds_no_field_and_no_line(void **state)
{
    (void)state;
    assert_false(shell_is_valid("/bin/dash:x"));
    assert_false(shell_is_valid("/bin/dash\nroot::0:0::/:/bin/sh"));
    assert_false(shell_is_valid("/bin/dash "));
    assert_false(shell_is_valid("/bin/\tdash"));
    assert_false(shell_is_valid("/bin/d\177sh"));
    assert_false(shell_is_valid("/bin/d\303\244sh"));
}

static void a_shell_ends_with_a_nul(void **state)
{
    char shell[WIRE_PATH_SIZE];

    (void)state;
    memset(shell, 'a', sizeof(shell));
    shell[0] = '/';
    assert_false(request_shell_is_valid(shell));
    shell[sizeof(shell) - 1] = '\0';
    assert_true(request_shell_is_valid(shell));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shell_is_nothing_or_an_absolute_path),
        cmocka_unit_test(a_shell_adds_no_field_and_no_line),
        cmocka_unit_test(a_shell_ends_with_a_nul),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
