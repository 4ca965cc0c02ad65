/* SPDX-License-Identifier: ISC */
/* test_magic_link_limit.c - tries of a name: so many a minute, and nobody pays for another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "magic-link/limit.h"
#include "magic-link/magic_link.h"

#include "common/banned.h"

#define REFILL_MS (60000 / (int64_t)LINK_TRIES_A_MINUTE)

static int limit_setup(void **state)
{
    *state = limit_new(LINK_TRIES_A_MINUTE);
    return *state ? 0 : -1;
}

static int limit_teardown(void **state)
{
    limit_free(*state);
    return 0;
}

/* How many of @n tries are allowed. */
static unsigned allowed(struct limit *limit, const char *name, unsigned n, int64_t now_ms)
{
    unsigned count = 0;

    for (unsigned i = 0; i < n; i++)
        count += limit_take(limit, name, now_ms);
    return count;
}

static void twenty_tries_pass_and_the_next_does_not(void **state)
{
    struct limit *limit = *state;

    for (unsigned i = 0; i < LINK_TRIES_A_MINUTE; i++)
        assert_true(limit_take(limit, "alice", 5000));
    assert_false(limit_take(limit, "alice", 5000));
    assert_false(limit_take(limit, "alice", 5000 + REFILL_MS - 1));
}

static void another_name_is_unaffected(void **state)
{
    struct limit *limit = *state;

    assert_int_equal(allowed(limit, "alice", 100, 0), LINK_TRIES_A_MINUTE);
    assert_int_equal(allowed(limit, "alicf", 100, 0), LINK_TRIES_A_MINUTE);
    assert_int_equal(allowed(limit, "", 100, 0), LINK_TRIES_A_MINUTE);
}

static void tries_come_back_one_by_one(void **state)
{
    struct limit *limit = *state;
    int64_t now_ms = INT64_MAX / 2;

    assert_int_equal(allowed(limit, "alice", 100, now_ms), LINK_TRIES_A_MINUTE);
    assert_int_equal(allowed(limit, "alice", 100, now_ms + REFILL_MS), 1);
    assert_int_equal(allowed(limit, "alice", 100, now_ms + 4 * REFILL_MS), 3);
    assert_int_equal(allowed(limit, "alice", 100, now_ms + 60000 * 1000), LINK_TRIES_A_MINUTE);
}

static void a_refused_try_does_not_put_the_next_one_off(void **state)
{
    struct limit *limit = *state;
    unsigned count = 0;

    assert_int_equal(allowed(limit, "alice", 100, 0), LINK_TRIES_A_MINUTE);
    for (int64_t now_ms = 1; now_ms <= 60000; now_ms += 7)
        count += limit_take(limit, "alice", now_ms);
    assert_in_range(count, LINK_TRIES_A_MINUTE - 1, LINK_TRIES_A_MINUTE);
}

static void a_clock_that_goes_back_gives_nothing(void **state)
{
    struct limit *limit = *state;

    assert_int_equal(allowed(limit, "alice", 100, 1000000), LINK_TRIES_A_MINUTE);
    assert_int_equal(allowed(limit, "alice", 100, 0), 0);
    assert_int_equal(allowed(limit, "alice", 100, INT64_MIN / 2), 0);
}

static void a_good_try_is_given_back(void **state)
{
    struct limit *limit = *state;

    for (unsigned i = 0; i < 100; i++) {
        assert_true(limit_take(limit, "alice", 0));
        limit_give_back(limit, "alice");
    }
    limit_give_back(limit, "alice"); /* more than all there are none */
    limit_give_back(limit, "nobody-tried-this");
    assert_int_equal(allowed(limit, "alice", 100, 0), LINK_TRIES_A_MINUTE);
}

static void many_names_do_not_disturb_each_other(void **state)
{
    struct limit *limit = *state;
    char name[32];

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < LIMIT_NAMES_MAX; i++) {
            (void)snprintf(name, sizeof(name), "name%u", i);
            assert_int_equal(allowed(limit, name, LINK_TRIES_A_MINUTE + 1, 0),
                             round == 0 ? LINK_TRIES_A_MINUTE : 0);
        }
    }
}

static void when_it_is_full_the_name_tried_longest_ago_goes(void **state)
{
    struct limit *limit = *state;
    char name[32];

    assert_int_equal(allowed(limit, "oldest", 100, 0), LINK_TRIES_A_MINUTE);
    assert_int_equal(allowed(limit, "kept", 100, 0), LINK_TRIES_A_MINUTE);
    for (unsigned i = 0; i < LIMIT_NAMES_MAX - 2; i++) {
        (void)snprintf(name, sizeof(name), "name%u", i);
        assert_true(limit_take(limit, name, 1));
    }
    assert_false(limit_take(limit, "kept", 2));
    assert_false(limit_take(limit, "oldest", 2)); /* still there: it is the newest now */
    assert_false(limit_take(limit, "kept", 2));
    for (unsigned i = 0; i < 10 * LIMIT_NAMES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "other%u", i);
        assert_true(limit_take(limit, name, 3));
        if (i % 1000 == 0)
            assert_false(limit_take(limit, "kept", 3));
    }
    assert_int_equal(allowed(limit, "oldest", 100, 3), LINK_TRIES_A_MINUTE); /* it was forgotten */
    assert_false(limit_take(limit, "kept", 3));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, limit_setup, limit_teardown)
    const struct CMUnitTest tests[] = {
        TEST(twenty_tries_pass_and_the_next_does_not),
        TEST(another_name_is_unaffected),
        TEST(tries_come_back_one_by_one),
        TEST(a_refused_try_does_not_put_the_next_one_off),
        TEST(a_clock_that_goes_back_gives_nothing),
        TEST(a_good_try_is_given_back),
        TEST(many_names_do_not_disturb_each_other),
        TEST(when_it_is_full_the_name_tried_longest_ago_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
