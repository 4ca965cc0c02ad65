/* SPDX-License-Identifier: ISC */
/* event.c - the events of a run: lines of JSON, cut out of a stream and read. */
#include "ctl/event.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/say.h"

#include "common/banned.h"

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

int base64_decode(const char *text, size_t size, char **ret_bytes, size_t *ret_size)
{
    cleanup_free char *bytes = NULL;
    size_t pad = 0, n = 0;

    if (size % 4 != 0)
        return -EBADMSG;
    while (pad < 2 && pad < size && text[size - 1 - pad] == '=')
        pad++;
    bytes = malloc(size / 4 * 3 + 1);
    if (!bytes)
        say_no_memory();
    for (size_t i = 0; i < size; i += 4) {
        size_t chars = i + 4 == size ? 4 - pad : 4;
        uint32_t group = 0;

        for (size_t j = 0; j < 4; j++) {
            int v = j < chars ? base64_value(text[i + j]) : 0;

            if (v < 0)
                return -EBADMSG;
            group = group << 6 | (uint32_t)v;
        }
        /* Bits that belong to no byte have to be 0, else two texts would mean the same bytes. */
        if ((chars == 2 && (group & 0xffff)) || (chars == 3 && (group & 0xff)))
            return -EBADMSG;
        for (size_t j = 0; j + 1 < chars; j++)
            bytes[n++] = (char)(group >> (16 - 8 * j) & 0xff);
    }
    *ret_bytes = bytes;
    *ret_size = n;
    bytes = NULL;
    return 0;
}

/* Strings of events may hold NULs only where bytes are meant, in "d". */
static const char *member_text(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    const char *text = json_string_value(value);

    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

/* A string or null or nothing. */
static int optional_text(const json_t *json, const char *key, const char **ret_text)
{
    const json_t *value = json_object_get(json, key);

    *ret_text = member_text(json, key);
    return *ret_text || !value || json_is_null(value) ? 0 : -EBADMSG;
}

static int stream_read(const json_t *json, int *ret_stream)
{
    const json_t *s = json_object_get(json, "s");
    json_int_t value = json_integer_value(s);

    if (!json_is_integer(s) || (value != 1 && value != 2))
        return -EBADMSG;
    *ret_stream = (int)value;
    return 0;
}

static int out_read(struct event *e)
{
    const json_t *text = json_object_get(e->json, "d"), *b64 = json_object_get(e->json, "b64");

    if (stream_read(e->json, &e->stream) < 0 || json_is_string(text) == json_is_string(b64))
        return -EBADMSG;
    if (text) {
        e->bytes = json_string_value(text);
        e->size = json_string_length(text);
        return b64 ? -EBADMSG : 0;
    }
    if (base64_decode(json_string_value(b64), json_string_length(b64), &e->decoded, &e->size) < 0)
        return -EBADMSG;
    e->bytes = e->decoded;
    return 0;
}

static int note_read(struct event *e)
{
    const json_t *dropped = json_object_get(e->json, "dropped");

    e->code = member_text(e->json, "code");
    if (!e->code || (dropped && !json_is_integer(dropped)))
        return -EBADMSG;
    e->dropped = json_integer_value(dropped);
    return json_object_get(e->json, "s") ? stream_read(e->json, &e->stream) : 0;
}

static int end_read(struct event *e)
{
    const json_t *code = json_object_get(e->json, "exit");

    e->status = member_text(e->json, "status");
    if (!e->status || (code && !json_is_null(code) && !json_is_integer(code)))
        return -EBADMSG;
    e->has_exit = json_is_integer(code);
    e->exit_code = json_integer_value(code);
    if (optional_text(e->json, "signal", &e->signal) < 0 ||
        optional_text(e->json, "message", &e->message) < 0)
        return -EBADMSG;
    return optional_text(e->json, "step", &e->step);
}

int event_parse(const char *line, size_t size, struct event *ret_event)
{
    struct event e = {0};
    const char *name;
    int r = 0;

    e.json = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    name = member_text(e.json, "ev");
    if (!name) {
        r = -EBADMSG;
    } else if (strcmp(name, "out") == 0) {
        e.kind = EVENT_OUT;
        r = out_read(&e);
    } else if (strcmp(name, "note") == 0) {
        e.kind = EVENT_NOTE;
        r = note_read(&e);
    } else if (strcmp(name, "end") == 0) {
        e.kind = EVENT_END;
        r = end_read(&e);
    } else if (strcmp(name, "accepted") == 0) {
        e.kind = EVENT_ACCEPTED;
    }
    if (r < 0) {
        event_done(&e);
        return r;
    }
    *ret_event = e;
    return 0;
}

void event_done(struct event *e)
{
    json_decref(e->json);
    free(e->decoded);
    *e = (struct event){0};
}

static int lines_keep(struct lines *l, const char *data, size_t size)
{
    if (size > EVENT_LINE_MAX - l->used)
        return -EMSGSIZE;
    if (size > l->room - l->used) {
        size_t room = (l->used + size) * 2;
        char *grown = realloc(l->data, room);

        if (!grown)
            say_no_memory();
        l->data = grown;
        l->room = room;
    }
    if (size > 0)
        memcpy(l->data + l->used, data, size);
    l->used += size;
    return 0;
}

int lines_add(struct lines *l, const char *data, size_t size, line_fn fn, void *arg)
{
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t length = newline ? (size_t)(newline - data) : size;
        int r = lines_keep(l, data, length);

        if (r < 0 || !newline)
            return r;
        length++;
        data += length;
        size -= length;
        if (l->used > 0) {
            r = fn(arg, l->data, l->used);
            l->used = 0;
            if (r != 0)
                return r;
        }
    }
    return 0;
}

void lines_done(struct lines *l)
{
    free(l->data);
    *l = (struct lines){0};
}
