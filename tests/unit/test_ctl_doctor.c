/* SPDX-License-Identifier: ISC */
/* test_ctl_doctor.c - the report of atelier doctor: what checks say, and how it is shown. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/cmd.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/doctor.h"

#include "common/banned.h"

static const struct doctor_check sample = {
    .id = "sample", .group = DOCTOR_GROUP_HOST, .what = "samples", .mend = "mend the sample"};
static const struct doctor_check other = {
    .id = "other-one", .group = DOCTOR_GROUP_NETWORK, .what = "others", .mend = "mend it"};

/* --- what checks say ------------------------------------------------------------------------- */

static void a_check_that_says_nothing_is_unknown_and_fails(void **state)
{
    struct report r;

    (void)state;
    report_init(&r, 1);
    r.lines[0].check = &sample;
    assert_int_equal(r.lines[0].verdict, DOCTOR_UNKNOWN);
    assert_false(report_is_well(&r));
    report_done(&r);
}

static void the_worst_that_was_said_holds(void **state)
{
    struct report r;
    struct doctor_line *l;

    (void)state;
    report_init(&r, 1);
    l = &r.lines[0];
    l->check = &sample;
    doctor_say(l, DOCTOR_PASS, "one");
    doctor_say(l, DOCTOR_PASS, "two");
    assert_string_equal(l->evidence, "one; two");
    assert_true(report_is_well(&r));
    doctor_say(l, DOCTOR_WARN, "three");
    assert_string_equal(l->evidence, "three");
    assert_true(report_is_well(&r));
    doctor_say(l, DOCTOR_UNKNOWN, "four");
    assert_false(report_is_well(&r));
    doctor_say(l, DOCTOR_FAIL, "five");
    doctor_say(l, DOCTOR_UNKNOWN, "six");
    doctor_say(l, DOCTOR_PASS, "seven");
    assert_int_equal(l->verdict, DOCTOR_FAIL);
    assert_string_equal(l->evidence, "five");
    assert_false(report_is_well(&r));
    report_done(&r);
}

static void what_others_wrote_cannot_move_the_terminal(void **state)
{
    struct report r;

    (void)state;
    report_init(&r, 1);
    r.lines[0].check = &sample;
    doctor_say(&r.lines[0], DOCTOR_FAIL, "%s", "a\033[2Jb\nc");
    doctor_mend(&r.lines[0], "rm %s", "\r");
    assert_string_equal(r.lines[0].evidence, "a\\x1b[2Jb\\nc");
    assert_string_equal(r.lines[0].mend, "rm \\r");
    report_done(&r);
}

/* --- how it is shown -------------------------------------------------------------------------- */

static char *printed(const struct report *r, size_t columns, bool is_colour)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    report_print(r, out, &(struct report_form){.columns = columns, .is_colour = is_colour});
    assert_int_equal(fclose(out), 0);
    return text;
}

static void two_lines(struct report *r)
{
    report_init(r, 2);
    r->lines[0].check = &sample;
    doctor_say(&r->lines[0], DOCTOR_PASS, "seen");
    r->lines[1].check = &other;
    doctor_say(&r->lines[1], DOCTOR_FAIL,
               "one two three four five six seven eight nine ten eleven twelve");
}

static void a_line_each_and_what_mends_below(void **state)
{
    struct report r;
    char *text;

    (void)state;
    two_lines(&r);
    text = printed(&r, 0, false);
    assert_string_equal(
        text, "ok    host     sample     seen\n"
              "FAIL  network  other-one  one two three four five six seven eight nine ten eleven "
              "twelve\n"
              "      -> mend it\n"
              "2 checks: 1 FAIL, 1 ok\n");
    free(text);
    report_done(&r);
}

static void lines_are_wrapped_between_words(void **state)
{
    struct report r;
    char *text;

    (void)state;
    two_lines(&r);
    text = printed(&r, 60, false);
    assert_non_null(strstr(text, "other-one  one two three four five six seven\n"
                                 "                          eight nine ten eleven twelve\n"));
    free(text);
    /* However narrow, a word is never cut. */
    text = printed(&r, 1, false);
    assert_non_null(strstr(text, "eleven"));
    free(text);
    report_done(&r);
}

static void colour_adds_nothing_to_the_words(void **state)
{
    struct report r;
    char *plain, *coloured, *to;

    (void)state;
    two_lines(&r);
    plain = printed(&r, 60, false);
    coloured = printed(&r, 60, true);
    assert_string_not_equal(plain, coloured);
    to = coloured;
    for (const char *from = coloured; *from; from++) {
        if (*from == '\033')
            from += strcspn(from, "m");
        else
            *to++ = *from;
    }
    *to = '\0';
    assert_string_equal(plain, coloured);
    free(plain);
    free(coloured);
    report_done(&r);
}

