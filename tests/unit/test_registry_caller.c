/* SPDX-License-Identifier: ISC */
/* test_registry_caller.c - groups, callers and the audit of runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

static void group_gets_an_id_of_the_same_counter(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {
        .email = "ada@example.org", .groups = (const char *const[]){"course-a"}, .group_count = 1};
    struct group g, again, groups[4];
    struct user u, plain;
    uint32_t gids[] = {ID_ALLOC_MIN, 0};
    size_t n = 99;

    plain = user_new(f, "maria@example.org");
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
    assert_int_equal(g.gid, plain.uid + 1);
    assert_true(index_has_group(f->dir, g.gid, "course-a"));
    assert_int_equal(group_by_name(f->reg, "course-a", &again), 0);
    assert_memory_equal(&g, &again, sizeof(g));
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_int_equal(u.uid, g.gid + 1);

    assert_int_equal(group_of_user(f->reg, u.uid, groups, 4, &n), 0);
    assert_int_equal(n, 2);
    assert_string_equal(groups[0].name, GROUP_ALL_USERS);
    assert_int_equal(groups[1].gid, g.gid);
    assert_int_equal(group_of_user(f->reg, u.uid, groups, 1, &n), -E2BIG);
    assert_int_equal(group_of_user(f->reg, plain.uid, groups, 1, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(group_of_user(f->reg, g.gid, groups, 4, &n), -ENOENT);
    gids[1] = g.gid;
    assert_true(index_has_gids(f->dir, "ada", gids, 2));
    assert_true(index_agrees(f->dir, f->reg));
}

static void bad_groups_are_refused(void **state)
{
    struct fixture *f = *state;
    struct registry_counts before, after;
    struct group g = {.gid = 7};

    (void)user_new(f, "maria@example.org");
    assert_int_equal(registry_count(f->reg, &before), 0);
    assert_int_equal(group_create(f->reg, "Course", taken_none, NULL, &g), -EINVAL);
    assert_int_equal(group_create(f->reg, "docker", taken_none, NULL, &g), -EPERM);
    assert_int_equal(group_create(f->reg, GROUP_ALL_USERS, taken_none, NULL, &g), -EPERM);
    assert_int_equal(group_create(f->reg, "maria", taken_none, NULL, &g), -EEXIST);
    assert_int_equal(group_by_name(f->reg, "docker", &g), -ENOENT);
    assert_int_equal(group_by_name(f->reg, "maria", &g), -ENOENT); /* private, not a course */
    assert_int_equal(g.gid, 7);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_true(counts_equal(&before, &after));
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), -EEXIST);
}

static int caller_count(void *arg, const struct caller *caller)
{
    uint32_t *last = arg;

    if (caller->uid <= last[1])
        return -EPROTO;
    last[0]++;
    last[1] = caller->uid;
    return 0;
}

