/* SPDX-License-Identifier: ISC */
/* event.c - the NDJSON events of one run. */
#include "sessiond/api/event.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sessiond/api/clock.h"

#include "common/banned.h"

static int64_t log_age_ms(const struct event_log *log)
{
    int64_t age = clock_mono_ms() - log->zero_ms;

    return age > 0 ? age : 0;
}

void event_write(struct event_log *log, const char *name, json_t *rest)
{
    json_t *line = json_pack("{s:s, s:I, s:I}", "ev", name, "seq", (json_int_t)log->seq, "t_ms",
                             (json_int_t)log_age_ms(log));
    cleanup_free char *text = NULL;

    if (line && rest && json_object_update_missing(line, rest) == 0)
        text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    json_decref(rest);
    if (!text || evbuffer_add(log->queue, text, strlen(text)) < 0 ||
        evbuffer_add(log->queue, "\n", 1) < 0) {
        log->failed = true;
        return;
    }
    log->seq++;
}

/* Room for the fixed parts of an `out` event with the largest numbers. */
#define OUT_FRAME 128u

/* "}" and a line break after the data. */
static const char out_tail[] = "\"}\n";

static size_t out_body(char *at, const char *data, size_t n, size_t body, bool plain)
{
    if (plain)
        return json_escape(at, data, n);
    /* The NUL that is written last is overwritten by the caller. */
    (void)sodium_bin2base64(at, body + 1, (const unsigned char *)data, n,
                            sodium_base64_VARIANT_ORIGINAL);
    return body;
}

void event_write_out(struct event_log *log, int stream, const char *data, size_t n)
{
    bool plain = text_is_plain(data, n);
    size_t body = plain ? json_escaped_size(data, n) : (n + 2) / 3 * 4;
    struct evbuffer_iovec space;
    char *p;
    int head;

    if (n == 0)
        return;
    if (evbuffer_reserve_space(log->queue, (ssize_t)(body + OUT_FRAME), &space, 1) != 1) {
        log->failed = true;
        return;
    }
    p = space.iov_base;
    head = snprintf(p, OUT_FRAME, "{\"ev\":\"out\",\"seq\":%u,\"t_ms\":%lld,\"s\":%d,\"%s\":\"",
                    log->seq, (long long)log_age_ms(log), stream, plain ? "d" : "b64");
    if (head < 0 || (size_t)head >= OUT_FRAME - sizeof(out_tail)) {
        log->failed = true;
        return;
    }
    p += head;
    p += out_body(p, data, n, body, plain);
    memcpy(p, out_tail, sizeof(out_tail) - 1);
    p += sizeof(out_tail) - 1;
    space.iov_len = (size_t)(p - (char *)space.iov_base);
    if (evbuffer_commit_space(log->queue, &space, 1) < 0)
        log->failed = true;
    else
        log->seq++;
}

void outstream_init(struct outstream *o, int number, size_t limit_bytes)
{
    *o = (struct outstream){.number = number};
    cut_init(&o->cut, limit_bytes);
}

void outstream_done(struct outstream *o)
{
    cut_done(&o->cut);
}

/* Write a piece behind what was held back, and hold back the beginning of a character again. */
static void piece_write(struct outstream *o, struct event_log *log, const char *data, size_t n)
{
    char buf[UTF8_TAIL_MAX + EVENT_CHUNK];
    size_t len = o->pending_len + n, tail;

    memcpy(buf, o->pending, o->pending_len);
    memcpy(buf + o->pending_len, data, n);
    tail = utf8_tail(buf, len);
    event_write_out(log, o->number, buf, len - tail);
    memcpy(o->pending, buf + len - tail, tail);
    o->pending_len = tail;
}

static void keep(struct outstream *o, struct event_log *log, const char *data, size_t n)
{
    if (cut_keep(&o->cut, data, n) < 0)
        log->failed = true;
}

void outstream_feed(struct outstream *o, struct event_log *log, const char *data, size_t n)
{
    while (n > 0 && cut_room(&o->cut) > 0) {
        size_t part = cut_room(&o->cut);

        if (part > n)
            part = n;
        if (part > EVENT_CHUNK)
            part = EVENT_CHUNK;
        cut_pass(&o->cut, part);
        piece_write(o, log, data, part);
        data += part;
        n -= part;
    }
    if (n == 0)
        return;
    /* The head is full. It ends before a character that is not whole: that goes into the ring. */
    if (o->pending_len > 0) {
        cut_unpass(&o->cut, o->pending_len);
        keep(o, log, o->pending, o->pending_len);
        o->pending_len = 0;
    }
    keep(o, log, data, n);
}

static bool note_write(struct outstream *o, struct event_log *log)
{
    uint64_t dropped;

    cut_trim(&o->cut);
    dropped = cut_dropped(&o->cut);
    if (dropped == 0)
        return false;
    event_write(log, "note",
                json_pack("{s:s, s:i, s:I, s:I}", "code", "truncated", "s", o->number, "kept",
                          (json_int_t)(o->cut.total - dropped), "dropped", (json_int_t)dropped));
    return true;
}

bool outstream_more(struct outstream *o, struct event_log *log)
{
    char buf[EVENT_CHUNK];
    size_t n;

    if (!o->finishing) {
        o->finishing = true;
        if (note_write(o, log))
            return true;
    }
    n = cut_take(&o->cut, buf, sizeof(buf));
    if (n > 0) {
        piece_write(o, log, buf, n);
        return true;
    }
    if (o->pending_len > 0) {
        event_write_out(log, o->number, o->pending, o->pending_len);
        o->pending_len = 0;
        return true;
    }
    return false;
}
