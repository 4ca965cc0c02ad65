/* SPDX-License-Identifier: ISC */
/* test_registry_user.c - users: names, ids, idempotence, what NSS shows of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

static void new_user_is_in_nss_before_the_answer(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "Maria.Lopez@Example.org"), again;
    const uint32_t gid = ID_ALLOC_MIN;

    assert_int_equal(u.uid, ID_ALLOC_MIN + 1);
    assert_string_equal(u.name, "marialop");
    assert_string_equal(u.email, "maria.lopez@example.org");
    assert_int_equal(u.state, USER_STATE_RESERVED);
    assert_true(u.created_s > 1600000000);
    assert_true(index_has_user(f->dir, u.uid, u.name));
    assert_true(index_has_gids(f->dir, "marialop", &gid, 1));
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(user_by_name(f->reg, "marialop", &again), 0);
    assert_memory_equal(&u, &again, sizeof(u));
    assert_int_equal(user_by_uid(f->reg, u.uid, &again), 0);
    assert_memory_equal(&u, &again, sizeof(u));
    assert_int_equal(user_by_email(f->reg, "MARIA.LOPEZ@example.org", &again), 0);
    assert_memory_equal(&u, &again, sizeof(u));
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(user_by_uid(f->reg, u.uid, &again), 0);
    assert_memory_equal(&u, &again, sizeof(u));
}

static void unknown_users_are_not_found(void **state)
{
    struct fixture *f = *state;
    struct user u = {.uid = 7};

    assert_int_equal(user_by_name(f->reg, "nobody-here", &u), -ENOENT);
    assert_int_equal(user_by_name(f->reg, "../etc", &u), -ENOENT);
    assert_int_equal(user_by_name(f->reg, NULL, &u), -ENOENT);
    assert_int_equal(user_by_uid(f->reg, 0, &u), -ENOENT);
    assert_int_equal(user_by_uid(f->reg, ID_ALLOC_MIN, &u), -ENOENT); /* a gid */
    assert_int_equal(user_by_email(f->reg, "nobody@example.org", &u), -ENOENT);
    assert_int_equal(user_by_email(f->reg, "' OR 1=1 --", &u), -ENOENT);
    assert_int_equal(u.uid, 7);
}

static void repeated_creation_gives_the_same_user(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.email = "ada@example.org", .external_id = "id-1"};
    struct registry_counts before, after;
    struct user first, again;
    enum user_verdict verdict;

    assert_int_equal(user_exists_already(f->reg, &spec, &again, &verdict), 0);
    assert_int_equal(verdict, USER_CREATED);
    assert_int_equal(user_try(f, &spec, &first), USER_CREATED);
    assert_int_equal(registry_count(f->reg, &before), 0);

    assert_int_equal(user_try(f, &spec, &again), USER_EXISTED);
    assert_memory_equal(&first, &again, sizeof(first));
    spec = (struct user_spec){.email = "ADA@EXAMPLE.ORG"};
    assert_int_equal(user_try(f, &spec, &again), USER_EXISTED);
    assert_memory_equal(&first, &again, sizeof(first));
    spec = (struct user_spec){.external_id = "id-1", .name = "other"};
    assert_int_equal(user_try(f, &spec, &again), USER_EXISTED);
    assert_memory_equal(&first, &again, sizeof(first));
    /* external_id comes first; the new e-mail changes nothing. */
    spec = (struct user_spec){.external_id = "id-1", .email = "new@example.org"};
    assert_int_equal(user_try(f, &spec, &again), USER_EXISTED);
    assert_memory_equal(&first, &again, sizeof(first));
    assert_int_equal(user_exists_already(f->reg, &spec, &again, &verdict), 0);
    assert_int_equal(verdict, USER_EXISTED);
    assert_memory_equal(&first, &again, sizeof(first));
    assert_int_equal(user_by_email(f->reg, "new@example.org", &again), -ENOENT);

    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_true(counts_equal(&before, &after));
    spec = (struct user_spec){.external_id = "ID-1"}; /* case counts in external ids */
    assert_int_equal(user_try(f, &spec, &again), USER_CREATED);
    assert_int_not_equal(again.uid, first.uid);
}