static void the_journal_is_told_how_bad_each_line_is(void **state)
{
    const struct report_form form = {.is_journal = true};
    char *text = NULL;
    size_t size = 0;
    struct report r;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    two_lines(&r);
    report_print(&r, out, &form);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "<6>ok "));
    assert_non_null(strstr(text, "\n<3>FAIL "));
    assert_non_null(strstr(text, "\n<3>      -> mend it\n"));
    assert_non_null(strstr(text, "\n<3>2 checks: "));
    free(text);
    report_done(&r);
}

/* --- the table of checks ---------------------------------------------------------------------- */

static bool is_id(const char *id)
{
    size_t n = strlen(id);

    return n >= 2 && n <= 20 && id[0] != '-' && id[n - 1] != '-' &&
           strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static void ids_are_words_and_differ_and_name_no_group(void **state)
{
    (void)state;
    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *c = &doctor_checks[i];

        if (!is_id(c->id))
            fail_msg("%s", c->id);
        assert_true(c->what[0] != '\0' && c->mend[0] != '\0');
        for (size_t j = 0; j < i; j++) {
            if (strcmp(c->id, doctor_checks[j].id) == 0)
                fail_msg("%s twice", c->id);
        }
        for (enum doctor_group g = DOCTOR_GROUP_HOST; g <= DOCTOR_GROUP_ATTACK; g++)
            assert_string_not_equal(c->id, doctor_group_word(g));
    }
}

static void parsed(const char *const *words, size_t count, struct doctor_args *ret)
{
    static struct options opt;
    static char *argv[8];

    argv[0] = (char *)(uintptr_t) "atelier doctor";
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = (char *)(uintptr_t)words[i];
    argv[count + 1] = NULL;
    assert_int_equal(doctor_args_parse(&opt, (int)count + 1, argv, ARGP_SILENT, ret), 0);
}

static size_t selected(const struct doctor_args *args)
{
    size_t n = 0;

    for (size_t i = 0; i < doctor_check_count; i++)
        n += doctor_is_selected(args, &doctor_checks[i]);
    return n;
}

static void checks_are_chosen_by_id_and_by_group(void **state)
{
    static const char *const group[] = {"host"};
    static const char *const both[] = {"kernel", "--short", "kernel"};
    static const char *const wrong[] = {"kernel", "kernels"};
    struct doctor_args args;
    struct options opt = {0};
    char *argv[] = {(char *)(uintptr_t) "atelier doctor", (char *)(uintptr_t)wrong[0],
                    (char *)(uintptr_t)wrong[1], NULL};

    (void)state;
    parsed(NULL, 0, &args);
    assert_int_equal(selected(&args), doctor_check_count);
    parsed(group, 1, &args);
    assert_in_range(selected(&args), 1, doctor_check_count);
    parsed(both, 3, &args);
    assert_true(args.is_short);
    assert_int_equal(selected(&args), 1);
    assert_int_equal(doctor_args_parse(&opt, 3, argv, ARGP_SILENT, &args), -EINVAL);
}

/* The rows of the manual are those of the table, in its order. */
static void the_manual_lists_every_check(void **state)
{
    FILE *f = fopen(MANUAL, "re");
    char line[256], wanted[64];
    size_t i = 0;
    bool is_there = false;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        is_there = (is_there || strcmp(line, ".Ss Checks\n") == 0) && strncmp(line, ".Sh", 3) != 0;
        if (!is_there || strncmp(line, ".It Cm ", 7) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        assert_true(i < doctor_check_count);
        (void)snprintf(wanted, sizeof(wanted), "%s%s", doctor_checks[i].id,
                       doctor_checks[i].is_short ? " Pq Fl -short" : "");
        assert_string_equal(line + 7, wanted);
        i++;
    }
    (void)fclose(f);
    assert_int_equal(i, doctor_check_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_that_says_nothing_is_unknown_and_fails),
        cmocka_unit_test(the_worst_that_was_said_holds),
        cmocka_unit_test(what_others_wrote_cannot_move_the_terminal),
        cmocka_unit_test(a_line_each_and_what_mends_below),
        cmocka_unit_test(lines_are_wrapped_between_words),
        cmocka_unit_test(colour_adds_nothing_to_the_words),
        cmocka_unit_test(the_journal_is_told_how_bad_each_line_is),
        cmocka_unit_test(ids_are_words_and_differ_and_name_no_group),
        cmocka_unit_test(checks_are_chosen_by_id_and_by_group),
        cmocka_unit_test(the_manual_lists_every_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
