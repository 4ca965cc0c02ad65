/* SPDX-License-Identifier: ISC */
/* test_registry_refusal.c - why somebody would be refused is said as it is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define MANY (USER_GROUPS_MAX + 1)

/* "hosts" is a name of the host. */
static int taken_hosts(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)id;
    return name && strcmp(name, "hosts") == 0;
}

static uint32_t gid_of_new(struct fixture *f, const char *name)
{
    struct group g;

    assert_int_equal(group_create(f->reg, name, taken_none, NULL, &g), 0);
    return g.gid;
}

static struct user new_user(struct fixture *f, const struct user_spec *spec)
{
    enum user_verdict verdict;
    struct user u;

    assert_int_equal(user_create(f->reg, spec, taken_none, NULL, &u, &verdict), 0);
    assert_int_equal(verdict, USER_CREATED);
    return u;
}

/* Groups course-0 ..., as many as nobody can be in. */
static const char *const *courses_make(struct fixture *f)
{
    static char names[MANY][NAME_SIZE];
    static const char *courses[MANY];

    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "course-%u", i);
        courses[i] = names[i];
        (void)gid_of_new(f, names[i]);
    }
    return courses;
}

static void row_is_looked_at_as_it_is_stored(void **state)
{
    static const char *const missing[] = {"course-0", "nowhere"};
    static const char *const twice[] = {"course-1", "course-1", GROUP_ALL_USERS};
    struct fixture *f = *state;
    const char *const *courses = courses_make(f);
    const struct user_spec full = {
        .email = "full@example.org", .groups = courses, .group_count = USER_GROUPS_MAX};
    const struct user_spec known = {.email = "known@example.org", .external_id = "1"};
    const struct {
        struct user_spec spec;
        enum user_verdict verdict;
    } rows[] = {
        {{.email = "new@example.org"}, USER_CREATED},
        {{.name = "new", .groups = twice, .group_count = 3}, USER_CREATED},
        {{.name = "new", .groups = courses, .group_count = USER_GROUPS_MAX}, USER_CREATED},
        {{.name = "new", .groups = courses, .group_count = MANY}, USER_TOO_MANY_GROUPS},
        {{.email = "KNOWN@example.org"}, USER_EXISTED},
        {{.external_id = "1", .comment = "a:b", .name = "Not a name"}, USER_EXISTED},
        {{.email = "full@example.org", .external_id = "2"}, USER_EXISTED}, /* would be bound */
        {{.email = "full@example.org", .groups = courses, .group_count = 2}, USER_EXISTED},
        {{.email = "full@example.org", .groups = courses + 1, .group_count = USER_GROUPS_MAX},
         USER_TOO_MANY_GROUPS},
        {{.email = "known@example.org", .groups = missing, .group_count = 2}, USER_NO_GROUP},
        {{.name = "new", .groups = missing, .group_count = 2}, USER_NO_GROUP},
        {{.email = "known@example.org", .external_id = "2"}, USER_CONFLICT},
        {{.email = "full@example.org", .external_id = "1"}, USER_CONFLICT},
        {{.email = "nobody"}, USER_EMAIL_INVALID},
        {{.external_id = "a\tb"}, USER_EXTERNAL_ID_INVALID},
        {{.name = "New"}, USER_NAME_INVALID},
        {{.name = "docker"}, USER_NAME_RESERVED},
        {{.name = "known"}, USER_NAME_TAKEN},
        {{.name = "course-0"}, USER_NAME_TAKEN},
        {{.name = "hosts"}, USER_NAME_TAKEN},
        {{.name = "new", .comment = "a:b"}, USER_COMMENT_INVALID},
        {{.name = "new", .shell = "sh"}, USER_SHELL_INVALID},
    };

    (void)new_user(f, &full);
    (void)new_user(f, &known);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum user_verdict looked = USER_UNBOUND, stored = USER_UNBOUND;
        struct user u;
        size_t bad;

        assert_int_equal(user_check(f->reg, &rows[i].spec, taken_hosts, NULL, &looked), 0);
        assert_int_equal(
            user_create_batch(f->reg, &rows[i].spec, 1, true, taken_hosts, NULL, &u, &stored, &bad),
            0);
        if (looked != rows[i].verdict || stored != rows[i].verdict)
            fail_msg("row %zu: looked %d, stored %d, wanted %d", i, looked, stored,
                     rows[i].verdict);
    }
}

static enum used_by by_name(struct fixture *f, const char *name)
{
    enum used_by by = USED_BY_NOBODY;

    assert_int_equal(name_used_by(f->reg, name, &by), 0);
    return by;
}

