/* SPDX-License-Identifier: ISC */
/* test_ctl_event.c - lines, base64 and events of a run. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/event.h"

#include "common/banned.h"

static void decodes(const char *text, const char *wanted, size_t wanted_size)
{
    char *bytes = NULL;
    size_t size = 0;

    assert_int_equal(base64_decode(text, strlen(text), &bytes, &size), 0);
    assert_int_equal(size, wanted_size);
    assert_memory_equal(bytes, wanted, wanted_size);
    free(bytes);
}

static void is_not_base64(const char *text)
{
    char *bytes = NULL;
    size_t size = 0;

    assert_int_equal(base64_decode(text, strlen(text), &bytes, &size), -EBADMSG);
    assert_null(bytes);
}

/* Source: RFC 4648 section 10. */
static void base64_decodes_the_vectors_of_the_rfc(void **state)
{
    (void)state;
    decodes("", "", 0);
    decodes("Zg==", "f", 1);
    decodes("Zm8=", "fo", 2);
    decodes("Zm9v", "foo", 3);
    decodes("Zm9vYmFy", "foobar", 6);
    decodes("AP+A/w==", "\0\xff\x80\xff", 4);
}

static void base64_has_one_form_only(void **state)
{
    (void)state;
    is_not_base64("Zg=");
    is_not_base64("Zg");
    is_not_base64("Zh==");
    is_not_base64("Zm9=");
    is_not_base64("Z===");
    is_not_base64("====");
    is_not_base64("Zg==Zg==");
    is_not_base64("Zm 9");
    is_not_base64("Zm-_");
    is_not_base64("Zm9v\n");
}

static void base64_returns_every_byte_value(void **state)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (void)state;

    for (unsigned byte = 0; byte < 256; byte++) {
        char text[5] = {alphabet[byte >> 2], alphabet[(byte & 3) << 4], '=', '=', '\0'};
        char wanted = (char)byte;

        decodes(text, &wanted, 1);
    }
}

struct seen {
    char text[256]; /* the lines with '|' after each */
    size_t count;
    size_t stop_at; /* 0: never */
};

static int on_line(void *arg, const char *line, size_t size)
{
    struct seen *seen = arg;
    size_t used = strlen(seen->text);

    assert_true(used + size + 2 < sizeof(seen->text));
    memcpy(seen->text + used, line, size);
    seen->text[used + size] = '|';
    seen->text[used + size + 1] = '\0';
    return ++seen->count == seen->stop_at ? -ECANCELED : 0;
}

static void lines_are_the_same_wherever_the_stream_is_cut(void **state)
{
    static const char stream[] = "one\ntwo\n\nthree\nrest";
    (void)state;

    for (size_t cut = 0; cut < sizeof(stream); cut++) {
        struct lines lines = {0};
        struct seen seen = {0};

        assert_int_equal(lines_add(&lines, stream, cut, on_line, &seen), 0);
        assert_int_equal(lines_add(&lines, stream + cut, sizeof(stream) - 1 - cut, on_line, &seen),
                         0);
        assert_string_equal(seen.text, "one|two|three|");
        assert_int_equal(lines.used, strlen("rest"));
        lines_done(&lines);
    }
}

static void a_refused_line_stops_the_stream(void **state)
{
    struct seen seen = {.stop_at = 2};
    struct lines lines = {0};

    (void)state;
    assert_int_equal(lines_add(&lines, "a\nb\nc\n", 6, on_line, &seen), -ECANCELED);
    assert_string_equal(seen.text, "a|b|");
    lines_done(&lines);
}

static void a_line_without_end_is_given_up(void **state)
{
    const size_t piece = EVENT_LINE_MAX / 4;
    char *block = calloc(1, piece);
    struct lines lines = {0};
    struct seen seen = {0};

    (void)state;
    assert_non_null(block);
    for (int i = 0; i < 4; i++)
        assert_int_equal(lines_add(&lines, block, piece, on_line, &seen), 0);
    assert_int_equal(lines_add(&lines, block, 1, on_line, &seen), -EMSGSIZE);
    assert_int_equal(seen.count, 0);
    lines_done(&lines);
    free(block);
}

static void parses(const char *line, struct event *ret_e)
{
    assert_int_equal(event_parse(line, strlen(line), ret_e), 0);
}

static void is_no_event(const char *line)
{
    struct event e = {0};

    assert_int_equal(event_parse(line, strlen(line), &e), -EBADMSG);
    assert_null(e.json);
}

