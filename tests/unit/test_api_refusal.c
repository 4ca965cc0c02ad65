/* SPDX-License-Identifier: ISC */
/* test_api_refusal.c - sentences of refusals: they name what was given, and do nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/ids.h"
#include "sessiond/api/import_input.h"
#include "sessiond/api/user_input.h"
#include "sessiond/api/value.h"
#include "sessiond/api/verdict.h"
#include "tests/unit/body_case.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define X10 "xxxxxxxxxx"
#define X80 X10 X10 X10 X10 X10 X10 X10 X10
#define E10 "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
#define E80 E10 E10 E10 E10 E10 E10 E10 E10

static void value_is_a_word_or_a_string_of_json(void **state)
{
    static const struct {
        const char *value, *text;
    } cases[] = {
        {"kurs-x", "kurs-x"},
        {"anna@example.org", "anna@example.org"},
        {"/bin/sh", "/bin/sh"},
        {"", "\"\""},
        {"Not A Name", "\"Not A Name\""},
        {"a\"b\\", "\"a\\\"b\\\\\""},
        {"a\nb\x1b[31m\x7f", "\"a\\u000ab\\u001b[31m\\u007f\""},
        {"Zo\xc3\xab", "\"Zo\xc3\xab\""},
        {"\xc2\x9b"
         "1m",
         "\"\\u009b1m\""},
        {"a\xe2\x80\xae"
         "b",
         "\"a\\u202eb\""},
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
        {"a\xff\xc3", "\"a??\""},
        {X80 X10 "xxxxxx", X80 X10 "xxxxxx"}, /* VALUE_SIZE - 1 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(VALUE(cases[i].value), cases[i].text);
    assert_string_equal(VALUE(NULL), "\"\"");
}

static void long_value_is_cut_between_characters(void **state)
{
    static const char *const values[] = {X80 X80, "\"" X80 X80, E80 E80, "a" E80 E80,
                                         "\x01" E80 "\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02"};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const char *text = VALUE(values[i]);
        json_t *read;

        assert_true(strlen(text) < VALUE_SIZE);
        assert_true(strlen(text) > VALUE_SIZE - 20);
        assert_string_equal(text + strlen(text) - 4, "...\"");
        read = json_loads(text, JSON_DECODE_ANY, NULL);
        assert_non_null(read);
        json_decref(read);
    }
}

static void value_of_any_kind_is_named(void **state)
{
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"[7]", "7"},
        {"[-9223372036854775808]", "-9223372036854775808"},
        {"[0.5]", "0.5"},
        {"[true]", "true"},
        {"[false]", "false"},
        {"[null]", "null"},
        {"[[1]]", "an array"},
        {"[{}]", "an object"},
        {"[\"a b\"]", "\"a b\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *array = json_loads(cases[i].json, 0, NULL);

        assert_string_equal(VALUE_JSON(json_array_get(array, 0)), cases[i].text);
        json_decref(array);
    }
}

static void message_is_utf8_in_one_line_however_it_is_cut(void **state)
{
    char text[600] = "";
    struct error e;

    (void)state;
    for (size_t pad = 0; pad < 4; pad++) {
        (void)error_field(&e, NULL, "%.*s%s%s", (int)pad, "aaa", E80 E80 E80, E80 E80);
        (void)snprintf(text, sizeof(text), "\"%s\"", e.message);
        json_t *read = json_loads(text, JSON_DECODE_ANY, NULL);

        assert_non_null(read);
        assert_true(strlen(e.message) > ERROR_MESSAGE_SIZE - 5);
        json_decref(read);
    }
    (void)error_field(&e, "f\xc3\xa9", "a\nb\x7f \xc3\xa9");
    assert_string_equal(e.message, "a?b? \xc3\xa9");
    assert_string_equal(e.field, "f??");
    (void)error_field(&e, NULL, "\xff\xc3\xa9 b");
    assert_string_equal(e.message, "??? b");
}

/* --- verdicts --- */

static const char *const courses[] = {"spring", "kurs-x"};
static const struct user_spec asked = {.email = "anna",
                                       .external_id = "a\tb",
                                       .name = "Not A Name",
                                       .groups = courses,
                                       .group_count = 2,
                                       .comment = "a:b",
                                       .shell = "sh",
                                       .uid = 9999};

