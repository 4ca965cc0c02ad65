/* SPDX-License-Identifier: ISC */
/*
 * test_registry_external_id.c - callers' keys for people: whom they find, and whom they must not.
 *
 * Whom a creation finds, the caller runs programs as. So every refusal here stands beside the
 * request that differs in one thing and is served.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define APP   990u
#define OTHER 991u

static struct user_spec person(uint32_t owner_uid, const char *external_id, const char *email)
{
    return (struct user_spec){.owner_uid = owner_uid, .external_id = external_id, .email = email};
}

/* user_create(), asserted to end like this; the uid, or 0 for a verdict without a user. */
static uint32_t gives(struct fixture *f, uint32_t owner_uid, const char *external_id,
                      const char *email, enum user_verdict expected)
{
    struct user_spec spec = person(owner_uid, external_id, email);
    struct user user = {0};
    enum user_verdict verdict = user_try(f, &spec, &user);

    if (verdict != expected)
        fail_msg("%u %s %s: verdict %d", owner_uid, external_id ? external_id : "-",
                 email ? email : "-", (int)verdict);
    return user.uid;
}

/* user_exists_already(), in the same way. */
static uint32_t would_give(struct fixture *f, uint32_t owner_uid, const char *external_id,
                           const char *email, enum user_verdict expected)
{
    struct user_spec spec = person(owner_uid, external_id, email);
    enum user_verdict verdict = USER_IDS_EXHAUSTED;
    struct user user = {0};

    assert_int_equal(user_exists_already(f->reg, &spec, &user, &verdict), 0);
    if (verdict != expected)
        fail_msg("%u %s %s: verdict %d", owner_uid, external_id ? external_id : "-",
                 email ? email : "-", (int)verdict);
    return user.uid;
}

static void key_is(struct fixture *f, uint32_t owner_uid, uint32_t uid, const char *expected)
{
    char id[EXTERNAL_ID_SIZE] = "";
    int r = user_external_id(f->reg, owner_uid, uid, id);

    assert_int_equal(r, expected ? 0 : -ENOENT);
    assert_string_equal(id, expected ? expected : "");
}

