/* SPDX-License-Identifier: ISC */
/*
 * test_registry_index.c - the index after many changes is the one that the database makes.
 *
 * A publication reads only the rows that the change has touched. So after changes of every kind the
 * file must be the same, byte by byte, as the one that the next start makes of all rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ids.h"
#include "tests/unit/index_build.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define ROUNDS     40u
#define CHANGES    12u
#define NAMES_SIZE 64u

/* What the next start, with no index to compare with, writes is what is there now. */
static void database_makes_the_same_bytes(struct fixture *f)
{
    const char *index = path_of(f, "nss/index");
    unsigned char *file, *again;
    size_t size, size_again;

    assert_true(index_agrees(f->dir, f->reg));
    file = file_load(index, &size);
    fixture_close(f);
    assert_int_equal(unlink(index), 0);
    fixture_open(f);
    again = file_load(index, &size_again);
    assert_true(file && again);
    assert_int_equal(size, size_again);
    assert_memory_equal(file, again, size);
    free(file);
    free(again);
}

/* The host has every third name, and gives up now and then. */
static int taken_at_random(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)id;
    if (random_below(40) == 0)
        return -EIO;
    return name && random_below(3) == 0;
}

static void user_create_at_random(struct fixture *f, char (*groups)[NAME_SIZE], unsigned n)
{
    char email[48], name[NAME_SIZE], external_id[24];
    struct user_spec spec = {.email = email};
    enum user_verdict verdict;
    struct user user;

    (void)snprintf(email, sizeof(email), "u%u@example.org", random_below(60));
    (void)snprintf(name, sizeof(name), "name%u", random_below(60));
    (void)snprintf(external_id, sizeof(external_id), "x:%u", random_below(60));
    if (random_below(2) == 0)
        spec.name = name;
    if (random_below(3) == 0)
        spec.external_id = external_id;
    if (random_below(2) == 0)
        spec.group = n > 0 && random_below(8) > 0 ? groups[random_below(n)] : "no-such-group";
    /* Whatever the verdict: most of the interesting ones store nothing or only a part. */
    (void)user_create(f->reg, &spec, taken_at_random, NULL, &user, &verdict);
}

static void changes_of_every_kind_leave_the_index_of_the_database(void **state)
{
    static char groups[NAMES_SIZE][NAME_SIZE];
    struct fixture *f = *state;
    struct registry_counts counts;
    unsigned n = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < CHANGES; i++) {
            uint32_t uid = ID_ALLOC_MIN + random_below(80);
            struct group g;

            switch (random_below(6)) {
            case 0:
                if (n == NAMES_SIZE)
                    break;
                (void)snprintf(groups[n], NAME_SIZE, "group%u", random_below(60));
                if (group_create(f->reg, groups[n], taken_at_random, NULL, &g) == 0)
                    n++;
                break;
            case 1:
                (void)user_lock(f->reg, uid, true);
                break;
            case 2:
                (void)user_lock(f->reg, uid, false);
                break;
            default:
                user_create_at_random(f, groups, n);
                break;
            }
        }
        database_makes_the_same_bytes(f);
    }
    assert_int_equal(registry_count(f->reg, &counts), 0);
    print_message("%u users, %u groups\n", counts.users, counts.groups);
    assert_true(counts.users > 20 && counts.groups > 5);
}

#define INDEX_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        INDEX_TEST(changes_of_every_kind_leave_the_index_of_the_database),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
