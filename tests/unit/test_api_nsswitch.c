/* SPDX-License-Identifier: ISC */
/* test_api_nsswitch.c - the sources of a file are those that libc asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "sessiond/api/nsswitch.h"

#include "common/banned.h"

#define FILE_PATH "nsswitch-test.conf"
#define NOBODY    "no-such-source" /* libc finds no module of this name */

static int direct(const char *text)
{
    FILE *f = fopen(FILE_PATH, "we");
    int r;

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    r = nsswitch_direct(FILE_PATH);
    (void)unlink(FILE_PATH);
    return r;
}

static bool has_root_user(void)
{
    struct passwd pw, *found = NULL;
    char buf[4096];

    (void)getpwnam_r("root", &pw, buf, sizeof(buf), &found);
    return found != NULL;
}

static bool has_root_group(void)
{
    struct group gr, *found = NULL;
    char buf[4096];

    (void)getgrnam_r("root", &gr, buf, sizeof(buf), &found);
    return found != NULL;
}

static void sources_are_those_of_the_file(void **state)
{
    (void)state;
    assert_int_equal(direct("passwd: files\ngroup:\tfiles # and no more\n"), 0);
    assert_true(has_root_user());
    assert_true(has_root_group());
    assert_int_equal(direct("passwd: " NOBODY "\n  group : files\n"), 0);
    assert_false(has_root_user());
    assert_true(has_root_group());
    assert_int_equal(direct("passwd: " NOBODY " files\ngroup: " NOBODY " # files\n"), 0);
    assert_true(has_root_user());
    assert_false(has_root_group());
    assert_int_equal(direct("passwd: " NOBODY " [UNAVAIL=return] files\n"), 0);
    assert_false(has_root_user());
}

static void without_a_line_it_is_files(void **state)
{
    (void)state;
    assert_int_equal(direct("passwd_compat: " NOBODY "\n# group: " NOBODY "\n"), 0);
    assert_true(has_root_user());
    assert_true(has_root_group());
    assert_int_equal(direct("passwd: " NOBODY "\n"), 0);
    assert_false(has_root_user());
    assert_int_equal(nsswitch_direct("no-such-file.conf"), 0);
    assert_true(has_root_user());
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(nsswitch_direct("/"), -EIO);
    assert_true(direct("passwd: files [\n") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_those_of_the_file),
        cmocka_unit_test(without_a_line_it_is_files),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
