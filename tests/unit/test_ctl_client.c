/* SPDX-License-Identifier: ISC */
/* test_ctl_client.c - the commands against a socket whose answers are given byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/cmd.h"
#include "ctl/exit.h"
#include "tests/unit/ctl_scene.h"

#include "common/banned.h"

#define STREAM                                                                                     \
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
#define RUN_WORDS WORDS("--user", "alice", "/bin/true")
#define ACCEPTED  "{\"ev\":\"accepted\",\"seq\":0,\"t_ms\":0}\n"

static void a_missing_socket_is_said_to_be_missing(void **state)
{
    struct scene *s = *state;

    assert_int_equal(command(s, cmd_group_list, false, WORDS(NULL)), CTL_UNAVAILABLE);
    assert_string_equal(s->out, "");
    assert_non_null(strstr(s->err, s->path));
    assert_non_null(strstr(s->err, "No such file or directory"));
    assert_int_equal(command(s, cmd_run, false, RUN_WORDS), CTL_UNAVAILABLE);
}

static void a_socket_that_nobody_listens_on_is_unavailable(void **state)
{
    struct scene *s = *state;

    (void)close(listen_at(s->path));
    assert_int_equal(command(s, cmd_group_list, false, WORDS(NULL)), CTL_UNAVAILABLE);
    assert_non_null(strstr(s->err, "Connection refused"));
}

static void a_list_has_a_header_and_json_is_one_line(void **state)
{
    static const char answer[] =
        HEAD("200 OK") "{\n \"groups\": [{\"name\": \"kurs\", \"gid\": 10004}]\n}\n";
    struct scene *s = *state;

    assert_int_equal(answered(s, answer, cmd_group_list, false, WORDS(NULL)), CTL_OK);
    assert_string_equal(s->out, "NAME  GID\nkurs  10004\n");
    assert_string_equal(s->err, "");
    assert_int_equal(answered(s, answer, cmd_group_list, true, WORDS(NULL)), CTL_OK);
    assert_string_equal(s->out, "{\"groups\":[{\"name\":\"kurs\",\"gid\":10004}]}\n");
}

static void the_request_is_what_the_api_expects(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s,
                              HEAD("201 Created") "{\"name\":\"alice\",\"uid\":10001,"
                                                  "\"state\":\"reserved\",\"created\":true}",
                              cmd_user_add, false, WORDS("alice@example.org")),
                     CTL_OK);
    assert_string_equal(s->out, "alice    10001 created\n");
    assert_memory_equal(s->request, "POST /v1/users HTTP/1.1\r\n", 25);
    assert_non_null(strstr(s->request, "\r\nHost: localhost\r\n"));
    assert_non_null(strstr(s->request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(s->request, "\r\n\r\n{\"email\":\"alice@example.org\"}"));
}

#define MARIA(external_ids)                                                                        \
    "{\"name\":\"maria\",\"uid\":10001,\"state\":\"active\",\"email\":\"m@example.org\","          \
    "\"external_ids\":" external_ids ",\"created_s\":1795971600,\"groups\":[\"atelier-users\"]}"

static void a_user_is_shown_with_the_key_of_each_caller(void **state)
{
    static const struct {
        const char *show, *list, *text;
    } cases[] = {
        {HEAD("200 OK") MARIA("[]"), HEAD("200 OK") "{\"users\":[" MARIA("[]") "]}", "-"},
        {HEAD("200 OK") MARIA("[{\"caller\":990,\"external_id\":\"42\"}]"),
         HEAD("200 OK") "{\"users\":[" MARIA("[{\"caller\":990,\"external_id\":\"42\"}]") "]}",
         "990:42"},
        {HEAD("200 OK") MARIA("[{\"caller\":0,\"external_id\":\"a b\"},{\"caller\":990,"
                              "\"external_id\":\"\\u001b\"}]"),
         HEAD("200 OK") "{\"users\":[" MARIA("[{\"caller\":0,\"external_id\":\"a b\"},"
                                             "{\"caller\":990,\"external_id\":\"\\u001b\"}]") "]}",
         "0:a b,990:\\x1b"},
    };
    struct scene *s = *state;
    char end[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(end, sizeof(end), "  %s\n", cases[i].text);
        assert_int_equal(answered(s, cases[i].list, cmd_user_list, false, WORDS(NULL)), CTL_OK);
        assert_non_null(strstr(s->out, "  EXTERNAL IDS\nmaria  10001  active"));
        assert_string_equal(s->out + strlen(s->out) - strlen(end), end);
        assert_int_equal(answered(s, cases[i].show, cmd_user_show, false, WORDS("maria")), CTL_OK);
        (void)snprintf(end, sizeof(end), "external ids  %s\n", cases[i].text);
        assert_non_null(strstr(s->out, end));
    }
}

static void external_ids_that_make_no_sense_are_an_internal_error(void **state)
{
    static const char *const answers[] = {
        HEAD("200 OK") MARIA("null"),
        HEAD("200 OK") MARIA("\"42\""),
        HEAD("200 OK") MARIA("[\"42\"]"),
        HEAD("200 OK") MARIA("[{\"caller\":\"990\",\"external_id\":\"42\"}]"),
        HEAD("200 OK") MARIA("[{\"caller\":990,\"external_id\":null}]"),
    };
    struct scene *s = *state;

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        assert_int_equal(answered(s, answers[i], cmd_user_show, false, WORDS("maria")),
                         CTL_INTERNAL);
        assert_string_equal(s->out, "");
        assert_non_null(strstr(s->err, "makes no sense: external_ids"));
    }
}

static void deleting_needs_no_body_in_either_direction(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, HEAD("204 No Content"), cmd_caller_del, false, WORDS("1001")),
                     CTL_OK);
    assert_memory_equal(s->request, "DELETE /v1/callers/1001 HTTP/1.1\r\n", 34);
    assert_string_equal(s->out, "");
    assert_string_equal(s->err, "");
}

static void an_error_body_becomes_one_escaped_sentence(void **state)
{
    static const char answer[] = HEAD("409 Conflict") "{\"status\":\"bad_request\",\"field\":"
                                                      "\"name\",\"message\":\"bad \\u001b[2J\"}";
    struct scene *s = *state;

    assert_int_equal(answered(s, answer, cmd_group_add, false, WORDS("kurs")), CTL_NO);
    assert_string_equal(s->err, "atelier: bad \\x1b[2J (field name)\n");
    assert_string_equal(s->out, "");
    assert_int_equal(answered(s, answer, cmd_group_add, true, WORDS("kurs")), CTL_NO);
    assert_string_equal(s->out, "{\"status\":\"bad_request\",\"field\":\"name\",\"message\":"
                                "\"bad \\u001B[2J\"}\n");
}

static void answers_that_make_no_sense_are_internal_errors(void **state)
{
    static const char *const answers[] = {
        HEAD("200 OK") "not json",
        HEAD("200 OK") "[]",
        HEAD("200 OK") "{}",
        HEAD("200 OK") "{\"groups\":[{\"name\":\"kurs\"}]}",
        HEAD("200 OK") "{\"groups\":[{\"name\":\"kurs\",\"gid\":\"10004\"}]}",
        HEAD("200 OK") "{\"groups\":[],\"groups\":[]}",
        "SSH-2.0-OpenSSH\r\n",
    };
    struct scene *s = *state;

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        assert_int_equal(answered(s, answers[i], cmd_group_list, false, WORDS(NULL)), CTL_INTERNAL);
        assert_string_equal(s->out, "");
        assert_memory_equal(s->err, "atelier: ", 9);
    }
}

static void a_redirect_is_not_followed(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s,
                              "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n"
                              "Content-Length: 2\r\n\r\n{}",
                              cmd_group_list, false, WORDS(NULL)),
                     CTL_INTERNAL);
    assert_non_null(strstr(s->err, "302"));
}

static void a_cut_answer_is_unavailable(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, "", cmd_group_list, false, WORDS(NULL)), CTL_UNAVAILABLE);
    assert_int_equal(answered(s, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"groups\":",
                              cmd_group_list, false, WORDS(NULL)),
                     CTL_UNAVAILABLE);
    assert_string_equal(s->out, "");
}

/* healthz with all its members; %s: HTTP status, status, canary, its cost. */
static int health_with(struct scene *s, const char *http, const char *status, const char *canary,
                       const char *cost)
{
    char answer[1024];

    (void)snprintf(
        answer, sizeof(answer),
        "HTTP/1.1 %s\r\nConnection: close\r\n\r\n"
        "{\"status\":\"%s\",\"version\":\"0.1.0\",\"sessiond\":true,\"canary\":\"%s\","
        "\"canary_what\":\"\",\"canary_age_ms\":null,\"canary_cost\":%s,\"net_revision\":1,"
        "\"cgroup_mode\":\"none\",\"limits\":{\"memory\":\"watch\",\"pids\":\"watch\","
        "\"cpu\":\"none\"},\"disk\":\"none\",\"disk_required\":false,"
        "\"disk_what\":\"\",\"runs\":0,\"users\":2,\"groups\":1,"
        "\"ids_free\":9,\"generation\":4,\"net_connections\":null}",
        http, status, canary, cost);
    return answered(s, answer, cmd_status, false, WORDS(NULL));
}

