/* SPDX-License-Identifier: ISC */
/* test_config_shown.c - a policy as text: shown, as an example, in the manual. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/config_fixture.h"

#include "common/banned.h"

/* --- what is written elsewhere is the table -------------------------------------------------- */

static char *file_text(const char *name)
{
    char path[4096], *text;
    long size;
    FILE *f;

    (void)snprintf(path, sizeof(path), SOURCE_DIR "/%s", name);
    f = fopen(path, "re");
    if (!f)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    rewind(f);
    text = calloc(1, (size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    (void)fclose(f);
    return text;
}

static void assert_required(const char *text, const char *name, uint32_t want)
{
    char *shown = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&shown, &size);

    assert_int_equal(read_text(text, &policy), 0);
    assert_int_equal(profile_of(&policy, name)->required, want);
    /* And it can be read back. */
    assert_non_null(f);
    assert_int_equal(policy_show(&policy, f), 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(read_text(shown, &other), 0);
    assert_int_equal(profile_of(&other, name)->required, want);
    free(shown);
}

/* A profile without trees, of a base that has some: shown and read back it has none. */
static void an_empty_list_is_shown(void **state)
{
    static const char text[] = "run { trees = {/opt/a} skills = {plot} required = {cpu} }\n"
                               "profile a { base = run trees = {} skills = {} required = {} }\n"
                               "profile b { base = run }\n"
                               "profile c { base = login }\n";
    char *shown = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&shown, &size);

    (void)state;
    assert_non_null(f);
    assert_int_equal(read_text(text, &policy), 0);
    assert_int_equal(profile_of(&policy, "a")->tree_count, 0);
    assert_int_equal(policy_show(&policy, f), 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(read_text(shown, &other), 0);
    for (uint32_t i = 0; i < policy.count; i++) {
        const struct policy_profile *p = &policy.profiles[i], *q = profile_of(&other, p->name);

        assert_int_equal(p->tree_count, q->tree_count);
        assert_int_equal(p->skill_count, q->skill_count);
        assert_int_equal(p->required, q->required);
    }
    free(shown);
}

static void what_is_required_is_inherited_until_it_is_said_again(void **state)
{
#define BASE "run { required = {memory, cpu} }\n"
    (void)state;
    assert_required("", "run", 0);
    assert_required(BASE, "run", WIRE_LIMIT_MEMORY | WIRE_LIMIT_CPU);
    assert_required(BASE, "login", 0);
    assert_required(BASE, "user", 0);
    assert_required("user { required = {pids, memory, pids} }", "user",
                    WIRE_LIMIT_MEMORY | WIRE_LIMIT_PIDS);
    assert_required(BASE "profile a { base = run }", "a", WIRE_LIMIT_MEMORY | WIRE_LIMIT_CPU);
    assert_required(BASE "profile a { base = run required = {pids} }", "a", WIRE_LIMIT_PIDS);
    assert_required(BASE "profile a { base = run required = {} }", "a", 0);
    assert_required(BASE "run { required = {} }", "run", 0);
    assert_required(BASE "run { required = {cpu} }", "run", WIRE_LIMIT_CPU);
#undef BASE
}

static void the_example_is_made_from_the_table(void **state)
{
    char *shipped = file_text("data/atelier.conf.example"), *made = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&made, &size);

    (void)state;
    assert_non_null(f);
    assert_int_equal(policy_example(f), 0);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(shipped, made);
    /* As it is it says nothing; without its first column it says what holds. */
    assert_int_equal(read_text(shipped, &policy), 0);
    policy_defaults(&other);
    assert_memory_equal(&policy, &other, sizeof(policy));
    for (char *at = strstr(made, "\n#run"); at; at = strstr(at + 1, "\n#")) {
        if (at[2] != ' ' || at[3] == ' ')
            at[1] = ' ';
    }
    assert_int_equal(read_text(made, &policy), 0);
    assert_int_equal(policy.count, 4);
    policy.count = 3;
    memset(&policy.profiles[3], 0, sizeof(policy.profiles[3]));
    assert_memory_equal(&policy, &other, sizeof(policy));
    free(shipped);
    free(made);
}

static size_t times_in(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

static void shipped_text(enum policy_key key, enum policy_kind kind, char text[POLICY_VALUE_SIZE])
{
    if (policy_key_is_of(key, kind))
        policy_value_text(key, policy_keys[key].shipped[kind], text);
    else
        (void)snprintf(text, POLICY_VALUE_SIZE, "\\-");
}

static void the_manual_has_a_row_for_each_key(void **state)
{
    char *manual = file_text("man/atelier.conf.5");

    (void)state;
    for (unsigned key = 0; key < POLICY_KEY__COUNT; key++) {
        char of[POLICY_KIND__COUNT][POLICY_VALUE_SIZE], least[POLICY_VALUE_SIZE],
            most[POLICY_VALUE_SIZE], row[256];
        const struct policy_key_info *k = &policy_keys[key];

        for (unsigned kind = 0; kind < POLICY_KIND__COUNT; kind++)
            shipped_text((enum policy_key)key, (enum policy_kind)kind, of[kind]);
        policy_value_text((enum policy_key)key, k->least, least);
        policy_value_text((enum policy_key)key, k->most, most);
        (void)snprintf(row, sizeof(row), "\n.It Cm %s Ta %s Ta %s Ta %s Ta %s Ta %s\n", k->name,
                       of[POLICY_RUN], of[POLICY_LOGIN], of[POLICY_USER], least, most);
        if (times_in(manual, row) != 1)
            fail_msg("not once in the manual: %s", row);
        (void)snprintf(row, sizeof(row), "\n.It Cm %s Ta %s\n", k->name, k->text);
        if (times_in(manual, row) != 1)
            fail_msg("not once in the manual: %s", row);
    }
    /* And no other. */
    assert_int_equal(times_in(manual, " Ta ") - 5, POLICY_KEY__COUNT * 6);
    free(manual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_is_shown),
        cmocka_unit_test(what_is_required_is_inherited_until_it_is_said_again),
        cmocka_unit_test(the_example_is_made_from_the_table),
        cmocka_unit_test(the_manual_has_a_row_for_each_key),
    };

    return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
