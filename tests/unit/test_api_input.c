/* SPDX-License-Identifier: ISC */
/* test_api_input.c - bodies of requests: every error names its field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "magic-link/magic_link.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/link_input.h"
#include "sessiond/api/run_spec.h"
#include "tests/unit/body_case.h"

#include "common/banned.h"

static int parse_run(const json_t *body, struct error *e)
{
    struct run_spec spec;

    return run_spec_parse(body, &spec, e);
}

static int parse_link(const json_t *body, struct error *e)
{
    struct link_input input;

    return link_input_parse(body, &input, e);
}

/* The rest of a good body around one key. */
#define RUN(rest)  "{\"user\":\"alice\",\"argv\":[\"/bin/true\"]," rest "}"
#define CODE(rest) "{\"user\":\"alice\",\"lang\":\"sh\",\"code\":\"true\"," rest "}"

static void every_key_of_a_run_is_checked_and_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"user\":\"alice\",\"argv\":[\"/bin/true\"]}", 0, ""},
        {"{\"user\":10001,\"lang\":\"python3\",\"code\":\"\"}", 0, ""},
        {CODE("\"argv\":[\"a\",\"b\"]"), 0, ""},
        {CODE("\"argv\":[]"), 0, ""},
        {RUN("\"net\":\"public\""), 0, ""},
        {RUN("\"net\":\"none\""), 0, ""},
        {RUN("\"stdin\":\"\""), 0, ""},
        {RUN("\"limits\":{}"), 0, ""},
        {RUN("\"limits\":{\"wall_ms\":1,\"cpu_ms\":1,\"out_kb\":1}"), 0, ""},
        {RUN("\"limits\":{\"wall_ms\":3600000,\"out_kb\":16384}"), 0, ""},
        {RUN("\"env\":{\"_a1\":\"x\",\"LANG\":\"C\",\"TERM\":\"\"}"), 0, ""},
        {"{\"argv\":[\"/bin/true\"]}", 400, "user"},
        {"{\"user\":null,\"argv\":[\"/bin/true\"]}", 400, "user"},
        {"{\"user\":1.5,\"argv\":[\"/bin/true\"]}", 400, "user"},
        {"{\"user\":[],\"argv\":[\"/bin/true\"]}", 400, "user"},
        {"{\"user\":\"Alice\",\"argv\":[\"/bin/true\"]}", 404, "user"},
        {"{\"user\":\"\",\"argv\":[\"/bin/true\"]}", 404, "user"},
        {"{\"user\":0,\"argv\":[\"/bin/true\"]}", 404, "user"},
        {"{\"user\":9999,\"argv\":[\"/bin/true\"]}", 404, "user"},
        {"{\"user\":59900,\"argv\":[\"/bin/true\"]}", 404, "user"},
        {"{\"user\":-1,\"argv\":[\"/bin/true\"]}", 404, "user"},
        {"{\"user\":\"alice\"}", 400, "argv"},
        {"{\"user\":\"alice\",\"argv\":[]}", 400, "argv"},
        {"{\"user\":\"alice\",\"argv\":\"/bin/true\"}", 400, "argv"},
        {"{\"user\":\"alice\",\"argv\":[\"true\"]}", 400, "argv[0]"},
        {"{\"user\":\"alice\",\"argv\":[\"\"]}", 400, "argv[0]"},
        {"{\"user\":\"alice\",\"argv\":[\"/bin/echo\",1]}", 400, "argv[1]"},
        {"{\"user\":\"alice\",\"lang\":\"sh\"}", 400, "code"},
        {"{\"user\":\"alice\",\"lang\":\"sh\",\"code\":1}", 400, "code"},
        {"{\"user\":\"alice\",\"code\":\"x\"}", 400, "lang"},
        {"{\"user\":\"alice\",\"lang\":\"perl\",\"code\":\"x\"}", 400, "lang"},
        {"{\"user\":\"alice\",\"lang\":1,\"code\":\"x\"}", 400, "lang"},
        {"{\"user\":\"alice\",\"lang\":\"\",\"code\":\"x\"}", 400, "lang"},
        {RUN("\"code\":\"x\""), 400, "lang"},
        {RUN("\"stdin\":1"), 400, "stdin"},
        {RUN("\"net\":\"private\""), 400, "net"},
        {RUN("\"net\":true"), 400, "net"},
        {RUN("\"env\":[]"), 400, "env"},
        {RUN("\"env\":{\"A\":1}"), 400, "env.A"},
        {RUN("\"env\":{\"\":\"x\"}"), 400, "env."},
        {RUN("\"env\":{\"1A\":\"x\"}"), 400, "env.1A"},
        {RUN("\"env\":{\"A=B\":\"x\"}"), 400, "env.A=B"},
        {RUN("\"env\":{\"A-B\":\"x\"}"), 400, "env.A-B"},
        {RUN("\"env\":{\"\xc3\xa9\":\"x\"}"), 400, "env.??"},
        {RUN("\"env\":{\"HOME\":\"/\"}"), 400, "env.HOME"},
        {RUN("\"env\":{\"USER\":\"x\"}"), 400, "env.USER"},
        {RUN("\"env\":{\"LOGNAME\":\"x\"}"), 400, "env.LOGNAME"},
        {RUN("\"env\":{\"PATH\":\"x\"}"), 400, "env.PATH"},
        {RUN("\"env\":{\"SHELL\":\"x\"}"), 400, "env.SHELL"},
        {RUN("\"limits\":1"), 400, "limits"},
        {RUN("\"limits\":{\"wall\":1}"), 400, "limits.wall"},
        {RUN("\"limits\":{\"wall_ms\":0}"), 400, "limits.wall_ms"},
        {RUN("\"limits\":{\"wall_ms\":3600001}"), 400, "limits.wall_ms"},
        {RUN("\"limits\":{\"wall_ms\":-1}"), 400, "limits.wall_ms"},
        {RUN("\"limits\":{\"wall_ms\":4294967297}"), 400, "limits.wall_ms"},
        {RUN("\"limits\":{\"wall_ms\":\"1\"}"), 400, "limits.wall_ms"},
        {RUN("\"limits\":{\"wall_ms\":1.0}"), 400, "limits.wall_ms"},
        {RUN("\"limits\":{\"cpu_ms\":0}"), 400, "limits.cpu_ms"},
        {RUN("\"limits\":{\"cpu_ms\":3600001}"), 400, "limits.cpu_ms"},
        {RUN("\"limits\":{\"cpu_ms\":null}"), 400, "limits.cpu_ms"},
        {RUN("\"limits\":{\"out_kb\":0}"), 400, "limits.out_kb"},
        {RUN("\"limits\":{\"out_kb\":16385}"), 400, "limits.out_kb"},
        {RUN("\"limits\":{\"out_kb\":null}"), 400, "limits.out_kb"},
        {RUN("\"wall_ms\":1"), 400, "wall_ms"},
        {RUN("\"uid\":0"), 400, "uid"},
    };

    (void)state;
    CHECK(parse_run, cases);
}

