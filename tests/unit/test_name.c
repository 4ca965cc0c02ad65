/* SPDX-License-Identifier: ISC */
/* test_name.c - names from e-mail addresses, reserved names, what an e-mail address is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "registry/email.h"
#include "registry/name.h"

#include "common/banned.h"

static void stem_is(const char *email, const char *expected)
{
    char stem[NAME_SIZE];

    name_stem(email, stem);
    assert_string_equal(stem, expected);
    assert_true(name_is_valid_n(stem, sizeof(stem)));
}

static void stem_is_the_local_part_as_a_name(void **state)
{
    (void)state;
    stem_is("maria@example.org", "maria");
    stem_is("maria.lopez@example.org", "marialop");
    stem_is("jean-luc@example.org", "jean-luc");
    stem_is("ada_l@example.org", "adal");
    stem_is("maria+course@example.org", "maria");
    stem_is("o'brien@example.org", "obrien");
    stem_is("x@example.org", "x");
}

static void stem_begins_with_a_letter_and_ends_without_a_dash(void **state)
{
    (void)state;
    stem_is("42@example.org", "u42");
    stem_is("123456789@example.org", "u1234567");
    stem_is("-x@example.org", "x");
    stem_is("-7@example.org", "u7");
    stem_is("abcdefg-h@example.org", "abcdefg");
    stem_is("___@example.org", "u");
    stem_is("+tag@example.org", "u");
}

static void candidate_is(const char *stem, unsigned n, const char *expected)
{
    char name[NAME_SIZE];

    name_candidate(stem, n, name);
    assert_string_equal(name, expected);
    assert_true(name_is_valid_n(name, sizeof(name)));
    assert_true(strlen(name) <= NAME_GENERATED_MAX);
}

static void candidates_add_a_number_and_stay_short(void **state)
{
    (void)state;
    candidate_is("maria", 1, "maria");
    candidate_is("maria", 2, "maria2");
    candidate_is("maria", 999, "maria999");
    candidate_is("maria", 9999, "mari9999");
    candidate_is("marialop", 2, "marialo2");
    candidate_is("marialop", 10, "marial10");
    candidate_is("u", 9999, "u9999");
}

static void every_candidate_of_a_stem_is_valid_and_another(void **state)
{
    char names[3][NAME_SIZE];

    (void)state;
    for (unsigned n = 1; n <= NAME_TRIES; n++) {
        name_candidate("abcdefgh", n, names[n % 2]);
        assert_true(name_is_valid(names[n % 2]));
        assert_true(strlen(names[n % 2]) <= NAME_GENERATED_MAX);
        assert_string_not_equal(names[0], names[1]);
    }
}

static void system_names_are_reserved(void **state)
{
    static const char *const taken[] = {"root",
                                        "docker",
                                        "sudo",
                                        "www-data",
                                        "nobody",
                                        "postgres",
                                        "atelier",
                                        "atelier-users",
                                        "atelier2",
                                        "systemd-network",
                                        "systemd-anything",
                                        "libvirt-qemu",
                                        "polkitd",
                                        "kvm"};
    static const char *const free_names[] = {"maria",    "rooty", "doc",  "sudoku",
                                             "system-d", "user",  "post", "ateli"};

    (void)state;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        if (!name_is_reserved(taken[i]))
            fail_msg("%s is not reserved", taken[i]);
    }
    for (size_t i = 0; i < sizeof(free_names) / sizeof(free_names[0]); i++) {
        if (name_is_reserved(free_names[i]))
            fail_msg("%s is reserved", free_names[i]);
    }
}

/* Against what Debian itself ships: fails when base-passwd gets a name that we do not know. */
static void every_name_of_base_passwd_is_reserved(void **state)
{
    static const char *const files[] = {"/usr/share/base-passwd/passwd.master",
                                        "/usr/share/base-passwd/group.master"};
    unsigned checked = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char line[256];
        FILE *file = fopen(files[i], "re");

        if (!file) {
            print_message("skip: no %s here\n", files[i]);
            skip();
        }
        while (fgets(line, sizeof(line), file)) {
            line[strcspn(line, ":\n")] = '\0';
            if (name_is_valid(line) && !name_is_reserved(line))
                fail_msg("%s is not reserved", line);
            checked++;
        }
        (void)fclose(file);
    }
    assert_true(checked > 40);
}

