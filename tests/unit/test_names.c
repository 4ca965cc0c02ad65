/* SPDX-License-Identifier: ISC */
/* test_names.c - what names of the policy stand for, from answer to answer. */
#include "policy/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/banned.h"

#define NOW 1000000

static struct names names;
static struct policy_net net;

static int setup(void **state)
{
    (void)state;
    memset(&names, 0, sizeof(names));
    memset(&net, 0, sizeof(net));
    net.egress = POLICY_EGRESS_LISTED;
    return 0;
}

static void allow(const char *text)
{
    char fault[PREFIX_FAULT_SIZE];

    if (policy_allow_parse(text, &net.allow[net.allow_count], fault) < 0)
        fail_msg("%s", fault);
    net.allow_count++;
}

static struct prefix prefix_of(const char *text)
{
    char fault[PREFIX_FAULT_SIZE];
    struct prefix p = {0};

    assert_int_equal(prefix_parse(text, &p, fault), 0);
    return p;
}

/* Addresses up to NULL. */
static struct names_answer answer_of(uint32_t ttl_s, const char *const addresses[])
{
    struct names_answer a = {.state = addresses[0] ? NAMES_FOUND : NAMES_EMPTY, .ttl_s = ttl_s};

    for (; addresses[a.count]; a.count++)
        a.addresses[a.count] = prefix_of(addresses[a.count]);
    return a;
}

#define ANSWER(ttl_s, ...) answer_of(ttl_s, (const char *const[]){__VA_ARGS__, NULL})

static bool take(uint32_t i, struct names_answer a, int64_t at)
{
    return names_take(&names, i, &a, NULL, 0, at);
}

/* "ADDRESS:PORT ..." of all that is let through. */
static void assert_open(const char *want)
{
    struct netrules_allowed allowed[NETRULES_ALLOWED_MAX];
    size_t n = names_allowed(&names, &net, allowed), used = 0;
    char text[2048] = "";

    for (size_t i = 0; i < n; i++) {
        char prefix[PREFIX_TEXT_SIZE];

        prefix_text(&allowed[i].prefix, prefix);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s|%u", i > 0 ? " " : "",
                                 prefix, allowed[i].port);
    }
    assert_string_equal(text, want);
}

static void a_name_opens_its_addresses_on_its_ports(void **state)
{
    (void)state;
    allow("a.example:443");
    allow("203.0.113.0/24:80");
    allow("a.example:80");
    allow("b.example");
    names_follow(&names, &net, NOW);
    assert_int_equal(names.count, 2);
    assert_int_equal(names_due_ms(&names), NOW);
    assert_open("203.0.113.0/24|80");
    assert_true(take(0, ANSWER(300, "198.51.100.2", "2001:db8:1::2"), NOW));
    assert_open("198.51.100.2|443 2001:db8:1::2|443 203.0.113.0/24|80 198.51.100.2|80 "
                "2001:db8:1::2|80");
    assert_false(take(0, ANSWER(300, "2001:db8:1::2", "198.51.100.2"), NOW + 1));
    assert_true(take(1, ANSWER(300, "203.0.113.9"), NOW));
    assert_open("198.51.100.2|443 2001:db8:1::2|443 203.0.113.0/24|80 198.51.100.2|80 "
                "2001:db8:1::2|80 203.0.113.9|0");
}

static void what_is_refused_is_never_taken(void **state)
{
    static const char *const bad[] = {"10.9.0.2",  "127.0.0.1", "169.254.169.254", "0.0.0.0",
                                      "224.0.0.1", "::1",       "fd00:9::2",       "2002:a09:2::1",
                                      "fe80::1",   "100.64.0.1"};

    (void)state;
    allow("a.example");
    names_follow(&names, &net, NOW);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(take(0, ANSWER(60, "198.51.100.2", bad[i]), NOW + (int64_t)i), i == 0);
        assert_int_equal(names.entries[0].refused, 1);
        assert_open("198.51.100.2|0");
    }
    /* Rebinding: all of it is refused now, and the good one of before stays for its time. */
    assert_false(take(0, ANSWER(60, "10.9.0.2"), NOW + 100));
    assert_open("198.51.100.2|0");
    assert_false(take(0, ANSWER(60, "198.51.100.2"), NOW + 101));
    assert_int_equal(names.entries[0].refused, 0);
}