static void a_key_that_is_not_known_comes_with_one_that_is(void **state)
{
    static const struct {
        const char *body, *message;
    } rows[] = {
        {RUN("\"environ\":{}"), "environ is not a known key (did you mean env?)."},
        {RUN("\"limits\":{\"cpu_m\":1}"),
         "limits.cpu_m is not a known key (did you mean cpu_ms?)."},
        {RUN("\"limits\":{\"zzz\":1}"),
         "limits.zzz is not a known key (known: wall_ms, cpu_ms, out_kb, required)."},
        {RUN("\"\\u202ezz\":1"),
         "\"\\u202ezz\" is not a known key (known: user, argv, lang, code, env, net, stdin, "
         "limits)."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *body = body_of(rows[i].body);
        struct error e;

        assert_int_not_equal(parse_run(body, &e), 0);
        assert_string_equal(e.message, rows[i].message);
        json_decref(body);
    }
}

static void every_key_of_a_link_is_checked_and_named(void **state)
{
    static const struct body_case cases[] = {
        {"{\"user\":\"alice\"}", 0, ""},
        {"{\"user\":\"alice\",\"purpose\":\"web\",\"valid_s\":1,\"qr\":true}", 0, ""},
        {"{\"user\":\"alice\",\"valid_s\":1209600,\"qr\":false}", 0, ""},
        {"{}", 400, "user"},
        {"{\"user\":10001}", 400, "user"},
        {"{\"user\":null}", 400, "user"},
        {"{\"user\":\"Alice\"}", 404, "user"},
        {"{\"user\":\"\"}", 404, "user"},
        {"{\"user\":\"alice\",\"purpose\":\"\"}", 400, "purpose"},
        {"{\"user\":\"alice\",\"purpose\":\"SSH\"}", 400, "purpose"},
        {"{\"user\":\"alice\",\"purpose\":\"everything\"}", 400, "purpose"},
        {"{\"user\":\"alice\",\"purpose\":1}", 400, "purpose"},
        {"{\"user\":\"alice\",\"valid_s\":0}", 400, "valid_s"},
        {"{\"user\":\"alice\",\"valid_s\":1209601}", 400, "valid_s"},
        {"{\"user\":\"alice\",\"valid_s\":\"900\"}", 400, "valid_s"},
        {"{\"user\":\"alice\",\"qr\":1}", 400, "qr"},
        {"{\"user\":\"alice\",\"code\":\"ABCD\"}", 400, "code"},
    };

    (void)state;
    CHECK(parse_link, cases);
}

static void link_is_for_any_door_and_a_quarter_of_an_hour_unless_said(void **state)
{
    struct link_input in = {0};
    json_t *body = json_pack("{s:s}", "user", "alice");
    struct error e;

    (void)state;
    assert_int_equal(link_input_parse(body, &in, &e), 0);
    assert_int_equal(in.purpose, LINK_PURPOSE_ANY);
    assert_int_equal(in.valid_s, 900);
    assert_false(in.wants_qr);
    assert_int_equal(json_object_set_new(body, "purpose", json_string("ssh")), 0);
    assert_int_equal(link_input_parse(body, &in, &e), 0);
    assert_int_equal(in.purpose, LINK_PURPOSE_SSH);
    json_decref(body);
}

static void id_of_a_link_is_sixteen_hex_digits(void **state)
{
    (void)state;
    assert_true(link_id_is_valid("0123456789abcdef"));
    assert_false(link_id_is_valid("0123456789abcde"));
    assert_false(link_id_is_valid("0123456789abcdef0"));
    assert_false(link_id_is_valid("0123456789ABCDEF"));
    assert_false(link_id_is_valid("0123456789abcd/f"));
    assert_false(link_id_is_valid(""));
}

static void what_is_not_one_json_object_is_refused(void **state)
{
    static const struct body_case cases[] = {
        {"", 400, ""},
        {"{", 400, ""},
        {"[]", 400, ""},
        {"\"x\"", 400, ""},
        {"{} x", 400, ""},
        {"{\"name\":\"a\",\"name\":\"b\"}", 400, ""},
        {"{\"name\":\"a\\u0000\"}", 400, ""},
        {"{\"name\":\"\xff\"}", 400, ""},
        {"{\"name\":\"\\ud800\"}", 400, ""},
        {"{\"uid\":99999999999999999999}", 400, ""},
    };

    (void)state;
    CHECK(parse_link, cases);
}

static void deep_nesting_is_refused(void **state)
{
    char deep[8192];
    struct error e = {0};
    json_t *body = NULL;

    (void)state;
    memset(deep, '[', sizeof(deep));
    assert_int_not_equal(json_in_parse(deep, sizeof(deep), &body, &e), 0);
    assert_int_equal(e.http, 400);
    assert_non_null(strstr(e.message, "nested too deeply"));
    assert_null(body);
}

static void command_of_a_preset_and_of_argv(void **state)
{
    static const struct {
        const char *lang, *first, *last, *code_name;
    } presets[] = {
        {"python3", "/usr/bin/python3", ATELIER_HOMES_DIR "/alice/main.py", "main.py"},
        {"bash", "/bin/bash", ATELIER_HOMES_DIR "/alice/main.bash", "main.bash"},
        {"sh", "/bin/sh", ATELIER_HOMES_DIR "/alice/main.sh", "main.sh"},
        {"node", "/usr/bin/node", ATELIER_HOMES_DIR "/alice/main.js", "main.js"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
        json_t *body = json_pack("{s:s, s:s, s:s, s:[s]}", "user", "alice", "lang", presets[i].lang,
                                 "code", "x", "argv", "more");
        struct run_command c;
        struct run_spec spec;
        struct error e;
        size_t n = 0;

        assert_int_equal(run_spec_parse(body, &spec, &e), 0);
        assert_int_equal(run_command_make(&spec, "alice", &c), 0);
        while (c.argv[n])
            n++;
        assert_string_equal(c.argv[0], presets[i].first);
        assert_string_equal(c.argv[n - 2], presets[i].last);
        assert_string_equal(c.argv[n - 1], "more");
        assert_string_equal(c.code_name, presets[i].code_name);
        assert_int_equal(spec.wall_ms, 0); /* not given: run_spec_limit() */
        assert_int_equal(spec.out_kb, 0);
        assert_false(spec.net_public);
        run_command_done(&c);
        json_decref(body);
    }
}

static unsigned count_prefix(char *const *v, const char *prefix)
{
    unsigned n = 0;

    for (size_t i = 0; v[i]; i++)
        n += strncmp(v[i], prefix, strlen(prefix)) == 0;
    return n;
}

static void environment_is_built_from_nothing_and_has_no_name_twice(void **state)
{
    static const char text[] = RUN("\"env\":{\"LANG\":\"de_DE\",\"X\":\"1\"}");
    struct run_command c;
    struct run_spec spec;
    struct error e;
    json_t *body;

    (void)state;
    assert_int_equal(json_in_parse(text, sizeof(text) - 1, &body, &e), 0);
    assert_int_equal(run_spec_parse(body, &spec, &e), 0);
    assert_int_equal(run_command_make(&spec, "alice", &c), 0);
    assert_null(c.code_name);
    assert_int_equal(count_prefix(c.envp, ""), 7);
    assert_int_equal(count_prefix(c.envp, "HOME=" ATELIER_HOMES_DIR "/alice"), 1);
    assert_int_equal(count_prefix(c.envp, "USER=alice"), 1);
    assert_int_equal(count_prefix(c.envp, "LOGNAME=alice"), 1);
    assert_int_equal(count_prefix(c.envp, "PATH=/usr/local/bin:/usr/bin:/bin"), 1);
    assert_int_equal(count_prefix(c.envp, "LANG="), 1);
    assert_int_equal(count_prefix(c.envp, "LANG=de_DE"), 1);
    assert_int_equal(count_prefix(c.envp, "TERM=dumb"), 1);
    assert_int_equal(count_prefix(c.envp, "X=1"), 1);
    run_command_done(&c);
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_a_run_is_checked_and_named),
        cmocka_unit_test(a_key_that_is_not_known_comes_with_one_that_is),
        cmocka_unit_test(every_key_of_a_link_is_checked_and_named),
        cmocka_unit_test(link_is_for_any_door_and_a_quarter_of_an_hour_unless_said),
        cmocka_unit_test(id_of_a_link_is_sixteen_hex_digits),
        cmocka_unit_test(what_is_not_one_json_object_is_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(command_of_a_preset_and_of_argv),
        cmocka_unit_test(environment_is_built_from_nothing_and_has_no_name_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
