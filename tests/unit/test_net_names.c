/* SPDX-License-Identifier: ISC */
/* test_net_names.c - answers of the program that looks names up: nothing of them is believed. */
#include "sessiond/monitor/net_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sessiond/shared/resolve_wire.h"

#include "common/banned.h"

static int fds[2] = {-1, -1};
static uint64_t answered;

static int setup(void **state)
{
    (void)state;
    answered = 0;
    return pipe2(fds, O_CLOEXEC | O_NONBLOCK);
}

static int teardown(void **state)
{
    (void)state;
    cleanup_close_p(&fds[0]);
    cleanup_close_p(&fds[1]);
    return 0;
}

static struct resolve_answer good(void)
{
    struct resolve_answer a = {.magic = RESOLVE_MAGIC,
                               .index = 2,
                               .state = RESOLVE_FOUND,
                               .ttl_s = 300,
                               .count = 2,
                               .left_out = 7};

    memcpy(a.addresses[0].bytes, "\xc6\x33\x64\x02", 4);
    memcpy(a.addresses[1].bytes, "\x20\x01\x0d\xb8\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02",
           16);
    a.addresses[1].is_v6 = 1;
    return a;
}

static int say(const void *data, size_t size, uint32_t *ret_i, struct names_answer *ret)
{
    assert_int_equal(write(fds[1], data, size), size);
    answered = 0;
    return net_names_read(fds[0], 3, &answered, ret_i, ret);
}

static void an_answer_is_addresses(void **state)
{
    struct resolve_answer a = good();
    struct names_answer got;
    char text[PREFIX_TEXT_SIZE];
    uint32_t i = 99;

    (void)state;
    assert_int_equal(net_names_read(fds[0], 3, &answered, &i, &got), -EAGAIN);
    assert_int_equal(say(&a, sizeof(a), &i, &got), 1);
    assert_int_equal(i, 2);
    assert_int_equal(got.state, NAMES_FOUND);
    assert_int_equal(got.ttl_s, 300);
    assert_int_equal(got.left_out, 7);
    assert_int_equal(got.count, 2);
    prefix_text(&got.addresses[0], text);
    assert_string_equal(text, "198.51.100.2");
    prefix_text(&got.addresses[1], text);
    assert_string_equal(text, "2001:db8:1::2");
    a.state = RESOLVE_FAILED;
    a.count = 0;
    assert_int_equal(say(&a, sizeof(a), &i, &got), 1);
    assert_int_equal(got.state, NAMES_FAILED);
    cleanup_close_p(&fds[1]);
    assert_int_equal(net_names_read(fds[0], 3, &answered, &i, &got), 0);
}

static void anything_else_is_none(void **state)
{
    struct resolve_answer rows[8];
    struct names_answer got = {.count = 77};
    uint32_t i = 99;

    (void)state;
    for (size_t k = 0; k < 8; k++)
        rows[k] = good();
    rows[0].magic++;
    rows[1].index = 3;
    rows[2].index = UINT32_MAX;
    rows[3].count = RESOLVE_ADDRESSES_MAX + 1;
    rows[4].count = UINT32_MAX;
    rows[5].state = 0;
    rows[6].state = 4;
    rows[7].addresses[1].is_v6 = 2;
    for (size_t k = 0; k < 8; k++)
        assert_int_equal(say(&rows[k], sizeof(rows[k]), &i, &got), -EBADMSG);
    for (size_t size = 1; size < sizeof(rows[0]); size += 61)
        assert_int_equal(say(&rows[0], size, &i, &got), -EBADMSG);
    assert_int_equal(i, 99);
    assert_int_equal(got.count, 77);
}

static void bytes_by_chance_are_no_addresses_of_more_than_there_are(void **state)
{
    unsigned char noise[sizeof(struct resolve_answer)];
    uint64_t x = 88172645463325252ull;

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        struct resolve_answer a = good();
        struct names_answer got;
        uint32_t i = 0;
        int r;

        for (unsigned k = 0; k < 1 + round % 9; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            memcpy(noise, &a, sizeof(a));
            noise[(x >> 8) % (round % 2 ? 24 : sizeof(noise))] = (unsigned char)x;
            memcpy(&a, noise, sizeof(a));
        }
        r = say(&a, sizeof(a), &i, &got);
        assert_true(r == 1 || r == -EBADMSG);
        if (r == 1)
            assert_true(i < 3 && got.count <= NAMES_ADDRESSES_MAX);
        for (uint32_t k = 0; r == 1 && k < got.count; k++)
            assert_true(prefix_is_address(&got.addresses[k]));
    }
}

/* Else whoever says the same again and again keeps sessiond, and its log, busy. */
static void a_second_answer_about_a_name_is_none(void **state)
{
    struct resolve_answer a = good(), b = good();
    struct names_answer got;
    uint32_t i;

    (void)state;
    b.index = 1;
    assert_int_equal(write(fds[1], &a, sizeof(a)), sizeof(a));
    assert_int_equal(write(fds[1], &b, sizeof(b)), sizeof(b));
    assert_int_equal(write(fds[1], &a, sizeof(a)), sizeof(a));
    assert_int_equal(net_names_read(fds[0], 3, &answered, &i, &got), 1);
    assert_int_equal(net_names_read(fds[0], 3, &answered, &i, &got), 1);
    assert_int_equal(answered, 6);
    assert_int_equal(net_names_read(fds[0], 3, &answered, &i, &got), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_is_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(anything_else_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_by_chance_are_no_addresses_of_more_than_there_are,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_answer_about_a_name_is_none, setup, teardown),
    };

    return cmocka_run_group_tests_name("net_names", tests, NULL, NULL);
}