static void two_people_in_one_request_are_a_conflict(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.external_id = "id-1"};
    struct user u = {0};
    enum user_verdict verdict;

    (void)user_new(f, "ada@example.org");
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    spec.email = "ada@example.org";
    u.uid = 7;
    assert_int_equal(user_try(f, &spec, &u), USER_CONFLICT);
    assert_int_equal(user_exists_already(f->reg, &spec, &u, &verdict), 0);
    assert_int_equal(verdict, USER_CONFLICT);
    assert_int_equal(u.uid, 7);
}

static void name_without_email_is_made_from_the_uid(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.external_id = "maria.lopez"};
    struct user u;

    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_string_equal(u.name, "u10001");
    spec = (struct user_spec){.name = "karl"};
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_string_equal(u.name, "karl");
    assert_string_equal(u.email, "");
}

static void generated_names_never_clash(void **state)
{
    struct fixture *f = *state;
    char email[64];

    assert_string_equal(user_new(f, "maria@a.example").name, "maria");
    assert_string_equal(user_new(f, "maria@b.example").name, "maria2");
    assert_string_equal(user_new(f, "maria@c.example").name, "maria3");
    assert_string_equal(user_new(f, "root@a.example").name, "root2");
    assert_string_equal(user_new(f, "marialopez@a.example").name, "marialop");
    for (int i = 2; i <= 12; i++) {
        char expected[NAME_SIZE];

        (void)snprintf(email, sizeof(email), "marialopez@host%d.example", i);
        (void)snprintf(expected, sizeof(expected), i < 10 ? "marialo%d" : "marial%d", i);
        assert_string_equal(user_new(f, email).name, expected);
    }
}

static void given_name_is_checked(void **state)
{
    static const struct {
        const char *name;
        enum user_verdict verdict;
    } cases[] = {
        {"", USER_NAME_INVALID},
        {"Maria", USER_NAME_INVALID},
        {"2nd", USER_NAME_INVALID},
        {"a b", USER_NAME_INVALID},
        {"a.b", USER_NAME_INVALID},
        {"abcdefghijklmnopqrstuvwxyz-123456", USER_NAME_INVALID},
        {"docker", USER_NAME_RESERVED},
        {"atelier-users", USER_NAME_RESERVED},
        {"karl", USER_NAME_TAKEN},
        {"course-a", USER_NAME_TAKEN},
        {"karla-with-a-rather-long-name12", USER_CREATED},
    };
    struct fixture *f = *state;
    struct registry_counts counts;
    struct group g;
    struct user u;

    (void)user_new(f, "karl@example.org");
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct user_spec spec = {.name = cases[i].name};
        enum user_verdict verdict = user_try(f, &spec, &u);

        if (verdict != cases[i].verdict)
            fail_msg("%s: verdict %d", cases[i].name, (int)verdict);
    }
    assert_int_equal(registry_count(f->reg, &counts), 0);
    assert_int_equal(counts.users, 2);
}

static void bad_fields_are_named(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.email = "maria"};
    struct user u;
    enum user_verdict verdict;

    assert_int_equal(user_try(f, &spec, &u), USER_EMAIL_INVALID);
    assert_int_equal(user_exists_already(f->reg, &spec, &u, &verdict), 0);
    assert_int_equal(verdict, USER_CREATED);
    spec = (struct user_spec){.email = "maria@example.org", .external_id = "a\nb"};
    assert_int_equal(user_try(f, &spec, &u), USER_EXTERNAL_ID_INVALID);
    spec = (struct user_spec){.email = "maria@example.org",
                              .groups = (const char *const[]){"no-such-group"},
                              .group_count = 1};
    assert_int_equal(user_try(f, &spec, &u), USER_NO_GROUP);
    spec = (struct user_spec){0};
    assert_int_equal(user_create(f->reg, &spec, taken_none, NULL, &u, &verdict), -EINVAL);
    spec.name = "maria";
    assert_int_equal(user_create(f->reg, &spec, NULL, NULL, &u, &verdict), -EINVAL);
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_int_equal(u.uid, ID_ALLOC_MIN + 1); /* nothing before it cost an id */
}

