/* SPDX-License-Identifier: ISC */
/*
 * http.h - requests and answers: libmicrohttpd on the loop of libevent.
 *
 * A request is read whole, checked against the table of route.h and handed to its handler. The
 * handler answers at once, or later (request_wait()), or with a stream (request_stream()).
 */
#ifndef ATELIER_API_HTTP_H
#define ATELIER_API_HTTP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "registry/registry.h"
#include "sessiond/api/app.h"
#include "sessiond/api/error.h"

#define BODY_MAX        ((size_t)1 << 20)
#define BODY_IMPORT_MAX ((size_t)4 << 20) /* 5000 people with everything that a row can hold */
#define PARAM_SIZE      64u

struct route;

/* What a handler sees of a request. */
struct request {
    struct app *app;
    enum door_kind door;
    uid_t peer_uid;
    struct caller caller;   /* the peer's row; only on DOOR_API */
    char param[PARAM_SIZE]; /* last part of the path, if the route has one */
};

/**
 * door_open() - Serve one listening socket
 * @fd: Listening AF_UNIX socket, borrowed
 *
 * Return: 0, -ENOMEM, -EIO (libmicrohttpd refuses).
 */
int door_open(struct app *app, enum door_kind kind, int fd, struct door **ret_door);

/* Stop to accept; what is open goes on. */
void door_quiesce(struct door *door);

/* Ends every connection. No request may be waiting or streaming silently: wake them first. */
void door_close(struct door *door);

/* --- answers: exactly one of these per request; afterwards the request may be gone ---------- */

/* @body: taken over; NULL is answered as 500. */
void request_answer(struct request *rq, unsigned http, json_t *body);
void request_answer_empty(struct request *rq, unsigned http);

/* An object with secrets, taken over: its strings are wiped, and nobody on the way may keep it. */
void request_answer_secret(struct request *rq, unsigned http, json_t *body);

/* {"status", "field", "message"} */
void request_refuse(struct request *rq, const struct error *e);

/* The same with "errors" beside it, taken over: everything that is wrong, @e first. */
void request_refuse_all(struct request *rq, const struct error *e, json_t *errors);

/* request_refuse() with an error made here; parameters as of error_set(). */
void request_refuse_with(struct request *rq, unsigned http, enum status status, const char *field,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));

/* request_refuse() with 500 internal, and the reason in the log. */
void request_fail(struct request *rq, const char *what, const char *why);

/* The same for what a function of the registry returned: -EINPROGRESS is stored all the same. */
void request_fail_change(struct request *rq, int r, const char *what, const char *why);

/* The answer comes later. The request stays valid until it is given. */
void request_wait(struct request *rq);

/* --- streams -------------------------------------------------------------------------------- */

#define STREAM_END    (-1)
#define STREAM_BROKEN (-2) /* the connection is closed without the last chunk */

struct stream_ops {
    /* Next bytes: their number; 0 if there are none yet (then request_wake()); STREAM_*. */
    ssize_t (*read)(void *arg, char *buf, size_t max);
    /* The client closed, or shut down its sending side. Once at most; read() may go on. */
    void (*gone)(void *arg);
    /* The request is over, however it ended: it is not valid any more. */
    void (*done)(void *arg);
};

/**
 * request_stream() - Answer 200 with NDJSON that read() delivers
 *
 * Return: 0, or -ENOMEM with the request not answered.
 */
int request_stream(struct request *rq, const struct stream_ops *ops, void *arg);

/* read() has something to say again. */
void request_wake(struct request *rq);

/* From now on the client must take something every @idle_s seconds; 0: it need not. */
void request_set_idle_limit(struct request *rq, unsigned idle_s);

#endif
