/* SPDX-License-Identifier: ISC */
/*
 * event.h - the NDJSON events of one run, written in order into one queue.
 *
 * Every event is one line of compact JSON and carries "ev", "seq" and "t_ms". A failure (only for
 * want of memory) is kept in the log and never repaired: a stream with a hole is broken off.
 */
#ifndef ATELIER_API_EVENT_H
#define ATELIER_API_EVENT_H

#include <event2/buffer.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sessiond/api/cut.h"
#include "sessiond/api/outcome.h"
#include "sessiond/api/text.h"

/* Most bytes of output in one event. */
#define EVENT_CHUNK 16384u

struct event_log {
    struct evbuffer *queue; /* borrowed */
    int64_t zero_ms;        /* clock_mono_ms() when the run was accepted */
    uint32_t seq;           /* of the next event */
    bool failed;
};

/* One output stream of a run. */
struct outstream {
    int number; /* 1 or 2 */
    struct cut cut;
    char pending[UTF8_TAIL_MAX]; /* beginning of a character, already counted as passed */
    size_t pending_len;
    bool finishing;
};

/**
 * event_write() - Write one event
 * @name: Value of "ev"
 * @rest: Object with the other keys, taken over (freed also on failure); NULL marks the log failed
 */
void event_write(struct event_log *log, const char *name, json_t *rest);

/* Write an `out` event of at most EVENT_CHUNK + UTF8_TAIL_MAX bytes: "d" if plain, else "b64". */
void event_write_out(struct event_log *log, int stream, const char *data, size_t n);

void outstream_init(struct outstream *o, int number, size_t limit_bytes);
void outstream_done(struct outstream *o);

/* Output of the program: live events while there is room, then into the ring. */
void outstream_feed(struct outstream *o, struct event_log *log, const char *data, size_t n);

/**
 * outstream_more() - After the end of the run: write the next piece of what is left
 *
 * First the note about a gap, then the tail in pieces, then a character that never became whole.
 *
 * Return: true if something was written; false when nothing is left.
 */
bool outstream_more(struct outstream *o, struct event_log *log);

#endif