/* A host with accounts of its own. */
struct host {
    const char *name;
    uint32_t id_first, id_last;
    int error;
    const char *error_at; /* name for which the host cannot be asked; NULL: ids */
    int error_last;       /* for the question before COMMIT */
    unsigned asked, asked_last;
};

static int taken_by_host(void *arg, const char *name, uint32_t id)
{
    struct host *h = arg;

    h->asked++;
    if (!name && id == 0) {
        h->asked_last++;
        return h->error_last;
    }
    if (h->error != 0 && (h->error_at ? name && strcmp(name, h->error_at) == 0 : id != 0))
        return h->error;
    if (name)
        return h->name && strcmp(name, h->name) == 0;
    return id >= h->id_first && id <= h->id_last;
}

static void what_the_host_has_is_left_alone(void **state)
{
    struct fixture *f = *state;
    struct host host = {.name = "maria", .id_first = ID_ALLOC_MIN + 1, .id_last = ID_ALLOC_MIN + 5};
    struct user_spec spec = {.email = "maria@example.org"};
    enum user_verdict verdict;
    struct group g;
    struct user u;

    assert_int_equal(user_create(f->reg, &spec, taken_by_host, &host, &u, &verdict), 0);
    assert_int_equal(verdict, USER_CREATED);
    assert_int_equal(u.uid, ID_ALLOC_MIN + 6);
    assert_string_equal(u.name, "maria2");
    assert_true(host.asked >= 8);
    spec = (struct user_spec){.name = "maria"};
    assert_int_equal(user_create(f->reg, &spec, taken_by_host, &host, &u, &verdict), 0);
    assert_int_equal(verdict, USER_NAME_TAKEN);
    assert_int_equal(group_create(f->reg, "maria", taken_by_host, &host, &g), -EEXIST);
    /* The skipped ids are behind the counter now, free or not. */
    assert_int_equal(user_new(f, "ada@example.org").uid, ID_ALLOC_MIN + 7);
}

static void host_that_cannot_be_asked_fails_the_creation(void **state)
{
    struct fixture *f = *state;
    struct host host = {.error = -EAGAIN};
    struct user_spec spec = {.email = "maria@example.org"};
    enum user_verdict verdict = USER_CONFLICT;
    struct registry_counts before, after;
    struct user u = {.uid = 7};
    struct group g;

    assert_int_equal(registry_count(f->reg, &before), 0);
    assert_int_equal(user_create(f->reg, &spec, taken_by_host, &host, &u, &verdict), -EAGAIN);
    host.error_at = "maria";
    assert_int_equal(user_create(f->reg, &spec, taken_by_host, &host, &u, &verdict), -EAGAIN);
    host.error_at = "course-a";
    assert_int_equal(group_create(f->reg, "course-a", taken_by_host, &host, &g), -EAGAIN);
    assert_int_equal(u.uid, 7);
    assert_int_equal(verdict, USER_CONFLICT);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_true(counts_equal(&before, &after));
    assert_int_equal(user_by_email(f->reg, "maria@example.org", &u), -ENOENT);
    host = (struct host){0};
    assert_int_equal(user_create(f->reg, &spec, taken_by_host, &host, &u, &verdict), 0);
    assert_int_equal(u.uid, ID_ALLOC_MIN + 1);
}