static int health(struct scene *s, const char *http, const char *status, const char *canary)
{
    return health_with(s, http, status, canary, "null");
}

static void status_tells_what_the_canary_costs(void **state)
{
    struct scene *s = *state;

    assert_int_equal(health(s, "200 OK", "ok", "holds"), CTL_OK);
    assert_null(strstr(s->out, "canary's cost"));
    assert_int_equal(health_with(s, "200 OK", "ok", "holds",
                                 "{\"rounds\":10,\"asked\":40,\"wall_us\":5000,\"cpu_probe_us\":"
                                 "1000,\"cpu_listener_us\":600,\"cpu_sessiond_us\":400}"),
                     CTL_OK);
    assert_non_null(strstr(s->out, "10 for 40 questions; 0.50 ms each, of the processor 0.20 ms; "
                                   "0.050 ms a question\n"));
}

static void status_tells_what_is_required_and_not_kept(void **state)
{
    struct scene *s = *state;

    assert_int_equal(health(s, "200 OK", "ok", "holds"), CTL_OK);
    assert_null(strstr(s->out, "required "));
    assert_int_equal(health_with(s, "200 OK", "ok", "holds", "null,\"limits_required\":[]"),
                     CTL_OK);
    assert_null(strstr(s->out, "required "));
    assert_int_equal(
        health_with(s, "200 OK", "ok", "holds", "null,\"limits_required\":[\"memory\",\"cpu\"]"),
        CTL_OK);
    assert_non_null(strstr(s->out, "\nrequired        memory,cpu; not kept by control groups: "
                                   "memory,cpu, and nothing starts for whom it is required\n"));
}