static void output_is_read_as_text_and_as_base64(void **state)
{
    struct event e;

    (void)state;
    parses("{\"ev\":\"out\",\"seq\":2,\"t_ms\":4,\"s\":2,\"d\":\"l\\u00e4\\n\"}", &e);
    assert_int_equal(e.kind, EVENT_OUT);
    assert_int_equal(e.stream, 2);
    assert_int_equal(e.size, 4);
    assert_memory_equal(e.bytes, "l\xc3\xa4\n", 4);
    event_done(&e);
    parses("{\"ev\":\"out\",\"s\":1,\"b64\":\"/wA=\"}", &e);
    assert_int_equal(e.stream, 1);
    assert_int_equal(e.size, 2);
    assert_memory_equal(e.bytes, "\xff\0", 2);
    event_done(&e);
    parses("{\"ev\":\"out\",\"s\":1,\"d\":\"a\\u0000b\"}", &e);
    assert_int_equal(e.size, 3);
    assert_memory_equal(e.bytes, "a\0b", 3);
    event_done(&e);
}

static void the_end_is_read_with_all_its_parts(void **state)
{
    struct event e;

    (void)state;
    parses("{\"ev\":\"end\",\"status\":\"exit\",\"exit\":7,\"signal\":null,\"message\":null}", &e);
    assert_int_equal(e.kind, EVENT_END);
    assert_string_equal(e.status, "exit");
    assert_true(e.has_exit);
    assert_int_equal(e.exit_code, 7);
    assert_null(e.signal);
    assert_null(e.message);
    assert_null(e.step);
    event_done(&e);
    parses("{\"ev\":\"end\",\"status\":\"setup_failed\",\"exit\":null,\"signal\":null,"
           "\"message\":\"why\",\"step\":\"canary\"}",
           &e);
    assert_false(e.has_exit);
    assert_string_equal(e.message, "why");
    assert_string_equal(e.step, "canary");
    event_done(&e);
}

static void a_note_says_what_was_dropped(void **state)
{
    struct event e;

    (void)state;
    parses("{\"ev\":\"note\",\"code\":\"truncated\",\"s\":1,\"kept\":8,\"dropped\":9}", &e);
    assert_int_equal(e.kind, EVENT_NOTE);
    assert_string_equal(e.code, "truncated");
    assert_int_equal(e.stream, 1);
    assert_int_equal(e.dropped, 9);
    event_done(&e);
}

static void events_of_a_later_version_are_passed_over(void **state)
{
    struct event e;

    (void)state;
    parses("{\"ev\":\"file\",\"name\":\"x\"}", &e);
    assert_int_equal(e.kind, EVENT_OTHER);
    event_done(&e);
    parses("{\"ev\":\"start\",\"pid\":1}", &e);
    assert_int_equal(e.kind, EVENT_OTHER);
    event_done(&e);
    parses("{\"ev\":\"accepted\",\"more\":true}", &e);
    assert_int_equal(e.kind, EVENT_ACCEPTED);
    event_done(&e);
}

static void what_is_not_an_event_is_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "not json",
        "[]",
        "{}",
        "{\"ev\":1}",
        "{\"ev\":\"out\"",
        "{\"ev\":\"out\",\"ev\":\"end\"}",
        "{\"ev\":\"out\",\"s\":1}",
        "{\"ev\":\"out\",\"s\":3,\"d\":\"x\"}",
        "{\"ev\":\"out\",\"s\":\"1\",\"d\":\"x\"}",
        "{\"ev\":\"out\",\"d\":\"x\"}",
        "{\"ev\":\"out\",\"s\":1,\"d\":7}",
        "{\"ev\":\"out\",\"s\":1,\"d\":\"x\",\"b64\":\"Zg==\"}",
        "{\"ev\":\"out\",\"s\":1,\"b64\":\"Zg=\"}",
        "{\"ev\":\"end\"}",
        "{\"ev\":\"end\",\"status\":null}",
        "{\"ev\":\"end\",\"status\":\"exit\",\"exit\":\"0\"}",
        "{\"ev\":\"end\",\"status\":\"signal\",\"signal\":9}",
        "{\"ev\":\"end\",\"status\":\"ok\\u0000\",\"exit\":0}",
        "{\"ev\":\"note\"}",
        "{\"ev\":\"accepted\"} {\"ev\":\"end\"}",
    };
    (void)state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        is_no_event(lines[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_decodes_the_vectors_of_the_rfc),
        cmocka_unit_test(base64_has_one_form_only),
        cmocka_unit_test(base64_returns_every_byte_value),
        cmocka_unit_test(lines_are_the_same_wherever_the_stream_is_cut),
        cmocka_unit_test(a_refused_line_stops_the_stream),
        cmocka_unit_test(a_line_without_end_is_given_up),
        cmocka_unit_test(output_is_read_as_text_and_as_base64),
        cmocka_unit_test(the_end_is_read_with_all_its_parts),
        cmocka_unit_test(a_note_says_what_was_dropped),
        cmocka_unit_test(events_of_a_later_version_are_passed_over),
        cmocka_unit_test(what_is_not_an_event_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