/* The lock was there for every name and id, and is gone when all is written but the COMMIT. */
static void lock_that_is_lost_before_commit_undoes_the_creation(void **state)
{
    static const struct {
        int answer, result;
    } cases[] = {{-ETIMEDOUT, -ETIMEDOUT}, {1, -EBUSY}};
    struct fixture *f = *state;
    struct user_spec spec = {.email = "maria@example.org", .external_id = "id-1"};
    struct registry_counts before, after;
    struct host host = {0};
    struct user u = {.uid = 7};
    struct group g = {.gid = 7};
    enum user_verdict verdict;

    assert_int_equal(registry_count(f->reg, &before), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        host = (struct host){.error_last = cases[i].answer};
        verdict = USER_CONFLICT;
        assert_int_equal(user_create(f->reg, &spec, taken_by_host, &host, &u, &verdict),
                         cases[i].result);
        assert_int_equal(verdict, USER_CONFLICT);
        assert_int_equal(host.asked_last, 1);
        assert_int_equal(host.asked, 3); /* id, name, and whether it may still */
        assert_int_equal(group_create(f->reg, "course-a", taken_by_host, &host, &g),
                         cases[i].result);
        assert_int_equal(host.asked_last, 2);
        assert_non_null(strstr(registry_error(f->reg), "not stored"));
        assert_int_equal(registry_count(f->reg, &after), 0);
        assert_true(counts_equal(&before, &after));
        assert_int_equal(access(path_of(f, "nss/.index.tmp"), F_OK), -1);
        assert_true(index_agrees(f->dir, f->reg));
    }
    assert_int_equal(u.uid, 7);
    assert_int_equal(g.gid, 7);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM users"), 0);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM tombstones"), 1); /* GROUP_ALL_USERS */
    fixture_open(f);
    host = (struct host){0};
    assert_int_equal(user_create(f->reg, &spec, taken_by_host, &host, &u, &verdict), 0);
    assert_int_equal(verdict, USER_CREATED);
    assert_int_equal(u.uid, ID_ALLOC_MIN + 1);
    assert_int_equal(host.asked_last, 1);
    assert_int_equal(group_create(f->reg, "course-a", taken_by_host, &host, &g), 0);
    assert_true(index_agrees(f->dir, f->reg));
}

static void ids_and_names_of_the_deleted_never_come_back(void **state)
{
    struct fixture *f = *state;
    struct user old = user_new(f, "maria@example.org"), u;
    struct user_spec spec = {.name = "maria"};

    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'deleted' WHERE name = 'maria';"
                       "UPDATE meta SET generation = generation + 1");
    fixture_open(f);
    assert_int_equal(user_by_uid(f->reg, old.uid, &u), -ENOENT);
    assert_int_equal(user_by_name(f->reg, "maria", &u), -ENOENT);
    assert_int_equal(user_by_email(f->reg, "maria@example.org", &u), -ENOENT);
    assert_false(index_has_user(f->dir, old.uid, "maria"));
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(user_try(f, &spec, &u), USER_NAME_TAKEN);
    u = user_new(f, "maria@example.org");
    assert_int_equal(u.uid, old.uid + 1);
    assert_string_equal(u.name, "maria2");
    assert_true(index_agrees(f->dir, f->reg));
}

/* Also when the counter was lost: the tombstones alone keep the id. */
static void tombstone_alone_keeps_an_id(void **state)
{
    struct fixture *f = *state;

    (void)user_new(f, "maria@example.org");
    (void)user_new(f, "ada@example.org");
    fixture_close(f);
    (void)sql_value(f, "DROP TRIGGER meta_only_grows; UPDATE meta SET next_id = 10000");
    fixture_open(f);
    assert_int_equal(user_new(f, "karl@example.org").uid, ID_ALLOC_MIN + 3);
}

static void ids_run_out_cleanly(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.email = "late@example.org"};
    struct registry_counts counts;
    struct group g;
    struct user u;

    fixture_close(f);
    (void)sql_value(f, "UPDATE meta SET next_id = 59899");
    fixture_open(f);
    assert_int_equal(user_new(f, "last@example.org").uid, ID_ALLOC_MAX);
    assert_int_equal(registry_count(f->reg, &counts), 0);
    assert_int_equal(counts.ids_free, 0);
    assert_int_equal(user_try(f, &spec, &u), USER_IDS_EXHAUSTED);
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), -ENOSPC);
    spec.email = "last@example.org";
    assert_int_equal(user_try(f, &spec, &u), USER_EXISTED);
    assert_true(index_agrees(f->dir, f->reg));
}

