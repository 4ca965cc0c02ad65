/* SPDX-License-Identifier: ISC */
/* test_api_hostcheck.c - names and ids of the host, and the time for which the answer holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>

#include "sessiond/api/clock.h"
#include "sessiond/api/hostcheck.h"
#include "sessiond/api/hostlist.h"

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

static void adoption_needs_a_line_of_passwd(void **state)
{
    struct hostcheck check = {.deadline_ms = clock_mono_ms() + FAR_MS};

    (void)state;
    assert_int_equal(hostcheck_adopt(&check, NAME_OF_NONE), -ENOENT);
    assert_string_equal(check.adopted.name, "");
    assert_int_equal(hostcheck_adopt(&check, "daemon"), 0);
    assert_string_equal(check.adopted.name, "daemon");
    assert_int_equal(check.adopted.uid, 1);
}

static void what_is_adopted_is_free_and_nothing_else_is(void **state)
{
    struct hostcheck check = {.deadline_ms = clock_mono_ms() + FAR_MS};

    (void)state;
    assert_int_equal(hostcheck_taken(&check, "daemon", 0), 1);
    assert_int_equal(hostcheck_adopt(&check, "daemon"), 0);
    assert_int_equal(hostcheck_taken(&check, "daemon", 0), 0);
    assert_int_equal(hostcheck_taken(&check, NULL, 1), 0);
    assert_int_equal(hostcheck_taken(&check, "root", 0), 1);
    assert_int_equal(hostcheck_taken(&check, NULL, 2), 1); /* bin */
    check.adopted.uid = 4711;                              /* it is another account by now */
    assert_int_equal(hostcheck_taken(&check, "daemon", 0), 1);
    assert_int_equal(hostcheck_taken(&check, NULL, 1), 1);
    assert_int_equal(hostcheck_adopt(&check, "daemon"), 0);
    check.adopted.gid = 4711; /* the group daemon is not its own */
    assert_int_equal(hostcheck_taken(&check, NULL, 1), 1);
}

static void a_list_says_what_single_questions_say(void **state)
{
    struct hostlist *list;

    (void)state;
    assert_int_equal(hostlist_new(&list), 0);
    assert_int_equal(hostlist_note(list, "root", 0), 1);
    assert_int_equal(hostlist_note(list, NAME_OF_NONE, 0), 0);
    assert_int_equal(hostlist_note(list, NAME_OF_NONE, 0), 0);
    assert_int_equal(hostlist_note(list, NULL, 12345), 0);
    assert_int_equal(hostlist_note(list, NULL, 0), 0);
    assert_int_equal(hostlist_ask(list, 0), 1); /* one at a time, if there is no more time */
    assert_int_equal(hostlist_ask(list, 0), 0);
    assert_int_equal(hostlist_lock(list, clock_mono_ms() + FAR_MS), 0);
    assert_int_equal(hostlist_taken(list, NAME_OF_NONE, 0), 0);
    assert_int_equal(hostlist_taken(list, NULL, 12345), 0);
    assert_int_equal(hostlist_taken(list, "daemon", 0), 1);
    assert_int_equal(hostlist_taken(list, "no-such-name-yet", 0), 0); /* not noted: asked now */
    assert_int_equal(hostlist_taken(list, NULL, 0), 0);
    assert_int_equal(hostlist_lock(list, clock_mono_ms() - FAR_MS), 0);
    assert_int_equal(hostlist_taken(list, NULL, 0), -ETIMEDOUT);
    assert_int_equal(hostlist_taken(list, NAME_OF_NONE, 0), -ETIMEDOUT);
    assert_int_equal(hostlist_taken(list, "root", 0), 1);
    hostlist_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_host_has_is_taken),
        cmocka_unit_test(nothing_is_free_after_the_deadline),
        cmocka_unit_test(neither_name_nor_id_asks_for_the_deadline_alone),
        cmocka_unit_test(adoption_needs_a_line_of_passwd),
        cmocka_unit_test(what_is_adopted_is_free_and_nothing_else_is),
        cmocka_unit_test(a_list_says_what_single_questions_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
