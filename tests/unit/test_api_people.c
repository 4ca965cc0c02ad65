/* SPDX-License-Identifier: ISC */
/* test_api_people.c - bodies about users, groups and callers: every error names its field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "sessiond/api/caller_input.h"
#include "sessiond/api/group_input.h"
#include "sessiond/api/import_input.h"
#include "sessiond/api/user_input.h"
#include "tests/unit/body_case.h"

#include "common/banned.h"

static int parse_user(const json_t *body, struct error *e)
{
    struct user_input input;

    return user_input_parse(body, false, &input, e);
}

static int parse_user_of_admin(const json_t *body, struct error *e)
{
    struct user_input input;

    return user_input_parse(body, true, &input, e);
}

static int parse_group(const json_t *body, struct error *e)
{
    const char *name;

    return group_input_parse(body, &name, e);
}

static int parse_caller(const json_t *body, struct error *e)
{
    uint32_t uid, verbs;
    const json_t *groups;

    return caller_input_parse(body, &uid, &verbs, &groups, e);
}

static int parse_patch(const json_t *body, struct error *e)
{
    struct user_patch patch;

    return user_patch_parse(body, &patch, e);
}

static int parse_group_patch(const json_t *body, struct error *e)
{
    struct group_patch patch;

    return group_patch_parse(body, &patch, e);
}

static int parse_import(const json_t *body, struct error *e)
{
    struct import_input input;
    int r = import_input_parse(body, &input, e);

    if (r < 0)
        return r;
    if (input.errors.n > 0) {
        *e = input.errors.all[0].e;
        r = -EINVAL;
    }
    import_input_done(&input);
    return r;
}

static void every_key_of_a_user_is_checked_and_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"email\":\"a@b\"}", 0, ""},
        {"{\"external_id\":\"x\"}", 0, ""},
        {"{\"name\":\"alice\",\"group\":\"course\"}", 0, ""},
        {"{}", 400, ""},
        {"{\"group\":\"course\"}", 400, ""},
        {"{\"email\":1}", 400, "email"},
        {"{\"email\":\"\"}", 400, "email"},
        {"{\"email\":null}", 400, "email"},
        {"{\"external_id\":[]}", 400, "external_id"},
        {"{\"external_id\":\"\"}", 400, "external_id"},
        {"{\"name\":{}}", 400, "name"},
        {"{\"name\":\"\"}", 400, "name"},
        {"{\"name\":\"a23456789012345678901234567890123\"}", 400, "name"},
        {"{\"name\":\"alice\",\"group\":7}", 400, "group"},
        {"{\"name\":\"alice\",\"group\":\"\"}", 400, "group"},
        {"{\"name\":\"alice\",\"uid\":10001}", 403, "uid"},
        {"{\"name\":\"alice\",\"groups\":[\"a\"]}", 403, "groups"},
        {"{\"name\":\"alice\",\"comment\":\"x\"}", 403, "comment"},
        {"{\"name\":\"alice\",\"shell\":\"/bin/sh\"}", 403, "shell"},
        {"{\"name\":\"alice\",\"expires_at\":null}", 403, "expires_at"},
        {"{\"name\":\"alice\",\"adopt\":true}", 403, "adopt"},
        {"{\"mail\":\"a@b\"}", 400, "mail"},
    };

    (void)state;
    CHECK(parse_user, cases);
}

static void keys_of_the_administrator_are_checked_and_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"email\":\"a@b\",\"groups\":[\"a\",\"b\"],\"comment\":\"x y\",\"shell\":\"/bin/sh\","
         "\"expires_at\":\"2099-11-29T12:00:00Z\",\"uid\":20000}",
         0, ""},
        {"{\"name\":\"a\",\"expires_at\":\"2026-11-29T12:00:00Z\"}", 400, "expires_at"},
        {"{\"name\":\"a\",\"expires_at\":\"1970-01-01T00:00:00Z\"}", 400, "expires_at"},
        {"{\"name\":\"bob\",\"adopt\":true,\"uid\":1000}", 0, ""},
        {"{\"name\":\"a\",\"groups\":[],\"comment\":\"\",\"shell\":\"\",\"expires_at\":null}", 0,
         ""},
        {"{\"name\":\"a\",\"groups\":\"b\"}", 400, "groups"},
        {"{\"name\":\"a\",\"groups\":[1]}", 400, "groups[0]"},
        {"{\"name\":\"a\",\"groups\":[\"B\"]}", 400, "groups"},
        {"{\"name\":\"a\",\"groups\":[\"b\"],\"group\":\"c\"}", 400, "group"},
        {"{\"name\":\"a\",\"comment\":1}", 400, "comment"},
        {"{\"name\":\"a\",\"shell\":null}", 400, "shell"},
        {"{\"name\":\"a\",\"expires_at\":\"tomorrow\"}", 400, "expires_at"},
        {"{\"name\":\"a\",\"uid\":0}", 400, "uid"},
        {"{\"name\":\"a\",\"uid\":\"10001\"}", 400, "uid"},
        {"{\"name\":\"a\",\"adopt\":1}", 400, "adopt"},
        {"{\"email\":\"a@b\",\"adopt\":true}", 400, "name"},
        {"{\"name\":\"a\",\"home\":\"/\"}", 400, "home"},
    };

    (void)state;
    CHECK(parse_user_of_admin, cases);
}

static void spec_of_a_user_has_the_caller_that_vouches(void **state)
{
    const struct user_input in = {
        .external_id = "42", .groups = {"course"}, .group_count = 1, .expires_s = EXPIRY_KEEP};
    const char *groups[GROUP_NAMES_MAX];
    struct user_spec spec = user_input_spec(&in, 990, groups);

    (void)state;
    assert_int_equal(spec.owner_uid, 990);
    assert_string_equal(spec.external_id, "42");
    assert_null(spec.email);
    assert_null(spec.name);
    assert_null(spec.shell);
    assert_null(spec.comment);
    assert_int_equal(spec.expires_s, EXPIRY_KEEP);
    assert_int_equal(spec.group_count, 1);
    assert_string_equal(spec.groups[0], "course");
    assert_int_equal(user_input_spec(&in, 0, groups).owner_uid, 0);
}

static void every_key_of_a_group_is_checked_and_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"name\":\"course\"}", 0, ""},
        {"{}", 400, "name"},
        {"{\"name\":1}", 400, "name"},
        {"{\"name\":\"\"}", 400, "name"},
        {"{\"name\":\"a\",\"gid\":1}", 400, "gid"},
    };

    (void)state;
    CHECK(parse_group, cases);
}

static void every_key_of_a_caller_is_checked_and_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"uid\":33,\"groups\":[\"a\"],\"verbs\":[\"runs\",\"users\",\"net-public\"]}", 0, ""},
        {"{\"uid\":33,\"groups\":[\"a\"],\"verbs\":[\"links\"]}", 0, ""},
        {"{\"groups\":[\"a\"],\"verbs\":[\"runs\"]}", 400, "uid"},
        {"{\"uid\":0,\"groups\":[\"a\"],\"verbs\":[\"runs\"]}", 400, "uid"},
        {"{\"uid\":4294967295,\"groups\":[\"a\"],\"verbs\":[\"runs\"]}", 400, "uid"},
        {"{\"uid\":\"33\",\"groups\":[\"a\"],\"verbs\":[\"runs\"]}", 400, "uid"},
        {"{\"uid\":33,\"verbs\":[\"runs\"]}", 400, "groups"},
        {"{\"uid\":33,\"groups\":[],\"verbs\":[\"runs\"]}", 400, "groups"},
        {"{\"uid\":33,\"groups\":\"a\",\"verbs\":[\"runs\"]}", 400, "groups"},
        {"{\"uid\":33,\"groups\":[1],\"verbs\":[\"runs\"]}", 400, "groups[0]"},
        {"{\"uid\":33,\"groups\":[\"a\"]}", 400, "verbs"},
        {"{\"uid\":33,\"groups\":[\"a\"],\"verbs\":[]}", 400, "verbs"},
        {"{\"uid\":33,\"groups\":[\"a\"],\"verbs\":[\"root\"]}", 400, "verbs"},
        {"{\"uid\":33,\"groups\":[\"a\"],\"verbs\":[7]}", 400, "verbs[0]"},
        {"{\"uid\":33,\"groups\":[\"a\"],\"verbs\":[\"runs\"],\"gid\":1}", 400, "gid"},
    };

    (void)state;
    CHECK(parse_caller, cases);
}

static void every_key_of_a_change_of_a_user_is_checked_and_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"locked\":true}", 0, ""},
        {"{\"locked\":false,\"expires_at\":null}", 0, ""},
        {"{\"expires_at\":\"2026-11-29T12:00:00Z\"}", 0, ""},
        {"{}", 400, ""},
        {"{\"locked\":1}", 400, "locked"},
        {"{\"locked\":\"true\"}", 400, "locked"},
        {"{\"locked\":null}", 400, "locked"},
        {"{\"expires_at\":1790000000}", 400, "expires_at"},
        {"{\"expires_at\":\"\"}", 400, "expires_at"},
        {"{\"expires_at\":\"2026-11-29T12:00:00+01:00\"}", 400, "expires_at"},
        {"{\"expires_at\":\"2026-02-30T12:00:00Z\",\"locked\":true}", 400, "expires_at"},
        {"{\"locked\":true,\"name\":\"bob\"}", 400, "name"},
        {"{\"comment\":\"\",\"shell\":\"\",\"email\":null}", 0, ""},
        {"{\"email\":\"a@b\",\"groups_add\":[\"a\"]}", 0, ""},
        {"{\"email\":\"\"}", 400, "email"},
        {"{\"comment\":null}", 400, "comment"},
        {"{\"shell\":7}", 400, "shell"},
        {"{\"groups\":\"a\"}", 400, "groups"},
        {"{\"groups_remove\":[0]}", 400, "groups_remove[0]"},
        {"{\"groups\":[],\"groups_add\":[]}", 400, "groups_add"},
        {"{\"groups_add\":[],\"groups_remove\":[]}", 400, "groups_remove"},
    };

    (void)state;
    CHECK(parse_patch, cases);
}

static void what_is_not_given_does_not_change_and_1970_is_not_never(void **state)
{
    json_t *body = body_of("{\"locked\":false}");
    struct user_patch p;
    struct error e;

    (void)state;
    assert_int_equal(user_patch_parse(body, &p, &e), 0);
    assert_true(p.change.has_locked);
    assert_false(p.change.is_locked);
    assert_false(p.change.has_expiry);
    assert_null(p.change.email);
    assert_null(p.change.shell);
    assert_int_equal(p.change.groups_how, USER_GROUPS_KEEP);
    json_decref(body);
    body = body_of("{\"expires_at\":null,\"email\":null,\"groups\":[\"a\",\"b\"]}");
    assert_int_equal(user_patch_parse(body, &p, &e), 0);
    assert_false(p.change.has_locked);
    assert_true(p.change.has_expiry);
    assert_int_equal(p.change.expires_s, 0);
    assert_string_equal(p.change.email, "");
    assert_int_equal(p.change.groups_how, USER_GROUPS_SET);
    assert_int_equal(p.change.group_count, 2);
    assert_string_equal(p.change.groups[1], "b");
    json_decref(body);
    body = body_of("{\"locked\":true,\"expires_at\":\"1970-01-01T00:00:00Z\"}");
    assert_int_equal(user_patch_parse(body, &p, &e), 0);
    assert_true(p.change.is_locked);
    assert_int_equal(p.change.expires_s, 1);
    json_decref(body);
    body = body_of("{\"expires_at\":\"1970-01-01T00:01:00Z\"}");
    assert_int_equal(user_patch_parse(body, &p, &e), 0);
    assert_int_equal(p.change.expires_s, 60);
    json_decref(body);
}

static void every_key_of_a_change_of_a_group_is_checked_and_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"name\":\"spring\"}", 0, ""},
        {"{\"members\":[]}", 0, ""},
        {"{\"name\":\"spring\",\"members_add\":[\"alice\"]}", 0, ""},
        {"{\"members_remove\":[\"alice\"]}", 0, ""},
        {"{}", 400, ""},
        {"{\"name\":\"\"}", 400, "name"},
        {"{\"members\":\"alice\"}", 400, "members"},
        {"{\"members\":[10001]}", 400, "members[0]"},
        {"{\"members\":[],\"members_remove\":[]}", 400, "members_remove"},
        {"{\"members_add\":[],\"members_remove\":[]}", 400, "members_remove"},
        {"{\"name\":\"a\",\"gid\":1}", 400, "gid"},
    };

    (void)state;
    CHECK(parse_group_patch, cases);
}

static void every_key_of_an_import_is_checked_and_its_row_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"users\":[{\"email\":\"a@b\"}]}", 0, ""},
        {"{\"dry_run\":true,\"users\":[{\"name\":\"a\"},{\"email\":\"a@b\",\"groups\":[\"x\"],"
         "\"expires_at\":null,\"comment\":\"\",\"external_id\":\"1\"}]}",
         0, ""},
        {"{}", 400, "users"},
        {"{\"users\":[]}", 400, "users"},
        {"{\"users\":{}}", 400, "users"},
        {"{\"users\":[1]}", 400, "users[0]"},
        {"{\"dry_run\":1,\"users\":[{\"name\":\"a\"}]}", 400, "dry_run"},
        {"{\"users\":[{\"name\":\"a\"},{}]}", 400, "users[1]"},
        {"{\"users\":[{\"name\":\"a\"},{\"email\":7}]}", 400, "users[1].email"},
        {"{\"users\":[{\"name\":\"a\",\"groups\":[3]}]}", 400, "users[0].groups[0]"},
        {"{\"users\":[{\"name\":\"a\",\"expires_at\":\"x\"}]}", 400, "users[0].expires_at"},
        {"{\"users\":[{\"name\":\"a\",\"expires_at\":\"2026-11-29T12:00:00Z\"}]}", 400,
         "users[0].expires_at"},
        {"{\"users\":[{\"name\":\"a\",\"expires_at\":\"2099-11-29T12:00:00Z\"}]}", 0, ""},
        {"{\"users\":[{\"name\":\"a\",\"shell\":\"/bin/sh\"}]}", 400, "users[0].shell"},
        {"{\"users\":[{\"name\":\"a\",\"uid\":10001}]}", 400, "users[0].uid"},
        {"{\"users\":[{\"name\":\"a\"}],\"group\":\"x\"}", 400, "group"},
    };

    (void)state;
    CHECK(parse_import, cases);
}

static void who_is_in_an_import_twice_is_an_error_of_the_second_row(void **state)
{
    static const struct body_case cases[] = {
        {"{\"users\":[{\"email\":\"a@b\"},{\"email\":\"c@b\"},{\"email\":\"A@B\"}]}", 400,
         "users[2].email"},
        {"{\"users\":[{\"name\":\"z\"},{\"name\":\"b\"},{\"name\":\"b\"},{\"name\":\"z\"}]}", 400,
         "users[2].name"},
        {"{\"users\":[{\"email\":\"a@b\",\"name\":\"z\"},{\"email\":\"c@b\",\"name\":\"y\"}]}", 0,
         ""},
        {"{\"users\":[{\"external_id\":\"a\"},{\"external_id\":\"A\"}]}", 0, ""},
    };

    (void)state;
    CHECK(parse_import, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_a_user_is_checked_and_named),
        cmocka_unit_test(keys_of_the_administrator_are_checked_and_named),
        cmocka_unit_test(spec_of_a_user_has_the_caller_that_vouches),
        cmocka_unit_test(every_key_of_a_group_is_checked_and_named),
        cmocka_unit_test(every_key_of_a_caller_is_checked_and_named),
        cmocka_unit_test(every_key_of_a_change_of_a_user_is_checked_and_named),
        cmocka_unit_test(what_is_not_given_does_not_change_and_1970_is_not_never),
        cmocka_unit_test(every_key_of_a_change_of_a_group_is_checked_and_named),
        cmocka_unit_test(every_key_of_an_import_is_checked_and_its_row_named),
        cmocka_unit_test(who_is_in_an_import_twice_is_an_error_of_the_second_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