static void every_verdict_is_an_error_of_a_field(void **state)
{
    const struct user_change change = {.email = "anna", .comment = "a:b", .shell = "sh"};
    struct fixture *f = *state;
    struct error e;

    for (int v = USER_CREATED; v <= USER_TOO_MANY_GROUPS; v++) {
        bool is_good = v == USER_CREATED || v == USER_EXISTED;
        bool is_ours = v == USER_IDS_EXHAUSTED || v == USER_UNBOUND;

        e = (struct error){0};
        assert_int_equal(
            verdict_of_user(f->reg, (enum user_verdict)v, &asked, "users[3].", "groups", &e) == 0,
            is_good);
        if (is_good)
            continue;
        assert_int_equal(e.message[strlen(e.message) - 1], '.');
        assert_int_equal(e.http == 500, is_ours);
        assert_int_equal(strncmp(e.field, "users[3].", 9) == 0, !is_ours);
    }
    for (int v = USER_CHANGED; v <= USER_CHANGE_TOO_MANY_GROUPS; v++) {
        e = (struct error){0};
        assert_int_equal(
            verdict_of_change(f->reg, (enum user_change_verdict)v, &change, NULL, NULL, &e) == 0,
            v == USER_CHANGED);
        assert_int_equal(e.field[0] == '\0', v == USER_CHANGED);
    }
}

static const char *sentence(struct fixture *f, enum user_verdict verdict,
                            const struct user_spec *spec)
{
    static struct error e;

    assert_int_equal(verdict_of_user(f->reg, verdict, spec, "", "groups", &e), -EINVAL);
    return e.message;
}

static const char *sentence_of_name(struct fixture *f, const char *name)
{
    const struct user_spec spec = {.name = name};

    return sentence(f, USER_NAME_TAKEN, &spec);
}

static void sentence_names_what_was_given(void **state)
{
    struct fixture *f = *state;
    const struct user_spec docker = {.name = "docker"}, pair = {.email = "a@b", .external_id = "7"};
    struct group g;

    assert_int_equal(group_create(f->reg, "spring", taken_none, NULL, &g), 0);
    assert_string_equal(sentence(f, USER_EMAIL_INVALID, &asked),
                        "anna is no e-mail address (NAME@DOMAIN).");
    assert_string_equal(sentence(f, USER_NO_GROUP, &asked), "There is no group kurs-x.");
    assert_string_equal(sentence(f, USER_NAME_RESERVED, &docker),
                        "The name docker is reserved for the system.");
    assert_string_equal(sentence(f, USER_NAME_INVALID, &asked),
                        "\"Not A Name\" cannot be a name: a name is a lower-case letter and up to "
                        "30 of a-z, 0-9 and -.");
    assert_string_equal(sentence(f, USER_CONFLICT, &pair),
                        "The e-mail address a@b and the external_id 7 are not of one user.");
    assert_string_equal(sentence(f, USER_UID_INVALID, &asked),
                        "The uid 9999 is outside of what this host gives out: 10000-59899.");
    assert_non_null(strstr(sentence(f, USER_EXTERNAL_ID_INVALID, &asked), "\"a\\u0009b\" "));
    assert_non_null(strstr(sentence(f, USER_COMMENT_INVALID, &asked), "a:b "));
    assert_non_null(strstr(sentence(f, USER_SHELL_INVALID, &asked), "sh "));
    assert_string_equal(sentence(f, USER_TOO_MANY_GROUPS, &asked),
                        "anna would be in more than 30 groups besides atelier-users.");
}

static void sentence_tells_who_has_it_from_who_had_it(void **state)
{
    struct fixture *f = *state;
    const struct user_spec generated = {.email = "leo@example.org"};
    struct user gone = user_new(f, "anna@example.org"), bert = user_new(f, "bert@example.org");
    struct user_spec spec = {.uid = gone.uid};
    uint32_t revoked;
    struct group g;
    struct error e;

    assert_int_equal(group_create(f->reg, "spring", taken_none, NULL, &g), 0);
    assert_int_equal(group_rename(f->reg, g.gid, "summer", taken_none, NULL), 0);
    assert_int_equal(user_delete(f->reg, gone.uid, &revoked), 0);
    assert_string_equal(sentence_of_name(f, "bert"), "The name bert is that of a user.");
    assert_string_equal(sentence_of_name(f, "summer"), "The name summer is that of a group.");
    assert_string_equal(sentence_of_name(f, "anna"),
                        "The name anna was once given out, and is not used again.");
    assert_string_equal(sentence_of_name(f, "spring"),
                        "The name spring was once given out, and is not used again.");
    assert_string_equal(sentence_of_name(f, "bob"),
                        "The name bob is that of an account or a group of this host.");
    assert_string_equal(sentence(f, USER_NAME_TAKEN, &generated),
                        "All names for leo@example.org are taken: give one.");
    assert_non_null(strstr(sentence(f, USER_UID_TAKEN, &spec), "was once given out"));
    spec.uid = bert.uid;
    assert_non_null(strstr(sentence(f, USER_UID_TAKEN, &spec), "is that of a user"));
    spec.uid = g.gid;
    assert_non_null(strstr(sentence(f, USER_UID_TAKEN, &spec), "is that of a group"));
    spec.uid = 20000;
    assert_non_null(strstr(sentence(f, USER_UID_TAKEN, &spec), "of this host"));
    assert_int_equal(verdict_of_group_name(f->reg, -EEXIST, "anna", &e), -EINVAL);
    assert_non_null(strstr(e.message, "was once given out"));
    assert_int_equal(verdict_of_group_name(f->reg, -EIO, "anna", &e), 0);
}

