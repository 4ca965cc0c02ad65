/* SPDX-License-Identifier: ISC */
/* test_api_event.c - output as events: nothing lost, exact counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/buffer.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "sessiond/api/clock.h"
#include "sessiond/api/cut.h"
#include "sessiond/api/event.h"

#include "common/banned.h"

/* What the events of one stream amount to. */
struct seen {
    char bytes[1 << 18];
    size_t n;
    unsigned events, texts, blobs, notes;
    json_int_t kept, dropped;
    size_t before_note; /* bytes that came before the note */
};

struct fixture {
    struct event_log log;
    struct outstream out;
    struct seen seen;
};

static void fixture_make(struct fixture *f, size_t limit)
{
    memset(f, 0, sizeof(*f));
    f->log.queue = evbuffer_new();
    f->log.zero_ms = clock_mono_ms();
    assert_non_null(f->log.queue);
    outstream_init(&f->out, 1, limit);
}

static void take_out(struct seen *s, json_t *event)
{
    const json_t *d = json_object_get(event, "d"), *b64 = json_object_get(event, "b64");
    size_t n = 0;

    assert_true((d == NULL) != (b64 == NULL));
    if (d) {
        n = json_string_length(d);
        assert_true(s->n + n <= sizeof(s->bytes));
        memcpy(s->bytes + s->n, json_string_value(d), n);
        s->texts++;
    } else {
        assert_int_equal(sodium_base642bin((unsigned char *)s->bytes + s->n,
                                           sizeof(s->bytes) - s->n, json_string_value(b64),
                                           json_string_length(b64), NULL, &n, NULL,
                                           sodium_base64_VARIANT_ORIGINAL),
                         0);
        s->blobs++;
    }
    assert_true(n > 0);
    s->n += n;
}

static void take_line(struct seen *s, const char *line)
{
    json_t *event = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(event);
    assert_int_equal(json_integer_value(json_object_get(event, "seq")), s->events);
    assert_true(json_is_integer(json_object_get(event, "t_ms")));
    s->events++;
    if (strcmp(json_string_value(json_object_get(event, "ev")), "note") == 0) {
        s->notes++;
        s->before_note = s->n;
        s->kept = json_integer_value(json_object_get(event, "kept"));
        s->dropped = json_integer_value(json_object_get(event, "dropped"));
        assert_string_equal(json_string_value(json_object_get(event, "code")), "truncated");
    } else {
        take_out(s, event);
    }
    json_decref(event);
}

static void finish(struct fixture *f)
{
    char *line;

    while (outstream_more(&f->out, &f->log))
        continue;
    assert_false(f->log.failed);
    while ((line = evbuffer_readln(f->log.queue, NULL, EVBUFFER_EOL_LF))) {
        take_line(&f->seen, line);
        free(line);
    }
    assert_int_equal(evbuffer_get_length(f->log.queue), 0);
    evbuffer_free(f->log.queue);
    outstream_done(&f->out);
}

static struct fixture f; /* too large for the stack */

static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";

static void text_cut_at_any_byte_stays_text(void **state)
{
    size_t n = sizeof(text) - 1;

    (void)state;
    for (size_t cut = 0; cut <= n; cut++) {
        fixture_make(&f, 4096);
        outstream_feed(&f.out, &f.log, text, cut);
        outstream_feed(&f.out, &f.log, text + cut, n - cut);
        finish(&f);
        assert_int_equal(f.seen.blobs, 0);
        assert_int_equal(f.seen.n, n);
        assert_memory_equal(f.seen.bytes, text, n);
    }
}

static void bytes_that_are_not_text_survive(void **state)
{
    static const char raw[] = "\xff\x00x\xc3";

    (void)state;
    fixture_make(&f, 4096);
    outstream_feed(&f.out, &f.log, raw, 4);
    finish(&f);
    assert_int_equal(f.seen.n, 4);
    assert_memory_equal(f.seen.bytes, raw, 4);
    assert_int_equal(f.seen.blobs, 2); /* The lead byte was held back, and never became whole. */
    assert_int_equal(f.seen.texts, 0);
}

