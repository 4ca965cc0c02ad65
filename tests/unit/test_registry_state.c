/* SPDX-License-Identifier: ISC */
/* test_registry_state.c - lock and expiry of users. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

static enum user_state state_of(struct fixture *f, const struct user *user)
{
    struct user u = {.state = USER_STATE__COUNT};

    assert_int_equal(user_by_uid(f->reg, user->uid, &u), 0);
    return u.state;
}

static void reopen(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

static void lock_is_kept_and_nss_sees_nothing_of_it(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org"), other = user_new(f, "ada@example.org");
    struct registry_counts before, after;

    assert_int_equal(registry_count(f->reg, &before), 0);
    assert_int_equal(user_lock(f->reg, u.uid, false), 0); /* nothing to do */
    assert_int_equal(state_of(f, &u), USER_STATE_RESERVED);
    assert_int_equal(user_lock(f->reg, u.uid, true), 0);
    assert_int_equal(user_lock(f->reg, u.uid, true), 0);
    reopen(f);
    assert_int_equal(state_of(f, &u), USER_STATE_LOCKED);
    assert_int_equal(state_of(f, &other), USER_STATE_RESERVED);
    assert_int_equal(user_activate(f->reg, u.uid), 0);
    assert_int_equal(state_of(f, &u), USER_STATE_LOCKED);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_true(counts_equal(&before, &after));
    assert_int_equal(after.users_enabled, before.users_enabled - 1);
    assert_true(index_has_user(f->dir, u.uid, u.name));
    assert_int_equal(user_lock(f->reg, u.uid, false), 0);
    assert_int_equal(user_set_expiry(f->reg, other.uid, 1), 0);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_int_equal(after.users_enabled, before.users_enabled - 1);
    assert_int_equal(user_set_expiry(f->reg, other.uid, 0), 0);
    reopen(f);
    assert_int_equal(state_of(f, &u), USER_STATE_RESERVED);
    assert_int_equal(user_lock(f->reg, u.uid + 9, true), -ENOENT);
    assert_int_equal(user_lock(f->reg, u.uid + 9, false), -ENOENT);
    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'deleted' WHERE name = 'maria'");
    fixture_open(f);
    assert_int_equal(user_lock(f->reg, u.uid, true), -ENOENT);
    assert_int_equal(user_lock(f->reg, u.uid, false), -ENOENT);
    assert_int_equal(user_set_expiry(f->reg, u.uid, 5), -ENOENT);
}

static enum user_state relocked(struct fixture *f, const struct user *user)
{
    assert_int_equal(user_lock(f->reg, user->uid, true), 0);
    assert_int_equal(state_of(f, user), USER_STATE_LOCKED);
    assert_int_equal(user_lock(f->reg, user->uid, false), 0);
    return state_of(f, user);
}

/* A run, a used link or a session on record, each of which the others lack. */
static void unlocked_user_is_what_the_audit_says(void **state)
{
    struct fixture *f = *state;
    struct user run = user_new(f, "run@example.org"), link = user_new(f, "link@example.org"),
                session = user_new(f, "session@example.org"), none = user_new(f, "no@example.org");
    struct run_row run_row = {.run_id = "0123456789abcdef0123456789abcdef", .uid = run.uid};
    struct session_row session_row = {.session_id = "0123456789abcdef0123456789abcdef",
                                      .uid = session.uid};

    assert_int_equal(link_store(f->reg, 1, link.uid, LINK_PURPOSE_ANY), 0);
    assert_int_equal(link_store(f->reg, 2, none.uid, LINK_PURPOSE_ANY), 0);
    assert_int_equal(relocked(f, &run), USER_STATE_RESERVED);
    assert_int_equal(relocked(f, &link), USER_STATE_RESERVED);
    assert_int_equal(relocked(f, &session), USER_STATE_RESERVED);
    assert_int_equal(link_revoke(f->reg, "0000000000000002", LINK_MADE_S), 0);
    assert_int_equal(run_put(f->reg, &run_row), 0); /* in an open group */
    assert_int_equal(session_put(f->reg, &session_row), 0);
    assert_int_equal(link_try(f->reg, 1, 't', link.name, LINK_MADE_S), LINK_ACCEPTED);
    assert_int_equal(relocked(f, &run), USER_STATE_ACTIVE);
    assert_int_equal(relocked(f, &link), USER_STATE_ACTIVE);
    assert_int_equal(relocked(f, &session), USER_STATE_ACTIVE);
    assert_int_equal(relocked(f, &none), USER_STATE_RESERVED);
}

