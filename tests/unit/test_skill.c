/* SPDX-License-Identifier: ISC */
/* test_skill.c - names of skills, and skills in a policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "policy/plan.h"

#include "common/banned.h"

#define HASH_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HASH_B "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

static void a_name_has_a_hash_or_none(void **state)
{
    static const char *const bad[] = {
        "",
        "@",
        "@" HASH_A,
        "plot@",
        "plot@0",
        "plot@" HASH_A "0",
        "plot@@",
        "Plot",
        "../plot",
        "plot/" HASH_A,
        ".",
        "plot@g123456789abcdef0123456"
        "789abcdef0123456789abcdef0123456789abcde",
        "plot@0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
        "plot@" HASH_A "/",
        "a23456789012345678901234567890123",
        "plot\n"};
    char name[NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(skill_is_valid(bad[i]));
        assert_false(skill_is_pinned(bad[i]));
    }
    assert_true(skill_is_valid("plot"));
    assert_false(skill_is_pinned("plot"));
    assert_true(skill_is_valid("plot@" HASH_A));
    assert_true(skill_is_pinned("plot@" HASH_A));
    assert_true(skill_is_pinned("a234567890123456789012345678901@" HASH_A));
    assert_int_equal(strlen("a234567890123456789012345678901@" HASH_A) + 1, SKILL_SIZE);
    skill_name("plot@" HASH_A, name);
    assert_string_equal(name, "plot");
    assert_true(skill_name_is_same("plot@" HASH_A, "plot"));
    assert_true(skill_name_is_same("plot@" HASH_A, "plot@" HASH_B));
    assert_false(skill_name_is_same("plot", "plots"));
    assert_false(skill_name_is_same("plots", "plot"));
}

/* What a host has: plot in the version A, and nothing else. */
static int host_pin(const char *text, char ret_pinned[SKILL_SIZE])
{
    if (strcmp(text, "locked") == 0)
        return -EPERM;
    if (strcmp(text, "plot") != 0 && strcmp(text, "plot@" HASH_A) != 0)
        return -ENOENT;
    return str_copy(ret_pinned, SKILL_SIZE, "plot@" HASH_A);
}

/* The policy that a text is. Return: as config_read_file(). */
static int text_read(const char *text, struct policy *ret_policy, struct config_error *ret_e)
{
    char path[] = "/tmp/atelier-skill-XXXXXX";
    int fd = mkstemp(path), r;

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
    (void)close(fd);
    r = config_read_file(path, CONFIG_ANY_OWNER, ret_policy, ret_e);
    assert_int_equal(unlink(path), 0);
    if (r < 0) {
        assert_int_equal(strncmp(ret_e->text, path, strlen(path)), 0);
        memmove(ret_e->text, ret_e->text + strlen(path), strlen(ret_e->text + strlen(path)) + 1);
    }
    return r;
}

static void a_skill_is_pinned_where_it_is_said(void **state)
{
    static const char text[] = "run { skills = {plot} }\n"
                               "profile a { base = run pids = 100 }\n"
                               "profile b { base = run skills = {} }\n"
                               "profile c { base = login skills = {\"plot@" HASH_A "\"}"
                               " uids = {10007} }\n";
    static struct policy policy, again;
    const struct plan_ask nothing = {0};
    struct config_error error;
    const char *field;
    char *shown = NULL;
    size_t size = 0;
    struct plan plan;
    FILE *f;

    (void)state;
    config_skill_pin = host_pin;
    assert_int_equal(text_read(text, &policy, &error), 0);
    assert_int_equal(policy.profiles[POLICY_RUN].skill_count, 1);
    assert_string_equal(policy.profiles[POLICY_RUN].skills[0], "plot@" HASH_A);
    assert_int_equal(policy.profiles[POLICY_LOGIN].skill_count, 0);
    assert_string_equal(policy.profiles[3].skills[0], "plot@" HASH_A);
    assert_int_equal(policy.profiles[4].skill_count, 0);
    assert_int_equal(policy_plan(&policy, POLICY_LOGIN, 10007, NULL, 0, &nothing, &plan, &field),
                     0);
    assert_int_equal(plan_mount_count(&plan), 1);
    assert_string_equal(plan.skills[0], "plot@" HASH_A);
    assert_int_equal(policy_plan(&policy, POLICY_LOGIN, 10008, NULL, 0, &nothing, &plan, &field),
                     0);
    assert_int_equal(plan_mount_count(&plan), 0);

    /* What is shown is read back as the same, by who does not look at the host. */
    config_skill_pin = NULL;
    f = open_memstream(&shown, &size);
    assert_non_null(f);
    assert_int_equal(policy_show(&policy, f), 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(text_read(shown, &again, &error), 0);
    assert_memory_equal(again.profiles[3].skills, policy.profiles[3].skills,
                        sizeof(policy.profiles[3].skills));
    free(shown);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"run {\n skills = {plot,\n other}\n}", ":3: run: skills: other: there is no such skill"},
        {"run {\n skills = {\"plot@" HASH_B "\"}\n}",
         ":2: run: skills: plot@" HASH_B ": there is no such skill"},
        {"login { skills = {locked} }", ":1: login: skills: locked: Operation not permitted"},
        {"run { skills = {\"../x\"} }", ":1: run: skills: ../x: this is not NAME or NAME@HASH"},
        {"run {\n skills = {plot, \"plot@" HASH_A "\"} }",
         ":2: run: skills: plot@" HASH_A " is named twice"},
        {"user { skills = {plot} }",
         ":1: user: there is no key 'skills'; it is a key of run, login"},
        {"profile a {\n base = user\n skills = {plot}\n}",
         ":3: profile a: skills: a profile of kind user has no such key"},
        {"run { skills = {plot,plot,plot,plot,plot,plot,plot,plot,\nplot} }",
         ":2: run: skills: more than 8 skills"},
        {"run { trees = {/skills} }", ":1: run: trees: /skills: that part of the host is not for "
                                      "participants, or is there already"},
    };
    static struct policy policy;
    struct config_error error;

    (void)state;
    config_skill_pin = host_pin;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(text_read(rows[i].text, &policy, &error), -EINVAL);
        assert_string_equal(error.text, rows[i].message);
    }
    config_skill_pin = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_a_hash_or_none),
        cmocka_unit_test(a_skill_is_pinned_where_it_is_said),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
    };

    return cmocka_run_group_tests_name("skill", tests, NULL, NULL);
}