static void caller_is_stored_replaced_and_deleted(void **state)
{
    struct fixture *f = *state;
    struct caller c = {.uid = 33, .verbs = 1u << CALLER_VERB_USERS | 1u << CALLER_VERB_RUNS}, got;
    uint32_t counted[2] = {0, 0};
    struct group g;

    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
    c.groups[0].gid = ID_ALLOC_MIN;
    c.groups[1].gid = g.gid;
    c.group_count = 2;
    assert_int_equal(caller_get(f->reg, 33, &got), -ENOENT);
    assert_int_equal(caller_put(f->reg, &c), 0);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(caller_get(f->reg, 33, &got), 0);
    assert_int_equal(got.uid, 33);
    assert_int_equal(got.verbs, c.verbs);
    assert_int_equal(got.group_count, 2);
    assert_string_equal(got.groups[0].name, GROUP_ALL_USERS);
    assert_string_equal(got.groups[1].name, "course-a");
    assert_true(got.created_s > 1600000000);

    c.verbs = 1u << CALLER_VERB_NET_PUBLIC;
    c.group_count = 1;
    assert_int_equal(caller_put(f->reg, &c), 0);
    assert_int_equal(caller_get(f->reg, 33, &got), 0);
    assert_int_equal(got.verbs, 1u << CALLER_VERB_NET_PUBLIC);
    assert_int_equal(got.group_count, 1);

    c.verbs = 1u << CALLER_VERB_LINKS | 1u << CALLER_VERB_USERS;
    assert_int_equal(caller_put(f->reg, &c), 0);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT verbs = 'users,links' FROM callers"), 1);
    fixture_open(f);
    assert_int_equal(caller_get(f->reg, 33, &got), 0);
    assert_int_equal(got.verbs, c.verbs);

    c.uid = 34;
    c.verbs = 0;
    assert_int_equal(caller_put(f->reg, &c), 0);
    assert_int_equal(caller_get(f->reg, 34, &got), 0);
    assert_int_equal(got.verbs, 0);
    assert_int_equal(caller_list(f->reg, caller_count, counted), 0);
    assert_int_equal(counted[0], 2);
    assert_int_equal(caller_del(f->reg, 33), 0);
    assert_int_equal(caller_get(f->reg, 33, &got), -ENOENT);
    assert_int_equal(caller_del(f->reg, 33), -ENOENT);
    assert_int_equal(caller_get(f->reg, 34, &got), 0);
}

static void bad_callers_are_refused(void **state)
{
    struct fixture *f = *state;
    struct caller good = {.uid = 33, .verbs = 1, .group_count = 1, .groups = {{.gid = 10000}}}, c;

    c = good;
    c.uid = 0;
    assert_int_equal(caller_put(f->reg, &c), -EINVAL);
    c = good;
    c.verbs = 1u << CALLER_VERB__COUNT;
    assert_int_equal(caller_put(f->reg, &c), -EINVAL);
    c = good;
    c.group_count = CALLER_GROUPS_MAX + 1;
    assert_int_equal(caller_put(f->reg, &c), -EINVAL);
    c = good;
    c.groups[0].gid = 27;
    assert_int_equal(caller_put(f->reg, &c), -ENOENT);
    assert_int_equal(caller_get(f->reg, 33, &c), -ENOENT); /* nothing of it was kept */
    assert_int_equal(caller_put(f->reg, &good), 0);
    fixture_close(f);
    (void)sql_value(f, "UPDATE callers SET verbs = 'users,everything'");
    fixture_open(f);
    assert_int_equal(caller_get(f->reg, 33, &c), -EBADMSG);
}

static void caller_acts_for_its_groups_alone(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {
        .email = "ada@example.org", .groups = (const char *const[]){"course-a"}, .group_count = 1};
    struct user plain = user_new(f, "maria@example.org"), ada;
    struct caller c = {.uid = 33, .verbs = 1};
    struct group g;
    bool may = true;

    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
    assert_int_equal(user_try(f, &spec, &ada), USER_CREATED);
    assert_int_equal(caller_may_act_for(f->reg, &c, ada.uid, &may), 0);
    assert_false(may);
    c.groups[0] = g;
    c.group_count = 1;
    assert_int_equal(caller_may_act_for(f->reg, &c, ada.uid, &may), 0);
    assert_true(may);
    assert_int_equal(caller_may_act_for(f->reg, &c, plain.uid, &may), 0);
    assert_false(may);
    assert_int_equal(caller_may_act_for(f->reg, &c, ada.uid + 1, &may), 0);
    assert_false(may);
    c.groups[1].gid = ID_ALLOC_MIN;
    c.group_count = 2;
    assert_int_equal(caller_may_act_for(f->reg, &c, plain.uid, &may), 0);
    assert_true(may);
    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET state = 'deleted' WHERE name = 'maria'");
    fixture_open(f);
    assert_int_equal(caller_may_act_for(f->reg, &c, plain.uid, &may), 0);
    assert_false(may);
}

