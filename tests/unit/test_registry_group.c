/* SPDX-License-Identifier: ISC */
/* test_registry_group.c - groups that get another name, other members, or go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

/* course-a (10001) and course-b (10002); ada (10003) and karl (10004) in course-a. */
struct scene {
    struct fixture *f;
    uint32_t ada, karl;
};

static struct scene scene_make(void **state)
{
    struct scene s = {.f = *state};
    struct group g;

    assert_int_equal(group_create(s.f->reg, "course-a", taken_none, NULL, &g), 0);
    assert_int_equal(group_create(s.f->reg, "course-b", taken_none, NULL, &g), 0);
    s.ada = user_new(s.f, "ada@example.org").uid;
    s.karl = user_new(s.f, "karl@example.org").uid;
    assert_int_equal(user_join_group(s.f->reg, s.ada, "course-a"), 0);
    assert_int_equal(user_join_group(s.f->reg, s.karl, "course-a"), 0);
    return s;
}

static int name_add(void *arg, const struct user *user)
{
    char *text = arg;
    size_t len = strlen(text);

    (void)snprintf(text + len, 256 - len, "%s%s", len > 0 ? "," : "", user->name);
    return 0;
}

static void members_are(struct fixture *f, uint32_t gid, const char *expected)
{
    char text[256] = "";

    assert_int_equal(group_member_list(f->reg, gid, name_add, text), 0);
    assert_string_equal(text, expected);
    assert_true(index_agrees(f->dir, f->reg));
}

static uint64_t generation(struct fixture *f)
{
    struct registry_counts counts;

    assert_int_equal(registry_count(f->reg, &counts), 0);
    return counts.generation;
}

static int taken_by_host(void *arg, const char *name, uint32_t id)
{
    (void)id;
    return name && strcmp(name, arg) == 0;
}

static void renamed_group_keeps_gid_and_members(void **state)
{
    struct scene s = scene_make(state);
    uint64_t before = generation(s.f);
    struct group g;

    assert_int_equal(group_rename(s.f->reg, 10001, "spring", taken_none, NULL), 0);
    assert_int_equal(generation(s.f), before + 1);
    assert_int_equal(group_by_name(s.f->reg, "course-a", &g), -ENOENT);
    assert_int_equal(group_by_name(s.f->reg, "spring", &g), 0);
    assert_int_equal(g.gid, 10001);
    members_are(s.f, 10001, "ada,karl");
    assert_int_equal(group_rename(s.f->reg, 10001, "spring", taken_none, NULL), 0);
    assert_int_equal(generation(s.f), before + 1);
}

static void names_a_group_had_stay_used(void **state)
{
    struct scene s = scene_make(state);
    struct user_spec spec = {.name = "course-a"};
    char *issued;
    struct user u;
    struct group g;

    assert_int_equal(group_rename(s.f->reg, 10001, "spring", taken_none, NULL), 0);
    assert_int_equal(group_rename(s.f->reg, 10001, "summer", taken_none, NULL), 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(group_create(s.f->reg, "course-a", taken_none, NULL, &g), -EEXIST);
        assert_int_equal(group_create(s.f->reg, "spring", taken_none, NULL, &g), -EEXIST);
        assert_int_equal(group_rename(s.f->reg, 10002, "spring", taken_none, NULL), -EEXIST);
        assert_int_equal(group_rename(s.f->reg, 10001, "course-a", taken_none, NULL), -EEXIST);
        assert_int_equal(user_try(s.f, &spec, &u), USER_NAME_TAKEN);
        fixture_close(s.f);
        fixture_open(s.f);
    }
    issued = file_text(path_of(s.f, "ledger/issued"));
    assert_non_null(strstr(issued, "\n10001 group course-a\n"));
    assert_non_null(strstr(issued, "\n10001 group spring\n10001 group summer\n"));
    free(issued);
    members_are(s.f, 10001, "ada,karl");
}