static void email_is(const char *email, const char *expected)
{
    char lower[EMAIL_SIZE];

    if (email_normalize(email, lower) < 0)
        fail_msg("refused: %s", email);
    assert_string_equal(lower, expected);
}

static void email_is_refused(const char *email)
{
    char lower[EMAIL_SIZE] = "untouched";

    if (email_normalize(email, lower) != -EINVAL)
        fail_msg("accepted: %s", email);
    assert_string_equal(lower, "untouched");
}

static void email_is_lowered(void **state)
{
    (void)state;
    email_is("Maria.Lopez@Example.ORG", "maria.lopez@example.org");
    email_is("a@b", "a@b");
    email_is("o'brien+x@sub.example.org", "o'brien+x@sub.example.org");
}

static void bad_email_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "maria",
                                      "@example.org",
                                      "maria@",
                                      "a@b@c",
                                      "maria @example.org",
                                      "\"maria\"@example.org",
                                      "maria\n@example.org",
                                      "maria@exam ple.org",
                                      "maria@example..org",
                                      "maria@.example.org",
                                      "maria@example.org.",
                                      "maria@example_x.org",
                                      "mar\xc3\xad"
                                      "a@example.org",
                                      "<maria@example.org>",
                                      "maria@[192.0.2.1]",
                                      "maria@example.org\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        email_is_refused(bad[i]);
}

static void email_has_the_lengths_of_rfc_5321(void **state)
{
    char email[400], lower[EMAIL_SIZE];

    (void)state;
    memset(email, 'a', 64);
    memcpy(email + 64, "@example.org", 13);
    assert_int_equal(email_normalize(email, lower), 0);
    memset(email, 'a', 65);
    memcpy(email + 65, "@example.org", 13);
    email_is_refused(email);

    /* 64 + 1 + 189 = 254: three labels of 62 with dots. */
    memset(email, 'a', 254);
    email[64] = '@';
    email[65 + 63] = email[65 + 126] = '.';
    email[254] = '\0';
    assert_int_equal(email_normalize(email, lower), 0);
    assert_int_equal(strlen(lower), 254);
    email[254] = 'a';
    email[255] = '\0';
    email_is_refused(email);

    /* A label of 64. */
    memset(email, 'a', 66);
    email[1] = '@';
    email[66] = '\0';
    email_is_refused(email);
    email[65] = '\0';
    assert_int_equal(email_normalize(email, lower), 0);
}

static void external_id_is_printable_ascii(void **state)
{
    char id[EXTERNAL_ID_SIZE + 1];

    (void)state;
    assert_true(external_id_is_valid("auth0|5f7c8ec7"));
    assert_true(external_id_is_valid("a b"));
    assert_false(external_id_is_valid(""));
    assert_false(external_id_is_valid("a\tb"));
    assert_false(external_id_is_valid("a\x7f"));
    assert_false(external_id_is_valid("\xc3\xa9"));
    memset(id, 'x', sizeof(id));
    id[EXTERNAL_ID_SIZE - 1] = '\0';
    assert_true(external_id_is_valid(id));
    id[EXTERNAL_ID_SIZE - 1] = 'x';
    id[EXTERNAL_ID_SIZE] = '\0';
    assert_false(external_id_is_valid(id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stem_is_the_local_part_as_a_name),
        cmocka_unit_test(stem_begins_with_a_letter_and_ends_without_a_dash),
        cmocka_unit_test(candidates_add_a_number_and_stay_short),
        cmocka_unit_test(every_candidate_of_a_stem_is_valid_and_another),
        cmocka_unit_test(system_names_are_reserved),
        cmocka_unit_test(every_name_of_base_passwd_is_reserved),
        cmocka_unit_test(email_is_lowered),
        cmocka_unit_test(bad_email_is_refused),
        cmocka_unit_test(email_has_the_lengths_of_rfc_5321),
        cmocka_unit_test(external_id_is_printable_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