static void reopen(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

static void another_person_with_the_same_address_does_not_get_the_account(void **state)
{
    struct fixture *f = *state;
    uint32_t ada = gives(f, APP, "A", "ada@example.org", USER_CREATED);

    assert_int_equal(gives(f, APP, "B", "ada@example.org", USER_CONFLICT), 0);
    assert_int_equal(gives(f, APP, "B", "ADA@Example.org", USER_CONFLICT), 0);
    assert_int_equal(would_give(f, APP, "B", "ada@example.org", USER_CONFLICT), 0);
    key_is(f, APP, ada, "A");
    assert_int_equal(gives(f, APP, "A", "ada@example.org", USER_EXISTED), ada);
    assert_int_equal(would_give(f, APP, "A", "ada@example.org", USER_EXISTED), ada);
    /* Nothing of the refused request was kept: B is still nobody. */
    assert_int_not_equal(gives(f, APP, "B", NULL, USER_CREATED), ada);
}

static void same_key_of_two_callers_is_two_people(void **state)
{
    struct fixture *f = *state;
    uint32_t one = gives(f, APP, "42", NULL, USER_CREATED);
    uint32_t two, root;

    assert_int_equal(would_give(f, OTHER, "42", NULL, USER_CREATED), 0);
    two = gives(f, OTHER, "42", NULL, USER_CREATED);
    root = gives(f, 0, "42", NULL, USER_CREATED);
    assert_true(one != two && two != root && root != one);
    reopen(f);
    assert_int_equal(gives(f, APP, "42", NULL, USER_EXISTED), one);
    assert_int_equal(gives(f, OTHER, "42", NULL, USER_EXISTED), two);
    assert_int_equal(gives(f, 0, "42", NULL, USER_EXISTED), root);
    assert_int_equal(would_give(f, OTHER, "42", NULL, USER_EXISTED), two);
    key_is(f, APP, one, "42");
    key_is(f, APP, two, NULL);
}

static void key_is_bound_to_the_user_of_the_address(void **state)
{
    struct fixture *f = *state;
    struct registry_counts before, after;
    uint32_t ada = user_new(f, "ada@example.org").uid;

    assert_int_equal(registry_count(f->reg, &before), 0);
    assert_int_equal(would_give(f, APP, "A", "ada@example.org", USER_UNBOUND), ada);
    key_is(f, APP, ada, NULL); /* the question alone binds nothing */
    assert_int_equal(would_give(f, APP, "A", NULL, USER_CREATED), 0);
    assert_int_equal(gives(f, APP, "A", "ada@example.org", USER_EXISTED), ada);
    assert_int_equal(gives(f, OTHER, "o-1", "ada@example.org", USER_EXISTED), ada);
    /* Not visible to NSS. */
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_true(counts_equal(&before, &after));
    assert_true(index_agrees(f->dir, f->reg));
    reopen(f);
    key_is(f, APP, ada, "A");
    key_is(f, OTHER, ada, "o-1");
    key_is(f, 0, ada, NULL);
    assert_int_equal(would_give(f, APP, "A", NULL, USER_EXISTED), ada);
    assert_int_equal(gives(f, APP, "B", "ada@example.org", USER_CONFLICT), 0);
    assert_int_equal(gives(f, OTHER, "A", "ada@example.org", USER_CONFLICT), 0);
    assert_int_equal(gives(f, 0, NULL, "ada@example.org", USER_EXISTED), ada);
}

static int taken_never(void *arg, const char *name, uint32_t id)
{
    (void)name;
    (void)id;
    ++*(unsigned *)arg;
    return -EIO;
}

static void binding_needs_nothing_of_the_host(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = person(APP, "A", "ada@example.org");
    enum user_verdict verdict = USER_CONFLICT;
    uint32_t ada = user_new(f, "ada@example.org").uid;
    unsigned asked = 0;
    struct user user;

    assert_int_equal(user_create(f->reg, &spec, taken_never, &asked, &user, &verdict), 0);
    assert_int_equal(verdict, USER_EXISTED);
    assert_int_equal(user.uid, ada);
    assert_int_equal(asked, 0);
    spec = person(APP, "B", "eve@example.org");
    assert_int_equal(user_create(f->reg, &spec, taken_never, &asked, &user, &verdict), -EIO);
    assert_int_equal(asked, 1);
}

static void address_of_another_user_is_a_conflict(void **state)
{
    struct fixture *f = *state;
    uint32_t ada = gives(f, APP, "A", "ada@example.org", USER_CREATED);
    uint32_t eve = gives(f, APP, "E", "eve@example.org", USER_CREATED);
    uint32_t none = gives(f, APP, "N", NULL, USER_CREATED);

    assert_int_equal(gives(f, APP, "A", "eve@example.org", USER_CONFLICT), 0);
    assert_int_equal(gives(f, APP, "N", "eve@example.org", USER_CONFLICT), 0);
    assert_int_equal(would_give(f, APP, "N", "eve@example.org", USER_CONFLICT), 0);
    /* Nobody's address changes nothing, and is not stored. */
    assert_int_equal(gives(f, APP, "A", "ada@new.example", USER_EXISTED), ada);
    assert_int_equal(gives(f, APP, "N", "none@new.example", USER_EXISTED), none);
    assert_int_equal(would_give(f, APP, NULL, "none@new.example", USER_CREATED), 0);
    assert_int_equal(gives(f, APP, "E", "eve@example.org", USER_EXISTED), eve);
}

static void key_of_a_deleted_user_is_free_again(void **state)
{
    struct fixture *f = *state;
    uint32_t old = gives(f, APP, "A", "ada@example.org", USER_CREATED), again;
    uint32_t eve = gives(f, APP, "E", "eve@example.org", USER_CREATED);

    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'deleted' WHERE email = 'ada@example.org';"
                       "UPDATE meta SET generation = generation + 1");
    fixture_open(f);
    key_is(f, APP, old, NULL);
    key_is(f, APP, eve, "E");
    again = gives(f, APP, "A", "ada@example.org", USER_CREATED);
    assert_int_not_equal(again, old);
    key_is(f, APP, again, "A");
}