static void sentence_of_a_change_names_the_other_user(void **state)
{
    struct fixture *f = *state;
    const struct user_change change = {.email = "Anna@example.org"};
    struct error e;

    (void)user_new(f, "anna@example.org");
    assert_int_equal(verdict_of_change(f->reg, USER_CHANGE_EMAIL_TAKEN, &change, NULL, NULL, &e),
                     -EINVAL);
    assert_string_equal(e.message, "The user anna has the e-mail address Anna@example.org.");
    assert_int_equal(e.http, 409);
}

/* --- rows of an import --- */

static void every_bad_row_is_kept_in_its_place(void **state)
{
    json_t *body = body_of("{\"users\":[{\"email\":\"a@b\",\"name\":\"z\"},{\"email\":7},"
                           "{\"email\":\"A@b\"},{\"name\":\"q\"},{},{\"name\":\"z\",\"x\":1},"
                           "{\"email\":\"a@B\",\"name\":\"q\"}]}");
    static const struct {
        size_t row;
        const char *field, *message;
    } faults[] = {
        {1, "users[1].email", "users[1].email must be a string, not 7."},
        {2, "users[2].email", "The e-mail address A@b is that of users[0], too."},
        {4, "users[4]", "One of email, external_id and name must be given."},
        {5, "users[5].x",
         "users[5].x is not a known key (known: email, name, groups, expires_at, comment, "
         "external_id)."},
        {6, "users[6].email", "The e-mail address a@B is that of users[0], too."},
    };
    struct import_input in;
    struct error e;

    (void)state;
    assert_int_equal(import_input_parse(body, &in, &e), 0);
    assert_int_equal(in.errors.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(in.errors.all[i].row, faults[i].row);
        assert_string_equal(in.errors.all[i].e.field, faults[i].field);
        assert_string_equal(in.errors.all[i].e.message, faults[i].message);
        assert_true(in.is_bad[faults[i].row]);
    }
    assert_false(in.is_bad[0] || in.is_bad[3]);
    import_input_done(&in);
    json_decref(body);
}

static void first_hundred_rows_are_kept_in_whatever_order_they_come(void **state)
{
    struct import_errors errors = {0};
    struct error e;
    json_t *array;

    (void)state;
    (void)error_field(&e, "f", "no.");
    for (size_t row = 301; row-- > 0;)
        assert_int_equal(import_errors_add(&errors, row * 11 % 301, &e), 0);
    assert_int_equal(errors.n, IMPORT_ERRORS_MAX);
    for (size_t i = 0; i < errors.n; i++)
        assert_int_equal(errors.all[i].row, i);
    assert_true(import_errors_is_full(&errors, IMPORT_ERRORS_MAX));
    assert_true(import_errors_is_full(&errors, IMPORT_ERRORS_MAX - 1)); /* it is there */
    assert_false(import_errors_is_full(&errors, IMPORT_ERRORS_MAX - 2));
    assert_int_equal(import_errors_add(&errors, IMPORT_ERRORS_MAX - 1, &e), 0);
    assert_int_equal(errors.n, IMPORT_ERRORS_MAX);
    array = import_errors_json(&errors);
    assert_int_equal(json_array_size(array), IMPORT_ERRORS_MAX);
    json_decref(array);
    import_errors_done(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_is_a_word_or_a_string_of_json),
        cmocka_unit_test(long_value_is_cut_between_characters),
        cmocka_unit_test(value_of_any_kind_is_named),
        cmocka_unit_test(message_is_utf8_in_one_line_however_it_is_cut),
        cmocka_unit_test_setup_teardown(every_verdict_is_an_error_of_a_field, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(sentence_names_what_was_given, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(sentence_tells_who_has_it_from_who_had_it, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(sentence_of_a_change_names_the_other_user, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test(every_bad_row_is_kept_in_its_place),
        cmocka_unit_test(first_hundred_rows_are_kept_in_whatever_order_they_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