static void what_the_policy_denies_is_not_taken_and_goes(void **state)
{
    const struct prefix denied[] = {prefix_of("203.0.113.0/24"), prefix_of("2001:db8:1::/64")};
    struct names_answer a = ANSWER(60, "203.0.113.9", "198.51.100.2", "2001:db8:1::2");

    (void)state;
    allow("a.example");
    names_follow(&names, &net, NOW);
    assert_true(names_take(&names, 0, &a, denied, 2, NOW));
    assert_int_equal(names.entries[0].refused, 2);
    assert_open("198.51.100.2|0");
    assert_true(take(0, a, NOW + 1));
    assert_open("198.51.100.2|0 203.0.113.9|0 2001:db8:1::2|0");
    assert_true(names_refuse(&names, denied, 2));
    assert_open("198.51.100.2|0");
    assert_false(names_refuse(&names, denied, 2));
    assert_true(take(0, a, NOW + 2));
    net.deny[0] = denied[0];
    net.deny_count = 1;
    names_follow(&names, &net, NOW + 3);
    assert_open("198.51.100.2|0 2001:db8:1::2|0");
}

static void an_old_address_stays_for_a_while_and_goes(void **state)
{
    (void)state;
    allow("a.example");
    names_follow(&names, &net, NOW);
    assert_true(take(0, ANSWER(60, "198.51.100.2"), NOW));
    assert_true(take(0, ANSWER(60, "198.51.100.3"), NOW + 60000));
    assert_open("198.51.100.2|0 198.51.100.3|0");
    assert_false(take(0, ANSWER(60, "198.51.100.3"), NOW + NAMES_KEEP_MS));
    assert_true(take(0, ANSWER(60, "198.51.100.3"), NOW + NAMES_KEEP_MS + 1));
    assert_open("198.51.100.3|0");
    /* A name that stands for nothing any more is an answer, too. */
    assert_false(take(0, answer_of(60, (const char *const[]){NULL}), NOW + NAMES_KEEP_MS + 2));
    assert_int_equal(names.entries[0].state, NAMES_EMPTY);
    assert_open("198.51.100.3|0");
    assert_true(take(0, answer_of(60, (const char *const[]){NULL}), NOW + 2 * NAMES_KEEP_MS + 2));
    assert_open("");
}

static void without_an_answer_nothing_goes_and_it_is_asked_again(void **state)
{
    const struct names_answer none = {.state = NAMES_FAILED};
    static const int64_t waits[] = {5000, 10000, 20000, 40000, 60000, 60000};
    int64_t at = NOW + 3 * (int64_t)NAMES_KEEP_MS;

    (void)state;
    allow("a.example");
    names_follow(&names, &net, NOW);
    assert_true(take(0, ANSWER(60, "198.51.100.2"), NOW));
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        assert_false(take(0, none, at));
        assert_int_equal(names.entries[0].state, NAMES_FAILED);
        assert_int_equal(names_due_ms(&names) - at, waits[i]);
        assert_open("198.51.100.2|0");
    }
    assert_false(take(0, ANSWER(60, "198.51.100.2"), at));
    assert_int_equal(names.entries[0].state, NAMES_FOUND);
    assert_int_equal(names.entries[0].failures, 0);
}

static void the_time_to_live_has_a_floor_and_a_ceiling(void **state)
{
    static const uint32_t rows[][2] = {{0, 60000},      {59, 60000},      {61, 61000},
                                       {3600, 3600000}, {86400, 3600000}, {UINT32_MAX, 3600000}};

    (void)state;
    allow("a.example");
    names_follow(&names, &net, NOW);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)take(0, ANSWER(rows[i][0], "198.51.100.2"), NOW);
        assert_int_equal(names_due_ms(&names), NOW + rows[i][1]);
    }
}

static struct names_answer many(unsigned first, unsigned n)
{
    struct names_answer a = {.state = NAMES_FOUND, .ttl_s = 60};

    for (; a.count < n; a.count++) {
        char text[32];

        (void)snprintf(text, sizeof(text), "198.51.100.%u", first + a.count);
        a.addresses[a.count] = prefix_of(text);
    }
    return a;
}

