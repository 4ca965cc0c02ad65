/* SPDX-License-Identifier: ISC */
/* test_ctl_exit.c - exit codes of the atelier command. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/cmd.h"
#include "ctl/exit.h"

#include "common/banned.h"

static void success_is_0_for_every_2xx(void **state)
{
    (void)state;
    assert_int_equal(exit_of_http(200, "ok"), 0);
    assert_int_equal(exit_of_http(201, NULL), 0);
    assert_int_equal(exit_of_http(204, NULL), 0);
    assert_int_not_equal(exit_of_http(302, NULL), 0);
    assert_int_not_equal(exit_of_http(0, NULL), 0);
}

static void a_no_is_told_apart_from_a_mistake_and_from_a_failure(void **state)
{
    (void)state;
    assert_int_equal(exit_of_http(404, "unknown_user"), 1);
    assert_int_equal(exit_of_http(409, "bad_request"), 1);
    assert_int_equal(exit_of_http(403, "locked"), 1);
    assert_int_equal(exit_of_http(400, "bad_request"), 64);
    assert_int_equal(exit_of_http(413, "bad_request"), 64);
    assert_int_equal(exit_of_http(403, "not_allowed"), 77);
    assert_int_equal(exit_of_http(503, "busy"), 75);
    assert_int_equal(exit_of_http(503, "internal"), 69);
    assert_int_equal(exit_of_http(500, "internal"), 70);
}

static void an_unknown_word_falls_back_to_the_http_status(void **state)
{
    (void)state;
    assert_int_equal(exit_of_http(403, "from_a_later_version"), 77);
    assert_int_equal(exit_of_http(418, NULL), 70);
}

static void a_closed_socket_is_unavailable_and_a_forbidden_one_is_not_permitted(void **state)
{
    (void)state;
    assert_int_equal(exit_of_connect(ENOENT), 69);
    assert_int_equal(exit_of_connect(ECONNREFUSED), 69);
    assert_int_equal(exit_of_connect(0), 69);
    assert_int_equal(exit_of_connect(EACCES), 77);
    assert_int_equal(exit_of_connect(EPERM), 77);
}

static void run_passes_the_exit_code_of_the_program_on(void **state)
{
    (void)state;
    assert_int_equal(exit_of_end("ok", true, 0, NULL), 0);
    assert_int_equal(exit_of_end("exit", true, 7, NULL), 7);
    assert_int_equal(exit_of_end("exit", true, 255, NULL), 255);
    assert_int_equal(exit_of_end("exit", true, 126, NULL), 126);
}

static void run_maps_signals_like_a_shell(void **state)
{
    (void)state;
    assert_int_equal(exit_of_end("signal", false, 0, "KILL"), 128 + SIGKILL);
    assert_int_equal(exit_of_end("signal", false, 0, "SEGV"), 128 + SIGSEGV);
    assert_int_equal(exit_of_end("signal", false, 0, "RTMIN+1"), 128 + SIGRTMIN + 1);
}

static void run_never_turns_a_failure_into_success(void **state)
{
    static const char *const words[] = {
        "setup_failed", "internal", "cancelled", "output_flood", "oom",       "pids",
        "disk",         "busy",     "",          "OK",           "from_later"};
    (void)state;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_int_equal(exit_of_end(words[i], true, 0, NULL), 125);
    assert_int_equal(exit_of_end("timeout_wall", true, 0, NULL), 124);
    assert_int_equal(exit_of_end("timeout_cpu", true, 0, NULL), 124);
}

static void run_does_not_believe_an_end_that_contradicts_itself(void **state)
{
    (void)state;
    assert_int_equal(exit_of_end("ok", true, 3, NULL), 125);
    assert_int_equal(exit_of_end("exit", false, 0, NULL), 125);
    assert_int_equal(exit_of_end("exit", true, 256, NULL), 125);
    assert_int_equal(exit_of_end("exit", true, -1, NULL), 125);
    assert_int_equal(exit_of_end("signal", false, 0, NULL), 125);
    assert_int_equal(exit_of_end("signal", false, 0, "NONE"), 125);
}

static void signal_names_are_those_of_the_api(void **state)
{
    (void)state;
    assert_int_equal(signal_number("TERM"), SIGTERM);
    assert_int_equal(signal_number("RTMIN+0"), SIGRTMIN);
    assert_int_equal(signal_number("9"), SIGKILL);
    assert_int_equal(signal_number("RTMIN+99"), 0);
    assert_int_equal(signal_number("RTMIN+"), 0);
    assert_int_equal(signal_number("term"), 0);
    assert_int_equal(signal_number("SIGTERM"), 0);
    assert_int_equal(signal_number("999"), 0);
    assert_int_equal(signal_number(""), 0);
}

/* The manual has ".It Sy N" for each row; 128 is written as 128+n there. */
static bool manual_has(int number)
{
    FILE *f = fopen(MANUAL, "re");
    char line[256], wanted[32];
    bool found = false;

    assert_non_null(f);
    (void)snprintf(wanted, sizeof(wanted), ".It Sy %d%s\n", number, number == 128 ? "+n" : "");
    while (fgets(line, sizeof(line), f))
        found = found || strcmp(line, wanted) == 0;
    (void)fclose(f);
    return found;
}

static void the_manual_lists_every_exit_code(void **state)
{
    (void)state;
#define EXIT_CHECK(id, number, text) assert_true(manual_has(number));
    CTL_EXITS(EXIT_CHECK)
#undef EXIT_CHECK
    assert_false(manual_has(2));
}

/* ".It Cm user add" in the manual. */
static bool manual_describes(const char *noun, const char *verb)
{
    FILE *f = fopen(MANUAL, "re");
    char line[256], wanted[64];
    bool found = false;

    assert_non_null(f);
    (void)snprintf(wanted, sizeof(wanted), ".It Cm %s%s%s\n", noun, verb ? " " : "",
                   verb ? verb : "");
    while (fgets(line, sizeof(line), f))
        found = found || strcmp(line, wanted) == 0;
    (void)fclose(f);
    return found;
}

static void the_manual_describes_every_command(void **state)
{
    (void)state;
#define COMMAND_CHECK(noun, verb, fn, text)                                                        \
    if (!manual_describes(noun, verb) && strcmp(noun, "setup") != 0)                               \
        fail_msg("%s %s", noun, (const char *)verb ? (const char *)verb : "");
    COMMANDS(COMMAND_CHECK)
#undef COMMAND_CHECK
    assert_false(manual_describes("user", "fly"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_is_0_for_every_2xx),
        cmocka_unit_test(a_no_is_told_apart_from_a_mistake_and_from_a_failure),
        cmocka_unit_test(an_unknown_word_falls_back_to_the_http_status),
        cmocka_unit_test(a_closed_socket_is_unavailable_and_a_forbidden_one_is_not_permitted),
        cmocka_unit_test(run_passes_the_exit_code_of_the_program_on),
        cmocka_unit_test(run_maps_signals_like_a_shell),
        cmocka_unit_test(run_never_turns_a_failure_into_success),
        cmocka_unit_test(run_does_not_believe_an_end_that_contradicts_itself),
        cmocka_unit_test(signal_names_are_those_of_the_api),
        cmocka_unit_test(the_manual_lists_every_exit_code),
        cmocka_unit_test(the_manual_describes_every_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
