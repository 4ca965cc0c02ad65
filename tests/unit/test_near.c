/* SPDX-License-Identifier: ISC */
/* test_near.c - what a mistyped word most likely was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/near.h"

#include "common/banned.h"

static const char *const keys[] = {"memory", "pids", NULL,   "cpu",  "wall",    "wall_max",
                                   "tmp",    "shm",  "home", "disk", "network", "deny_on_link"};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static void a_slip_is_near_and_another_word_is_not(void **state)
{
    static const struct {
        const char *word, *meant;
    } rows[] = {
        {"memory", "memory"},
        {"memry", "memory"},
        {"memoyr", "memory"},
        {"MEMORY", "memory"},
        {"mem", "memory"},
        {"memory_max", "memory"},
        {"netwokr", "network"},
        {"pid", "pids"},
        {"pdis", "pids"},
        {"cpus", "cpu"},
        {"cup", "cpu"},
        {"walls", "wall"},
        {"wallmax", "wall_max"},
        {"wall-max", "wall_max"},
        {"wal", "wall"},
        {"wall_maximum", "wall_max"},
        {"deny-onlink", "deny_on_link"},
        {"disks", "disk"},
        /* Far. */
        {"", NULL},
        {"x", NULL},
        {"me", NULL},
        {"processes", NULL},
        {"size", NULL},
        {"net", "network"},
        {"ho", NULL},
        {"\xff\xff\xff\xff", NULL},
        {"memorymemorymemorymemorymemorymemorymemory", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *found = near_find(rows[i].word, keys, KEYS);

        if (!rows[i].meant != !found || (found && strcmp(found, rows[i].meant) != 0))
            fail_msg("%s: %s instead of %s", rows[i].word, found ? found : "none",
                     rows[i].meant ? rows[i].meant : "none");
    }
    assert_null(near_find("memory", NULL, 0));
}

static void whoever_is_near_none_is_told_all(void **state)
{
    char text[NEAR_HINT_SIZE];

    (void)state;
    assert_string_equal(near_hint("memry", keys, KEYS, text), "did you mean memory?");
    assert_string_equal(near_hint("x", keys, KEYS, text),
                        "known: memory, pids, cpu, wall, wall_max, tmp, shm, home, disk, network, "
                        "deny_on_link");
    assert_string_equal(near_hint("x", keys, 1, text), "known: memory");
    assert_string_equal(near_hint("x", NULL, 0, text), "");
}

/* At any number of words, of any length. */
static void what_has_no_room_is_left_out_whole(void **state)
{
    static char words[64][48];
    const char *known[64], *last;
    char text[NEAR_HINT_SIZE];

    (void)state;
    for (size_t len = 1; len < sizeof(words[0]); len++) {
        for (size_t i = 0; i < 64; i++) {
            memset(words[i], 'w', len);
            words[i][len] = '\0';
            known[i] = words[i];
        }
        for (size_t count = 1; count <= 64; count++) {
            size_t got;

            (void)near_hint("\x01", known, count, text);
            got = strlen(text);
            assert_true(got < NEAR_HINT_SIZE);
            assert_memory_equal(text, "known: w", 8);
            last = strrchr(text, ' ') + 1;
            assert_true(strcmp(last, "...") == 0 || strlen(last) == len);
            if (strcmp(last, "...") != 0)
                assert_int_equal(got, 7 + count * (len + 2) - 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_is_near_and_another_word_is_not),
        cmocka_unit_test(whoever_is_near_none_is_told_all),
        cmocka_unit_test(what_has_no_room_is_left_out_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