static void status_tells_well_from_degraded(void **state)
{
    struct scene *s = *state;

    assert_int_equal(health(s, "200 OK", "ok", "holds"), CTL_OK);
    assert_non_null(strstr(s->out, "canary          holds\n"));
    assert_non_null(strstr(s->out, "memory watch, processes watch, processors none\n"));
    assert_int_equal(health(s, "503 Service Unavailable", "degraded", "leak"), CTL_NO);
    assert_non_null(strstr(s->out, "status          degraded\n"));
    assert_int_equal(health(s, "200 OK", "degraded", "leak"), CTL_NO);
    assert_int_equal(health(s, "503 Service Unavailable", "ok", "holds"), CTL_NO);
}

static void run_writes_each_stream_byte_for_byte(void **state)
{
    static const char answer[] = HEAD("200 OK") ACCEPTED
        "{\"ev\":\"start\",\"seq\":1,\"t_ms\":1,\"pid\":7}\n"
        "{\"ev\":\"out\",\"seq\":2,\"t_ms\":1,\"s\":1,\"d\":\"a\\u001b[2J\"}\n"
        "{\"ev\":\"out\",\"seq\":3,\"t_ms\":1,\"s\":2,\"d\":\"oops\\n\"}\n"
        "{\"ev\":\"out\",\"seq\":4,\"t_ms\":1,\"s\":1,\"b64\":\"/4A=\"}\n"
        "{\"ev\":\"end\",\"seq\":5,\"t_ms\":2,\"status\":\"exit\",\"exit\":7,\"signal\":null,"
        "\"message\":null}\n";
    struct scene *s = *state;

    assert_int_equal(answered(s, answer, cmd_run, false, RUN_WORDS), 7);
    assert_string_equal(s->out, "a\x1b[2J\xff\x80");
    assert_string_equal(s->err, "oops\n");
    assert_non_null(strstr(s->request, "{\"user\":\"alice\",\"argv\":[\"/bin/true\"]}"));
    assert_int_equal(answered(s, answer, cmd_run, true, RUN_WORDS), 7);
    assert_string_equal(s->out, strstr(answer, "{\"ev\":\"accepted\""));
    assert_string_equal(s->err, "");
}

static void run_puts_events_together_across_chunks(void **state)
{
    static const char answer[] =
        STREAM "5\r\n{\"ev\"\r\n10\r\n:\"end\",\"status\":\r\n10\r\n\"ok\",\"exit\":0}\n\n\r\n"
               "0\r\n\r\n";
    struct scene *s = *state;

    assert_int_equal(answered(s, answer, cmd_run, false, RUN_WORDS), 0);
    assert_string_equal(s->err, "");
}