static void run_is_stored_and_updated(void **state)
{
    struct fixture *f = *state;
    struct run_row row = {.run_id = "0123456789abcdef0123456789abcdef",
                          .uid = 10001,
                          .caller_uid = 33,
                          .net = "none",
                          .program = "python3",
                          .accepted_us = 1000,
                          .exit_code = -1};

    assert_int_equal(run_put(f->reg, &row), 0);
    row.ended_us = 2000;
    row.exit_code = 3;
    row.cpu_us = UINT64_MAX; /* cut to what SQLite holds */
    row.out_bytes = 5;
    assert_int_equal(str_copy(row.status, sizeof(row.status), "exit"), 0);
    assert_int_equal(run_put(f->reg, &row), 0);
    assert_int_equal(run_commit(f->reg), 0);
    assert_int_equal(run_commit(f->reg), 0);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM runs"), 1);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM runs WHERE status = 'exit' AND"
                                  " exit_code = 3 AND uid = 10001 AND caller_uid = 33 AND"
                                  " program = 'python3' AND net = 'none' AND accepted_us = 1000"
                                  " AND ended_us = 2000 AND out_bytes = 5"
                                  " AND cpu_us = 9223372036854775807"),
                     1);
}

static void bad_run_rows_are_refused(void **state)
{
    struct fixture *f = *state;
    struct run_row good = {.run_id = "0123456789abcdef0123456789abcdef"}, row;

    row = good;
    row.run_id[5] = 'G';
    assert_int_equal(run_put(f->reg, &row), -EINVAL);
    row = good;
    row.run_id[31] = '\0';
    assert_int_equal(run_put(f->reg, &row), -EINVAL);
    row = good;
    memset(row.program, 'x', sizeof(row.program));
    assert_int_equal(run_put(f->reg, &row), -EINVAL);
    assert_int_equal(run_put(f->reg, &good), 0);
}

static void other_changes_do_not_undo_runs(void **state)
{
    struct fixture *f = *state;
    struct run_row row = {.run_id = "0123456789abcdef0123456789abcdef", .ended_us = 1};
    struct user_spec spec = {
        .name = "maria", .groups = (const char *const[]){"no-such-group"}, .group_count = 1};
    struct user u;

    assert_int_equal(run_put(f->reg, &row), 0);
    assert_int_equal(user_try(f, &spec, &u), USER_NO_GROUP); /* begins and rolls back */
    row.run_id[0] = 'f';
    assert_int_equal(run_put(f->reg, &row), 0);
    spec.group_count = 0;
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM runs"), 2);
}

static void runs_of_a_crash_are_closed_at_open(void **state)
{
    struct fixture *f = *state;
    struct run_row open_row = {.run_id = "0123456789abcdef0123456789abcdef", .accepted_us = 1},
                   done = {.run_id = "f123456789abcdef0123456789abcdef", .ended_us = 5};

    assert_int_equal(str_copy(done.status, sizeof(done.status), "exit"), 0);
    assert_int_equal(run_put(f->reg, &open_row), 0);
    assert_int_equal(run_put(f->reg, &done), 0);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM runs WHERE ended_us = 0"), 1);
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM runs WHERE ended_us = 0"), 0);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM runs WHERE status = 'internal'"), 1);
    assert_int_equal(sql_value(f, "SELECT ended_us FROM runs WHERE status = 'exit'"), 5);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(group_gets_an_id_of_the_same_counter),
        REGISTRY_TEST(bad_groups_are_refused),
        REGISTRY_TEST(caller_is_stored_replaced_and_deleted),
        REGISTRY_TEST(bad_callers_are_refused),
        REGISTRY_TEST(caller_acts_for_its_groups_alone),
        REGISTRY_TEST(run_is_stored_and_updated),
        REGISTRY_TEST(bad_run_rows_are_refused),
        REGISTRY_TEST(other_changes_do_not_undo_runs),
        REGISTRY_TEST(runs_of_a_crash_are_closed_at_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