struct listing {
    struct fixture *f;
    uint32_t last;
    unsigned n;
    unsigned stop_at;
};

static int list_row(void *arg, const struct user *user)
{
    struct listing *l = arg;
    struct user again;

    if (user->uid <= l->last || user_by_uid(l->f->reg, user->uid, &again) < 0 ||
        user_activate(l->f->reg, user->uid) < 0)
        return -EPROTO;
    l->last = user->uid;
    return ++l->n == l->stop_at ? 42 : 0;
}

static void listing_is_ascending_and_may_use_the_registry(void **state)
{
    struct fixture *f = *state;
    struct listing all = {.f = f}, some = {.f = f, .stop_at = 40};
    char email[32];

    for (int i = 0; i < 70; i++) {
        (void)snprintf(email, sizeof(email), "p%d@example.org", i);
        (void)user_new(f, email);
    }
    assert_int_equal(user_list(f->reg, list_row, &all), 0);
    assert_int_equal(all.n, 70);
    assert_int_equal(user_list(f->reg, list_row, &some), 42);
    assert_int_equal(some.n, 40);
}

static void first_login_activates_once(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org");
    struct registry_counts before, after;

    assert_int_equal(registry_count(f->reg, &before), 0);
    assert_int_equal(user_activate(f->reg, u.uid), 0);
    assert_int_equal(user_activate(f->reg, u.uid), 0);
    assert_int_equal(user_by_uid(f->reg, u.uid, &u), 0);
    assert_int_equal(u.state, USER_STATE_ACTIVE);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_int_equal(before.generation, after.generation);
    assert_int_equal(user_activate(f->reg, u.uid + 1), -ENOENT);
    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'locked'");
    fixture_open(f);
    assert_int_equal(user_activate(f->reg, u.uid), 0);
    assert_int_equal(user_by_uid(f->reg, u.uid, &u), 0);
    assert_int_equal(u.state, USER_STATE_LOCKED);
    assert_true(index_has_user(f->dir, u.uid, u.name)); /* locked users keep their names */
}

static void keys_of_states_are_those_of_the_table(void **state)
{
    (void)state;
    assert_string_equal(user_state_key(USER_STATE_RESERVED), "reserved");
    assert_string_equal(user_state_key(USER_STATE_DELETED), "deleted");
    assert_string_equal(user_state_key(USER_STATE__COUNT), "unknown");
    assert_string_equal(caller_verb_key(CALLER_VERB_NET_PUBLIC), "net-public");
    assert_string_equal(caller_verb_key(CALLER_VERB__COUNT), "unknown");
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(new_user_is_in_nss_before_the_answer),
        REGISTRY_TEST(unknown_users_are_not_found),
        REGISTRY_TEST(repeated_creation_gives_the_same_user),
        REGISTRY_TEST(two_people_in_one_request_are_a_conflict),
        REGISTRY_TEST(name_without_email_is_made_from_the_uid),
        REGISTRY_TEST(generated_names_never_clash),
        REGISTRY_TEST(given_name_is_checked),
        REGISTRY_TEST(bad_fields_are_named),
        REGISTRY_TEST(what_the_host_has_is_left_alone),
        REGISTRY_TEST(host_that_cannot_be_asked_fails_the_creation),
        REGISTRY_TEST(lock_that_is_lost_before_commit_undoes_the_creation),
        REGISTRY_TEST(ids_and_names_of_the_deleted_never_come_back),
        REGISTRY_TEST(tombstone_alone_keeps_an_id),
        REGISTRY_TEST(ids_run_out_cleanly),
        REGISTRY_TEST(listing_is_ascending_and_may_use_the_registry),
        REGISTRY_TEST(first_login_activates_once),
        REGISTRY_TEST(keys_of_states_are_those_of_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