static void rename_is_refused_as_creation_is(void **state)
{
    struct scene s = scene_make(state);
    uint64_t before = generation(s.f);
    char host[] = "plumbers";
    struct group g;

    assert_int_equal(group_rename(s.f->reg, 10001, "Spring", taken_none, NULL), -EINVAL);
    assert_int_equal(group_rename(s.f->reg, 10001, "spring", NULL, NULL), -EINVAL);
    assert_int_equal(group_rename(s.f->reg, 10001, "docker", taken_none, NULL), -EPERM);
    assert_int_equal(group_rename(s.f->reg, 10001, "ada", taken_none, NULL), -EEXIST);
    assert_int_equal(group_rename(s.f->reg, 10001, "course-b", taken_none, NULL), -EEXIST);
    assert_int_equal(group_rename(s.f->reg, 10001, "plumbers", taken_by_host, host), -EEXIST);
    assert_int_equal(group_rename(s.f->reg, 10000, "everybody", taken_none, NULL), -EPERM);
    assert_int_equal(group_rename(s.f->reg, s.ada, "spring", taken_none, NULL), -ENOENT);
    assert_int_equal(group_rename(s.f->reg, 10999, "spring", taken_none, NULL), -ENOENT);
    assert_int_equal(group_by_name(s.f->reg, "course-a", &g), 0);
    assert_int_equal(generation(s.f), before);
    assert_int_equal(group_rename(s.f->reg, 10001, "spring", taken_by_host, host), 0);
}

static void deleted_group_is_gone_but_for_the_tombstone(void **state)
{
    struct scene s = scene_make(state);
    struct caller caller = {.uid = 33, .verbs = 1, .group_count = 1, .groups = {{.gid = 10001}}};
    char text[256] = "";
    struct group g;

    assert_int_equal(caller_put(s.f->reg, &caller), 0);
    assert_int_equal(group_delete(s.f->reg, 10001), -EBUSY);
    assert_non_null(strstr(registry_error(s.f->reg), "course-a"));
    members_are(s.f, 10001, "ada,karl");
    caller.groups[0].gid = 10002;
    assert_int_equal(caller_put(s.f->reg, &caller), 0);
    assert_int_equal(group_delete(s.f->reg, 10001), 0);
    assert_true(index_agrees(s.f->dir, s.f->reg));
    assert_int_equal(group_by_name(s.f->reg, "course-a", &g), -ENOENT);
    assert_int_equal(group_member_list(s.f->reg, 10001, name_add, text), -ENOENT);
    assert_int_equal(group_delete(s.f->reg, 10001), -ENOENT);
    assert_int_equal(group_delete(s.f->reg, 10000), -EPERM);
    assert_int_equal(group_delete(s.f->reg, s.ada),
                     -ENOENT); /* a private group goes with its user */
    assert_int_equal(group_create(s.f->reg, "course-a", taken_none, NULL, &g), -EEXIST);
    assert_int_equal(group_create(s.f->reg, "course-c", taken_none, NULL, &g), 0);
    assert_int_equal(g.gid, 10005);
    members_are(s.f, 10000, "ada,karl");
    fixture_close(s.f);
    assert_int_equal(sql_value(s.f, "SELECT count(*) FROM members WHERE gid = 10001"), 0);
}

static void members_are_set_added_and_removed(void **state)
{
    struct scene s = scene_make(state);
    uint32_t eve = user_new(s.f, "eve@example.org").uid;
    uint64_t before = generation(s.f);
    const uint32_t swapped[] = {eve, s.ada, eve};

    assert_int_equal(group_members_change(s.f->reg, 10001, USER_GROUPS_SET, swapped, 3), 0);
    members_are(s.f, 10001, "ada,eve");
    assert_int_equal(generation(s.f), before + 1);
    assert_int_equal(group_members_change(s.f->reg, 10001, USER_GROUPS_ADD, &s.karl, 1), 0);
    members_are(s.f, 10001, "ada,karl,eve");
    assert_int_equal(group_members_change(s.f->reg, 10001, USER_GROUPS_REMOVE, &eve, 1), 0);
    members_are(s.f, 10001, "ada,karl");
    assert_int_equal(generation(s.f), before + 3);
    /* What is so is not published again. */
    assert_int_equal(group_members_change(s.f->reg, 10001, USER_GROUPS_REMOVE, &eve, 1), 0);
    assert_int_equal(group_members_change(s.f->reg, 10001, USER_GROUPS_ADD, &s.karl, 1), 0);
    assert_int_equal(group_members_change(s.f->reg, 10001, USER_GROUPS_KEEP, NULL, 0), 0);
    assert_int_equal(generation(s.f), before + 3);
    assert_int_equal(group_members_change(s.f->reg, 10001, USER_GROUPS_SET, NULL, 0), 0);
    members_are(s.f, 10001, "");
    members_are(s.f, 10002, "");
    members_are(s.f, 10000, "ada,karl,eve");
}