static void a_name_that_grows_pushes_out_its_oldest_and_nobody_else(void **state)
{
    struct names_answer a = many(1, NAMES_ADDRESSES_MAX);

    (void)state;
    allow("wild.example");
    allow("b.example");
    names_follow(&names, &net, NOW);
    (void)take(1, ANSWER(60, "203.0.113.9"), NOW);
    a.left_out = 480; /* of 512 */
    assert_true(take(0, a, NOW));
    assert_int_equal(names.entries[0].count, NAMES_ADDRESSES_MAX);
    assert_int_equal(names.entries[0].left_out, 480);
    /* Each time others: there are never more than there is room for. */
    for (unsigned i = 1; i < 7; i++) {
        assert_true(
            take(0, many(1 + i * NAMES_ADDRESSES_MAX, NAMES_ADDRESSES_MAX), NOW + (int64_t)i));
        assert_int_equal(names.entries[0].count, NAMES_ADDRESSES_MAX);
    }
    assert_int_equal(names.entries[1].count, 1);
    /* One more pushes out one that was not seen for longest, not one of the same answer. */
    assert_true(take(0, many(1, 1), NOW + 10));
    assert_int_equal(names.entries[0].count, NAMES_ADDRESSES_MAX);
    assert_int_equal(names.entries[0].left_out, 0);
}

static void all_names_together_fit_into_the_rules(void **state)
{
    struct netrules_allowed allowed[NETRULES_ALLOWED_MAX];

    (void)state;
    for (unsigned i = 0; i < POLICY_ALLOW_MAX; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "n%u.example:443", i);
        allow(name);
    }
    names_follow(&names, &net, NOW);
    for (uint32_t i = 0; i < POLICY_ALLOW_MAX; i++) {
        assert_true(take(i, many(1, NAMES_ADDRESSES_MAX), NOW));
        assert_int_equal(names.entries[i].count, NAMES_TOTAL_MAX / POLICY_ALLOW_MAX);
        assert_int_equal(names.entries[i].left_out,
                         NAMES_ADDRESSES_MAX - NAMES_TOTAL_MAX / POLICY_ALLOW_MAX);
    }
    assert_int_equal(names_allowed(&names, &net, allowed), NAMES_TOTAL_MAX);
}

static void another_policy_keeps_what_its_names_have(void **state)
{
    (void)state;
    allow("a.example");
    allow("b.example:80");
    names_follow(&names, &net, NOW);
    (void)take(0, ANSWER(3600, "198.51.100.2"), NOW);
    (void)take(1, ANSWER(3600, "198.51.100.3"), NOW);
    net.allow_count = 0;
    allow("b.example:443");
    allow("c.example");
    names_follow(&names, &net, NOW + 5);
    assert_int_equal(names.count, 2);
    assert_open("198.51.100.3|443");
    assert_int_equal(names_due_ms(&names), NOW + 5);
    net.allow_count = 0;
    names_follow(&names, &net, NOW + 6);
    assert_int_equal(names.count, 0);
    assert_int_equal(names_due_ms(&names), INT64_MAX);
    assert_open("");
}

static void an_answer_about_no_name_changes_nothing(void **state)
{
    (void)state;
    allow("a.example");
    names_follow(&names, &net, NOW);
    assert_false(take(1, ANSWER(60, "198.51.100.2"), NOW));
    assert_false(take(UINT32_MAX, ANSWER(60, "198.51.100.2"), NOW));
    assert_open("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_name_opens_its_addresses_on_its_ports, setup),
        cmocka_unit_test_setup(what_is_refused_is_never_taken, setup),
        cmocka_unit_test_setup(what_the_policy_denies_is_not_taken_and_goes, setup),
        cmocka_unit_test_setup(an_old_address_stays_for_a_while_and_goes, setup),
        cmocka_unit_test_setup(without_an_answer_nothing_goes_and_it_is_asked_again, setup),
        cmocka_unit_test_setup(the_time_to_live_has_a_floor_and_a_ceiling, setup),
        cmocka_unit_test_setup(a_name_that_grows_pushes_out_its_oldest_and_nobody_else, setup),
        cmocka_unit_test_setup(all_names_together_fit_into_the_rules, setup),
        cmocka_unit_test_setup(another_policy_keeps_what_its_names_have, setup),
        cmocka_unit_test_setup(an_answer_about_no_name_changes_nothing, setup),
    };

    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
