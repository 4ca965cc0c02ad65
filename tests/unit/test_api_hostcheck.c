/* SPDX-License-Identifier: ISC */
/* test_api_hostcheck.c - names and ids of the host, and the time for which the answer holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>

#include "sessiond/api/clock.h"
#include "sessiond/api/hostcheck.h"

#include "common/banned.h"

#define FAR_MS       600000
#define NAME_OF_NONE "no-such-name-here"

static void what_the_host_has_is_taken(void **state)
{
    struct hostcheck check = {.deadline_ms = clock_mono_ms() + FAR_MS};

    (void)state;
    assert_int_equal(hostcheck_taken(&check, "root", 0), 1);
    assert_int_equal(hostcheck_taken(&check, NULL, 1), 1); /* daemon, as user and group */
    assert_int_equal(hostcheck_taken(&check, NAME_OF_NONE, 0), 0);
}

static void nothing_is_free_after_the_deadline(void **state)
{
    struct hostcheck check = {.deadline_ms = clock_mono_ms() - FAR_MS};

    (void)state;
    assert_int_equal(hostcheck_taken(&check, NAME_OF_NONE, 0), -ETIMEDOUT);
    assert_int_equal(hostcheck_taken(&check, "root", 0), 1);
}

static void neither_name_nor_id_asks_for_the_deadline_alone(void **state)
{
    struct hostcheck late = {.deadline_ms = clock_mono_ms() - FAR_MS};
    struct hostcheck early = {.deadline_ms = clock_mono_ms() + FAR_MS};

    (void)state;
    assert_int_equal(hostcheck_taken(&late, NULL, 0), -ETIMEDOUT);
    assert_int_equal(hostcheck_taken(&early, NULL, 0), 0); /* 0 is not asked for: root has it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_host_has_is_taken),
        cmocka_unit_test(nothing_is_free_after_the_deadline),
        cmocka_unit_test(neither_name_nor_id_asks_for_the_deadline_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
