/* SPDX-License-Identifier: ISC */
/* test_ctl_said.c - lines of an attack, which is not trusted, and what is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/doctor/said.h"

#include "common/banned.h"

static void lines_are_taken_apart(void **state)
{
    struct said *said = said_parse("tcp 127.0.0.1:80 refused ECONNREFUSED after 0 ms\n"
                                   "calls userns reached -\n"
                                   "calls bpf reached - looked at: EINVAL\n"
                                   "setids /usr/bin/su refused - Uid: as its caller\n");
    const struct said_line *line = said_find(said, "tcp", "127.0.0.1:80");

    (void)state;
    assert_int_equal(said->count, 4);
    assert_string_equal(said->why, "");
    assert_non_null(line);
    assert_int_equal(line->verdict, SAID_REFUSED);
    assert_string_equal(line->error, "ECONNREFUSED");
    assert_string_equal(line->detail, "after 0 ms");
    line = said_find(said, "calls", "bpf");
    assert_int_equal(line->verdict, SAID_REACHED);
    assert_string_equal(line->detail, "looked at: EINVAL");
    assert_string_equal(said_find(said, "calls", "userns")->detail, "");
    assert_string_equal(said_find(said, "setids", "/usr/bin/su")->error, "-");
    free(said);
}

static void what_is_no_line_is_left_out(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "calls userns refused EPERM", /* cut: no newline */
        "calls userns refused\n",
        "calls userns reached EPERM\n",
        "calls userns refused eperm\n",
        "calls userns refused E-PERM\n",
        "calls userns refused\tEPERM\n",
        "calls userns maybe EPERM\n",
        "calls  userns refused EPERM\n",
        " calls userns refused EPERM\n",
        "memory - died SIGKILL\n",
        "calls userns refused EPERM \033[2J\n",
        "calls userns refused EPERM \xff\n",
        "a-name-that-is-longer-than-any-attack-has userns refused EPERM\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct said *said = said_parse(texts[i]);

        assert_int_equal(said->count, 0);
        free(said);
    }
}

static void a_long_line_is_left_out_and_the_next_is_read(void **state)
{
    char text[2048];
    struct said *said;

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "calls userns refused EPERM ", 27);
    memcpy(text + 1500, "\ncalls mount refused EPERM\n", 28);
    said = said_parse(text);
    assert_int_equal(said->count, 1);
    assert_non_null(said_find(said, "calls", "mount"));
    free(said);
}

static void lines_of_a_name_come_in_order(void **state)
{
    struct said *said = said_parse("memory 64 reached - MiB\nread /a refused ENOENT\n"
                                   "memory 128 reached - MiB\nmemory all refused ENOMEM\n");
    const struct said_line *line = said_next(said, "memory", NULL);

    (void)state;
    assert_string_equal(line->target, "64");
    line = said_next(said, "memory", line);
    assert_string_equal(line->target, "128");
    line = said_next(said, "memory", line);
    assert_string_equal(line->target, "all");
    assert_null(said_next(said, "memory", line));
    assert_null(said_next(said, "forks", NULL));
    assert_null(said_find(said, "read", "/b"));
    free(said);
}

static void many_lines_are_all_kept(void **state)
{
    char *text = calloc(1000, 32);
    struct said *said;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 1000; i++)
        (void)snprintf(text + strlen(text), 32, "kill %d refused ESRCH\n", i);
    said = said_parse(text);
    assert_int_equal(said->count, 1000);
    assert_non_null(said_find(said, "kill", "999"));
    free(said);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_taken_apart),
        cmocka_unit_test(what_is_no_line_is_left_out),
        cmocka_unit_test(a_long_line_is_left_out_and_the_next_is_read),
        cmocka_unit_test(lines_of_a_name_come_in_order),
        cmocka_unit_test(many_lines_are_all_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