static void database_refuses_what_would_mix_up_people(void **state)
{
    static const struct {
        const char *sql;
        int rc;
    } cases[] = {
        {"INSERT INTO external_ids VALUES (990, 'A', 10002)", SQLITE_CONSTRAINT},
        {"INSERT INTO external_ids VALUES (990, 'B', 10001)", SQLITE_CONSTRAINT},
        {"INSERT INTO external_ids VALUES (991, 'A', 10003)", SQLITE_CONSTRAINT}, /* nobody */
        {"INSERT INTO external_ids VALUES (-1, 'A', 10001)", SQLITE_CONSTRAINT},
        {"INSERT INTO external_ids VALUES (991, '', 10001)", SQLITE_CONSTRAINT},
        {"UPDATE external_ids SET uid = 10002", SQLITE_CONSTRAINT},
        {"INSERT INTO external_ids VALUES (991, 'A', 10002)", SQLITE_OK},
    };
    struct fixture *f = *state;
    int64_t value;

    (void)gives(f, APP, "A", "ada@example.org", USER_CREATED);
    (void)user_new(f, "eve@example.org");
    fixture_close(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sql[128] = "PRAGMA foreign_keys = 1;";

        memcpy(sql + strlen(sql), cases[i].sql, strlen(cases[i].sql) + 1);
        if ((sql_run(f, sql, &value) & 0xff) != cases[i].rc)
            fail_msg("%s", cases[i].sql);
    }
    fixture_open(f);
}

struct listing {
    struct fixture *f;
    uint32_t uid;
    uint32_t owners[4];
    unsigned n, stop_at;
};

static int list_key(void *arg, uint32_t owner_uid, const char *external_id)
{
    struct listing *l = arg;

    key_is(l->f, owner_uid, l->uid, external_id); /* it may use the registry */
    if (l->n < 4)
        l->owners[l->n] = owner_uid;
    return ++l->n == l->stop_at ? 42 : 0;
}

static void keys_of_a_user_are_listed_by_caller(void **state)
{
    struct fixture *f = *state;
    uint32_t ada = gives(f, OTHER, "o-1", "ada@example.org", USER_CREATED);
    struct listing all = {.f = f, .uid = ada}, some = {.f = f, .uid = ada, .stop_at = 2};
    struct listing none = {.f = f};

    (void)gives(f, UINT32_MAX - 1, "last", "ada@example.org", USER_EXISTED);
    (void)gives(f, APP, "A", "ada@example.org", USER_EXISTED);
    (void)gives(f, 0, "root's", "ada@example.org", USER_EXISTED);
    (void)gives(f, APP, "E", "eve@example.org", USER_CREATED);
    assert_int_equal(user_external_id_list(f->reg, ada, list_key, &all), 0);
    assert_int_equal(all.n, 4);
    assert_int_equal(all.owners[0], 0);
    assert_int_equal(all.owners[1], APP);
    assert_int_equal(all.owners[2], OTHER);
    assert_int_equal(all.owners[3], UINT32_MAX - 1);
    assert_int_equal(user_external_id_list(f->reg, ada, list_key, &some), 42);
    assert_int_equal(some.n, 2);
    assert_int_equal(user_external_id_list(f->reg, 10000, list_key, &none), 0);
    assert_int_equal(none.n, 0);
}

#define KEY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEY_TEST(another_person_with_the_same_address_does_not_get_the_account),
        KEY_TEST(same_key_of_two_callers_is_two_people),
        KEY_TEST(key_is_bound_to_the_user_of_the_address),
        KEY_TEST(binding_needs_nothing_of_the_host),
        KEY_TEST(address_of_another_user_is_a_conflict),
        KEY_TEST(key_of_a_deleted_user_is_free_again),
        KEY_TEST(database_refuses_what_would_mix_up_people),
        KEY_TEST(keys_of_a_user_are_listed_by_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
