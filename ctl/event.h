/* SPDX-License-Identifier: ISC */
/* event.h - the events of a run: lines of JSON, cut out of a stream and read. */
#ifndef ATELIER_CTL_EVENT_H
#define ATELIER_CTL_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The tail of a stream is one event: half of the largest out_kb, and JSON may need six bytes for
 * each.
 */
#define EVENT_LINE_MAX ((size_t)64 << 20)

enum event_kind {
    EVENT_OTHER, /* start, and what a later version may send */
    EVENT_ACCEPTED,
    EVENT_OUT,
    EVENT_NOTE,
    EVENT_END,
};

struct event {
    enum event_kind kind;
    json_t *json; /* owns the strings below */
    int stream;   /* out, note: 1 or 2; 0 if a note is about neither */

    const char *bytes; /* out: what the program wrote; any byte may be in it */
    size_t size;
    char *decoded; /* heap, if it came as base64 */

    const char *code; /* note */
    json_int_t dropped;

    const char *status; /* end */
    bool has_exit;
    json_int_t exit_code;
    const char *signal, *message, *step; /* end; NULL if null */
};

/**
 * event_parse() - Read one event
 * @line:      Bytes of the line, without the newline; borrowed
 * @size:      Their number
 * @ret_event: event_done()
 *
 * Unknown events and members are ignored, wrong types are not.
 *
 * Return: 0, or -EBADMSG for what is not an event.
 */
int event_parse(const char *line, size_t size, struct event *ret_event);

void event_done(struct event *e);
#define cleanup_event __attribute__((cleanup(event_done)))

/**
 * base64_decode() - Bytes from base64 text
 * @text:      Whole groups of four with padding, RFC 4648 section 4; no blanks
 * @size:      Length of the text
 * @ret_bytes: Heap
 * @ret_size:  Number of bytes
 *
 * Return: 0, or -EBADMSG for what is not base64 in its one canonical form.
 */
int base64_decode(const char *text, size_t size, char **ret_bytes, size_t *ret_size);

/* Cuts a stream into lines. All zero is the empty state. */
struct lines {
    char *data; /* the line that is not complete yet; heap */
    size_t used, room;
};

/* Called for each whole line, without the newline. A non-zero return stops and is returned. */
typedef int (*line_fn)(void *arg, const char *line, size_t size);

/**
 * lines_add() - Take the next piece of the stream
 * @fn: Called for each line that is complete with it; empty lines are left out
 *
 * Return: 0, what @fn returned, or -EMSGSIZE for a line over EVENT_LINE_MAX.
 */
int lines_add(struct lines *l, const char *data, size_t size, line_fn fn, void *arg);

void lines_done(struct lines *l);

#endif