static enum used_by by_id(struct fixture *f, uint32_t id)
{
    enum used_by by = USED_BY_NOBODY;

    assert_int_equal(id_used_by(f->reg, id, &by), 0);
    return by;
}

static void what_is_used_is_told_from_what_was(void **state)
{
    const struct user_spec anna = {.name = "anna"}, bert = {.name = "bert"};
    struct fixture *f = *state;
    uint32_t gid = gid_of_new(f, "spring"), gone = gid_of_new(f, "winter"), revoked;
    uint32_t uid = new_user(f, &anna).uid;

    (void)new_user(f, &bert);
    assert_int_equal(user_delete(f->reg, uid, &revoked), 0);
    assert_int_equal(group_rename(f->reg, gid, "summer", taken_none, NULL), 0);
    assert_int_equal(group_delete(f->reg, gone), 0);
    assert_int_equal(by_name(f, "bert"), USED_BY_USER);
    assert_int_equal(by_name(f, "summer"), USED_BY_GROUP);
    assert_int_equal(by_name(f, GROUP_ALL_USERS), USED_BY_GROUP);
    assert_int_equal(by_name(f, "anna"), USED_ONCE);
    assert_int_equal(by_name(f, "spring"), USED_ONCE);
    assert_int_equal(by_name(f, "winter"), USED_ONCE);
    assert_int_equal(by_name(f, "root"), USED_BY_NOBODY);
    assert_int_equal(by_name(f, "No Name"), USED_BY_NOBODY);
    assert_int_equal(by_id(f, uid), USED_ONCE);
    assert_int_equal(by_id(f, uid + 1), USED_BY_USER);
    assert_int_equal(by_id(f, gid), USED_BY_GROUP);
    assert_int_equal(by_id(f, gone), USED_ONCE);
    assert_int_equal(by_id(f, uid + 2), USED_BY_NOBODY);
}

static void first_group_that_is_none_is_found(void **state)
{
    static const char *const names[] = {GROUP_ALL_USERS, "spring", "No Name", "nowhere"};
    struct fixture *f = *state;
    const char *missing = "";

    (void)gid_of_new(f, "spring");
    assert_int_equal(group_first_missing(f->reg, names, 2, &missing), 0);
    assert_null(missing);
    assert_int_equal(group_first_missing(f->reg, names, 4, &missing), 0);
    assert_ptr_equal(missing, names[2]);
}

static void row_says_what_it_changed_of_who_exists(void **state)
{
    static const char *const first[] = {"course-1"};
    static const char *const more[] = {"course-0", GROUP_ALL_USERS, "course-1", "course-2"};
    struct fixture *f = *state;
    struct user_gain gains[2] = {{.groups = 77, .has_expiry = true}, {.expires_before_s = 77}};
    const struct user_spec old[2] = {
        {.email = "a@example.org", .groups = first, .group_count = 1, .expires_s = 4000000000},
        {.email = "b@example.org"},
    };
    const struct user_spec rows[2] = {
        {.email = "a@example.org",
         .groups = more,
         .group_count = 4,
         .expires_s = 0,
         .gain = &gains[0]},
        {.email = "b@example.org", .expires_s = EXPIRY_KEEP, .gain = &gains[1]},
    };
    enum user_verdict verdicts[2];
    struct user users[2];
    size_t bad;

    (void)courses_make(f);
    (void)new_user(f, &old[0]);
    (void)new_user(f, &old[1]);
    for (unsigned i = 0; i < 3; i++) { /* rehearsed, done, and done again */
        assert_int_equal(
            user_create_batch(f->reg, rows, 2, i == 0, taken_none, NULL, users, verdicts, &bad), 0);
        assert_int_equal(bad, 2);
        assert_int_equal(gains[0].groups, i < 2 ? 0x9 : 0);
        assert_int_equal(gains[0].has_expiry, i < 2);
        assert_int_equal(gains[0].expires_before_s, i < 2 ? 4000000000 : 0);
        assert_int_equal(gains[1].groups, 0);
        assert_false(gains[1].has_expiry);
        assert_int_equal(gains[1].expires_before_s, 0);
    }
}

static void range_is_that_of_the_open(void **state)
{
    struct fixture *f = *state;
    uint32_t min, max;

    registry_id_range(f->reg, &min, &max);
    assert_int_equal(min, ID_ALLOC_MIN);
    assert_int_equal(max, ID_ALLOC_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(row_is_looked_at_as_it_is_stored, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(what_is_used_is_told_from_what_was, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(first_group_that_is_none_is_found, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(row_says_what_it_changed_of_who_exists, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(range_is_that_of_the_open, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