static void members_that_are_refused_change_nothing(void **state)
{
    struct scene s = scene_make(state);
    const uint32_t unknown[] = {s.karl, 10999}, group[] = {10002};
    uint32_t links;
    uint64_t before;

    before = generation(s.f);
    assert_int_equal(group_members_change(s.f->reg, 10002, USER_GROUPS_ADD, unknown, 2), -ENOENT);
    assert_int_equal(group_members_change(s.f->reg, 10002, USER_GROUPS_ADD, group, 1), -ENOENT);
    assert_int_equal(group_members_change(s.f->reg, 10001, USER_GROUPS_SET, unknown, 2), -ENOENT);
    assert_int_equal(group_members_change(s.f->reg, 10000, USER_GROUPS_SET, NULL, 0), -EPERM);
    assert_int_equal(group_members_change(s.f->reg, 10999, USER_GROUPS_SET, NULL, 0), -ENOENT);
    members_are(s.f, 10001, "ada,karl");
    members_are(s.f, 10002, "");
    assert_int_equal(generation(s.f), before);
    /* Who is deleted is in nothing and comes into nothing. */
    assert_int_equal(user_delete(s.f->reg, s.karl, &links), 0);
    members_are(s.f, 10001, "ada");
    assert_int_equal(group_members_change(s.f->reg, 10002, USER_GROUPS_ADD, &s.karl, 1), -ENOENT);
    assert_int_equal(group_members_change(s.f->reg, 10002, USER_GROUPS_ADD, &s.ada, 1), 0);
    members_are(s.f, 10002, "ada");
}

static void name_and_members_change_together_or_not_at_all(void **state)
{
    struct scene s = scene_make(state);
    uint64_t before = generation(s.f);
    const uint32_t good[] = {s.karl}, unknown[] = {10999};
    struct group_change change = {
        .name = "spring", .how = USER_GROUPS_SET, .uids = unknown, .n = 1};
    char host[] = "plumbers";
    struct group g;

    assert_int_equal(group_change(s.f->reg, 10001, &change, taken_none, NULL), -ENOENT);
    change.uids = good;
    change.name = "plumbers";
    assert_int_equal(group_change(s.f->reg, 10001, &change, taken_by_host, host), -EEXIST);
    assert_int_equal(group_by_name(s.f->reg, "course-a", &g), 0);
    members_are(s.f, 10001, "ada,karl");
    assert_int_equal(generation(s.f), before);
    change.name = "spring";
    assert_int_equal(group_change(s.f->reg, 10001, &change, taken_by_host, host), 0);
    assert_int_equal(group_by_name(s.f->reg, "spring", &g), 0);
    assert_int_equal(g.gid, 10001);
    members_are(s.f, 10001, "karl");
    assert_int_equal(generation(s.f), before + 1);
    /* The name that it has, and members that are new. */
    change.uids = &s.ada;
    change.how = USER_GROUPS_ADD;
    assert_int_equal(group_change(s.f->reg, 10001, &change, taken_by_host, host), 0);
    members_are(s.f, 10001, "ada,karl");
    assert_int_equal(group_change(s.f->reg, 10001, &change, taken_by_host, host), 0);
    assert_int_equal(generation(s.f), before + 2);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(renamed_group_keeps_gid_and_members),
        REGISTRY_TEST(names_a_group_had_stay_used),
        REGISTRY_TEST(rename_is_refused_as_creation_is),
        REGISTRY_TEST(deleted_group_is_gone_but_for_the_tombstone),
        REGISTRY_TEST(members_are_set_added_and_removed),
        REGISTRY_TEST(members_that_are_refused_change_nothing),
        REGISTRY_TEST(name_and_members_change_together_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