static void expiry_is_computed_when_read(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org");
    int64_t now = (int64_t)time(NULL);

    assert_int_equal(u.expires_s, 0);
    assert_int_equal(user_set_expiry(f->reg, u.uid, now + 3600), 0);
    reopen(f);
    assert_int_equal(user_by_name(f->reg, "maria", &u), 0);
    assert_int_equal(u.state, USER_STATE_RESERVED);
    assert_int_equal(u.expires_s, now + 3600);
    assert_int_equal(user_set_expiry(f->reg, u.uid, now), 0); /* over at that second */
    assert_int_equal(user_by_email(f->reg, "maria@example.org", &u), 0);
    assert_int_equal(u.state, USER_STATE_EXPIRED);
    assert_int_equal(user_activate(f->reg, u.uid), 0);
    assert_int_equal(user_set_expiry(f->reg, u.uid, -1), -EINVAL);
    assert_int_equal(state_of(f, &u), USER_STATE_EXPIRED);
    assert_int_equal(user_set_expiry(f->reg, u.uid, 0), 0);
    assert_int_equal(state_of(f, &u), USER_STATE_RESERVED); /* nothing was activated */
    assert_int_equal(user_activate(f->reg, u.uid), 0);
    assert_int_equal(state_of(f, &u), USER_STATE_ACTIVE);
    assert_int_equal(user_set_expiry(f->reg, u.uid, 1), 0);
    assert_int_equal(state_of(f, &u), USER_STATE_EXPIRED);
    assert_int_equal(user_set_expiry(f->reg, u.uid, 0), 0);
    assert_int_equal(state_of(f, &u), USER_STATE_ACTIVE);
    assert_int_equal(user_set_expiry(f->reg, u.uid + 1, 1), -ENOENT);
}

static void lock_outweighs_expiry(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org");

    assert_int_equal(user_set_expiry(f->reg, u.uid, 1), 0);
    assert_int_equal(user_lock(f->reg, u.uid, true), 0);
    assert_int_equal(state_of(f, &u), USER_STATE_LOCKED);
    assert_int_equal(user_set_expiry(f->reg, u.uid, 0), 0);
    assert_int_equal(state_of(f, &u), USER_STATE_LOCKED);
    assert_int_equal(user_set_expiry(f->reg, u.uid, 1), 0);
    assert_int_equal(user_lock(f->reg, u.uid, false), 0);
    assert_int_equal(state_of(f, &u), USER_STATE_EXPIRED);
}

static int64_t next_after(struct fixture *f, int64_t after_s)
{
    int64_t next = -1;

    assert_int_equal(user_next_expiry(f->reg, after_s, &next), 0);
    return next;
}

static void next_expiry_is_the_first_after_a_moment(void **state)
{
    struct fixture *f = *state;
    struct user a = user_new(f, "a@example.org"), b = user_new(f, "b@example.org"),
                c = user_new(f, "c@example.org");

    assert_int_equal(next_after(f, 0), 0);
    assert_int_equal(next_after(f, -5), 0);
    assert_int_equal(user_set_expiry(f->reg, a.uid, 200), 0);
    assert_int_equal(user_set_expiry(f->reg, b.uid, 100), 0);
    assert_int_equal(user_set_expiry(f->reg, c.uid, 300), 0);
    assert_int_equal(user_lock(f->reg, a.uid, true), 0);
    assert_int_equal(next_after(f, -5), 100);
    assert_int_equal(next_after(f, 99), 100);
    assert_int_equal(next_after(f, 100), 200); /* of a locked user */
    assert_int_equal(next_after(f, 299), 300);
    assert_int_equal(next_after(f, 300), 0);
    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'deleted' WHERE expires_s = 300");
    fixture_open(f);
    assert_int_equal(next_after(f, 200), 0);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(lock_is_kept_and_nss_sees_nothing_of_it),
        REGISTRY_TEST(unlocked_user_is_what_the_audit_says),
        REGISTRY_TEST(expiry_is_computed_when_read),
        REGISTRY_TEST(lock_outweighs_expiry),
        REGISTRY_TEST(next_expiry_is_the_first_after_a_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