static void every_byte_value_survives(void **state)
{
    char all[256];

    (void)state;
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (char)i;
    for (size_t step = 1; step <= sizeof(all); step++) {
        fixture_make(&f, 4096);
        for (size_t at = 0; at < sizeof(all); at += step)
            outstream_feed(&f.out, &f.log, all + at,
                           step < sizeof(all) - at ? step : sizeof(all) - at);
        finish(&f);
        assert_int_equal(f.seen.n, sizeof(all));
        assert_memory_equal(f.seen.bytes, all, sizeof(all));
    }
}

/* @total bytes 'a'..'z' repeating, in pieces of @step, through a limit of @limit. */
static void feed_letters(size_t limit, size_t total, size_t step)
{
    char buf[512];

    fixture_make(&f, limit);
    for (size_t at = 0; at < total;) {
        size_t n = step < total - at ? step : total - at;

        for (size_t i = 0; i < n; i++)
            buf[i] = (char)('a' + (int)((at + i) % 26));
        outstream_feed(&f.out, &f.log, buf, n);
        at += n;
    }
    finish(&f);
}

static void output_up_to_the_limit_is_kept_without_a_note(void **state)
{
    static const size_t totals[] = {0, 1, 31, 32, 33, 63, 64};

    (void)state;
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
        for (size_t step = 1; step <= 65; step++) {
            feed_letters(64, totals[i], step);
            assert_int_equal(f.seen.notes, 0);
            assert_int_equal(f.seen.n, totals[i]);
            for (size_t k = 0; k < totals[i]; k++)
                assert_int_equal(f.seen.bytes[k], 'a' + (int)(k % 26));
        }
    }
}

static void output_over_the_limit_keeps_head_and_tail_with_exact_counts(void **state)
{
    static const size_t totals[] = {65, 66, 95, 96, 97, 128, 1000, 5000};

    (void)state;
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
        for (size_t step = 1; step <= 200; step += 7) {
            size_t total = totals[i];

            feed_letters(64, total, step);
            assert_int_equal(f.seen.notes, 1);
            assert_int_equal(f.seen.before_note, 32);
            assert_int_equal(f.seen.n, 64);
            assert_int_equal(f.seen.kept, 64);
            assert_int_equal(f.seen.dropped, total - 64);
            for (size_t k = 0; k < 32; k++) {
                assert_int_equal(f.seen.bytes[k], 'a' + (int)(k % 26));
                assert_int_equal(f.seen.bytes[32 + k], 'a' + (int)((total - 32 + k) % 26));
            }
        }
    }
}

static void head_and_tail_of_text_are_cut_between_characters(void **state)
{
    (void)state;
    for (size_t lead = 0; lead < 4; lead++) {
        size_t total = lead;

        fixture_make(&f, 64);
        outstream_feed(&f.out, &f.log, "xyz", lead);
        for (int i = 0; i < 100; i++, total += 4)
            outstream_feed(&f.out, &f.log, "\xf0\x9f\x98\x80", 4);
        finish(&f);
        assert_int_equal(f.seen.blobs, 0);
        assert_int_equal(f.seen.notes, 1);
        assert_int_equal(f.seen.kept, f.seen.n);
        assert_int_equal(f.seen.kept + f.seen.dropped, total);
        assert_true(f.seen.kept > 64 - 8);
    }
}

static void long_output_comes_in_bounded_events(void **state)
{
    static char big[100000];

    (void)state;
    memset(big, 'q', sizeof(big));
    fixture_make(&f, 4 * sizeof(big));
    outstream_feed(&f.out, &f.log, big, sizeof(big));
    finish(&f);
    assert_int_equal(f.seen.n, sizeof(big));
    assert_int_equal(f.seen.events, (sizeof(big) + EVENT_CHUNK - 1) / EVENT_CHUNK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_cut_at_any_byte_stays_text),
        cmocka_unit_test(bytes_that_are_not_text_survive),
        cmocka_unit_test(every_byte_value_survives),
        cmocka_unit_test(output_up_to_the_limit_is_kept_without_a_note),
        cmocka_unit_test(output_over_the_limit_keeps_head_and_tail_with_exact_counts),
        cmocka_unit_test(head_and_tail_of_text_are_cut_between_characters),
        cmocka_unit_test(long_output_comes_in_bounded_events),
    };

    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
