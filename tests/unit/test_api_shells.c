/* SPDX-License-Identifier: ISC */
/* test_api_shells.c - which programs are login shells, by a file of shells(5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "sessiond/api/shells.h"

#include "common/banned.h"

#define FILE_PATH "shells-test.txt"

static const char text[] = "# /etc/shells: valid login shells\n"
                           "/bin/sh\n"
                           "\n"
                           "#/bin/old\n"
                           " /bin/indented\n"
                           "/usr/bin/fish # a comment\n"
                           "relative\n"
                           "/bin/last";

static bool has(const char *shell)
{
    bool found = false;

    assert_int_equal(shells_has(FILE_PATH, shell, &found), 0);
    return found;
}

static void lines_are_shells_and_comments_are_not(void **state)
{
    FILE *f = fopen(FILE_PATH, "we");

    (void)state;
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_true(has("/bin/sh"));
    assert_true(has("/usr/bin/fish"));
    assert_true(has("/bin/last"));
    assert_false(has("/bin/old"));
    assert_false(has("/bin/indented")); /* as getusershell(3) */
    assert_false(has("/bin"));
    assert_false(has("/bin/shell"));
    assert_false(has("relative"));
    assert_false(has(""));
    assert_false(has("#"));
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    bool found = true;

    (void)state;
    assert_int_equal(unlink(FILE_PATH), 0);
    assert_int_equal(shells_has(FILE_PATH, "/bin/sh", &found), -ENOENT);
    assert_int_equal(shells_has("/", "/bin/sh", &found), -EISDIR);
    assert_true(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_shells_and_comments_are_not),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