static void run_that_does_not_end_well_says_why(void **state)
{
    static const struct {
        const char *answer;
        int code;
        const char *sentence;
    } rows[] = {
        {HEAD("404 Not Found") "{\"status\":\"unknown_user\",\"field\":\"user\",\"message\":"
                               "\"There is no such user.\"}",
         125, "atelier: run refused: unknown_user: There is no such user. (field user)\n"},
        {HEAD("500 Oops") "<html>", 125,
         "atelier: run refused: internal: sessiond-api answered with HTTP status 500\n"},
        {HEAD("200 OK") ACCEPTED
         "{\"ev\":\"end\",\"status\":\"setup_failed\",\"message\":\"why\",\"step\":\"canary\"}\n",
         125, "atelier: run ended: setup_failed: why (step canary)\n"},
        {HEAD("200 OK") ACCEPTED "{\"ev\":\"end\",\"status\":\"timeout_wall\",\"exit\":null}\n",
         124, "atelier: run ended: timeout_wall\n"},
        {HEAD("200 OK") ACCEPTED "{\"ev\":\"end\",\"status\":\"exit\",\"exit\":127,\"message\":"
                                 "\"/x: No such file or directory\"}\n",
         127, "atelier: /x: No such file or directory\n"},
        {HEAD("200 OK") ACCEPTED "{\"ev\":\"end\",\"status\":\"signal\",\"signal\":\"KILL\"}\n",
         137, ""},
        {HEAD("200 OK") ACCEPTED "nonsense\n", 125,
         "atelier: run ended: internal: sessiond-api sent a line that is not an event\n"},
        {HEAD("200 OK") ACCEPTED, 125,
         "atelier: run ended: internal: the answer of sessiond-api stops before the run's end\n"},
        {HEAD("200 OK") ACCEPTED "{\"ev\":\"end\",\"status\":\"ok\",\"exit\":0}", 125,
         "atelier: run ended: internal: the answer of sessiond-api stops before the run's end\n"},
    };
    struct scene *s = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(answered(s, rows[i].answer, cmd_run, false, RUN_WORDS), rows[i].code);
        assert_string_equal(s->err, rows[i].sentence);
        assert_string_equal(s->out, "");
    }
}

static void run_whose_connection_breaks_is_a_failed_run(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, "", cmd_run, false, RUN_WORDS), CTL_UNAVAILABLE);
    assert_int_equal(answered(s, STREAM "6\r\nnoise\n\r\n", cmd_run, false, RUN_WORDS),
                     CTL_RUN_FAILED);
    assert_int_equal(answered(s, STREAM "23\r\n" ACCEPTED "\r\n", cmd_run, false, RUN_WORDS),
                     CTL_RUN_FAILED);
    assert_non_null(strstr(s->err, "closed the connection"));
}

static void run_marks_where_output_was_left_out(void **state)
{
    static const char answer[] = HEAD("200 OK") ACCEPTED
        "{\"ev\":\"out\",\"s\":1,\"d\":\"head\"}\n"
        "{\"ev\":\"note\",\"code\":\"truncated\",\"s\":1,\"kept\":8,\"dropped\":5}\n"
        "{\"ev\":\"out\",\"s\":1,\"d\":\"tail\"}\n"
        "{\"ev\":\"end\",\"status\":\"ok\",\"exit\":0}\n";
    struct scene *s = *state;

    assert_int_equal(answered(s, answer, cmd_run, false, RUN_WORDS), 0);
    assert_string_equal(s->out, "headtail");
    assert_string_equal(s->err,
                        "atelier: 5 bytes of standard output are left out here (--out-kb)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_missing_socket_is_said_to_be_missing),
        TEST(a_socket_that_nobody_listens_on_is_unavailable),
        TEST(a_list_has_a_header_and_json_is_one_line),
        TEST(the_request_is_what_the_api_expects),
        TEST(a_user_is_shown_with_the_key_of_each_caller),
        TEST(external_ids_that_make_no_sense_are_an_internal_error),
        TEST(deleting_needs_no_body_in_either_direction),
        TEST(an_error_body_becomes_one_escaped_sentence),
        TEST(answers_that_make_no_sense_are_internal_errors),
        TEST(a_redirect_is_not_followed),
        TEST(a_cut_answer_is_unavailable),
        TEST(status_tells_what_is_required_and_not_kept),
        TEST(status_tells_well_from_degraded),
        TEST(status_tells_what_the_canary_costs),
        TEST(run_writes_each_stream_byte_for_byte),
        TEST(run_puts_events_together_across_chunks),
        TEST(run_that_does_not_end_well_says_why),
        TEST(run_whose_connection_breaks_is_a_failed_run),
        TEST(run_marks_where_output_was_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
