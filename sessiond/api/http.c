/* SPDX-License-Identifier: ISC */
/*
 * http.c - requests and answers.
 *
 * libmicrohttpd has one epoll descriptor per door; the loop watches it and its time-out. Its own
 * view of a connection ends where we suspend it: a suspended connection neither times out nor
 * notices that the client left. So the socket of every stream is watched by hangup.h.
 *
 * Life of a request: uri_seen() (the deadline for the whole request starts), access_cb() with the
 * headers (checks that need no body; what is refused here is remembered), with parts of the body
 * (kept, or thrown away if refused), with its end (parsed, handed over), and again after each
 * resume until there is an answer. completed_cb() ends it in every case.
 *
 * A refusal waits for the end of a body of moderate size: an answer in the middle would make the
 * client fail in its write before it reads why.
 */
#include "sessiond/api/http.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/str.h"
#include "sessiond/api/hangup.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/response.h"
#include "sessiond/api/route.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define CONNECTIONS_MAX  512u
#define CONNECTION_BYTES ((size_t)32 << 10) /* request line, headers, buffers of one connection */
#define REQUEST_S        30                 /* from its first line to the end of its body */
#define STREAM_BLOCK     ((size_t)16 << 10)
/* Bodies that are too large are read to their end and refused up to here, then cut off. */
#define BODY_SWALLOW_MAX ((size_t)8 << 20)
/* All bodies together: more than this is an attack or a mistake. */
#define BODIES_MAX ((size_t)64 << 20)

/* One connection; the peer cannot change during it. */
struct conn {
    struct door *door;
    int fd; /* libmicrohttpd's */
    uid_t peer_uid;
    struct event *deadline;
};

struct door {
    struct app *app;
    enum door_kind kind;
    struct MHD_Daemon *mhd;
    struct event *ready;
    struct event *timer;
    struct hangup_set *hangups; /* of exchanges */
};

enum exchange_state {
    EXCHANGE_READING,
    EXCHANGE_HANDLING, /* inside the handler */
    EXCHANGE_WAITING,  /* the answer comes later */
    EXCHANGE_ANSWERED,
};

/* A request and its answer: the private side of struct request. */
struct exchange {
    struct request rq; /* first: a pointer to one is a pointer to the other */
    struct MHD_Connection *mhd;
    struct conn *conn;
    const struct route *route;
    enum exchange_state state;
    bool is_suspended;
    struct error refusal; /* http 0: none */
    char allow[ROUTE_ALLOW_SIZE];
    char *body;
    size_t body_len, body_size, swallowed;
    struct MHD_Response *response;
    unsigned http;
    const struct stream_ops *ops; /* NULL: not a stream */
    void *ops_arg;
    bool is_watched; /* for a hang-up */
};

static size_t bodies_bytes; /* of all exchanges */

static struct exchange *exchange_of(struct request *rq)
{
    return (struct exchange *)rq;
}

/* --- connections --- */

static void deadline_set(struct conn *c)
{
    static const struct timeval tv = {.tv_sec = REQUEST_S};

    (void)evtimer_add(c->deadline, &tv);
}

/* A request that trickles in is cut off: an idle time-out would start anew with every byte. */
static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    const struct conn *c = arg;

    (void)fd;
    (void)what;
    (void)shutdown(c->fd, SHUT_RDWR);
}

static uid_t peer_of(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || len != sizeof(cred))
        return (uid_t)-1; /* nobody: has no row, and is not root */
    return cred.uid;
}

static struct conn *conn_new(struct door *door, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct conn *c = info ? calloc(1, sizeof(*c)) : NULL;

    if (!c)
        return NULL;
    c->door = door;
    c->fd = info->connect_fd;
    c->peer_uid = peer_of(c->fd);
    c->deadline = evtimer_new(door->app->base, on_deadline, c);
    if (!c->deadline) {
        free(c);
        return NULL;
    }
    deadline_set(c);
    return c;
}

static void connection_cb(void *cls, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct conn *c = *socket_context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = conn_new(cls, mhd); /* NULL: access_cb() closes it */
    } else if (c) {
        event_free(c->deadline);
        free(c);
        *socket_context = NULL;
    }
}

static struct conn *conn_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* The request line is there: the whole request has its time from now on. */
static void *uri_seen(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    struct conn *c = conn_of(mhd);

    (void)cls;
    (void)uri;
    if (c)
        deadline_set(c);
    return NULL;
}

/* --- checks of the headers --- */

struct header_count {
    unsigned content_length;
    unsigned transfer_encoding;
};

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct header_count *n = cls;

    (void)kind;
    (void)value;
    if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
        n->content_length++;
    else if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
        n->transfer_encoding++;
    return MHD_YES;
}

/* Two lengths are how a request is smuggled past somebody who reads the other one. */
static bool has_two_lengths(struct MHD_Connection *mhd)
{
    struct header_count n = {0};

    (void)MHD_get_connection_values(mhd, MHD_HEADER_KIND, count_header, &n);
    return n.content_length + n.transfer_encoding > 1;
}

/* Announced size of the body; more than BODY_SWALLOW_MAX if it is too large or not a number. */
static size_t announced_bytes(struct MHD_Connection *mhd)
{
    const char *v =
        MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint32_t n = 0;

    if (v && str_to_u32(v, BODY_SWALLOW_MAX, &n) < 0)
        return BODY_SWALLOW_MAX + 1;
    return n;
}

/* A path that takes none says so when it has been read. */
static size_t body_limit(const struct exchange *x)
{
    return x->route && x->route->body_max > BODY_MAX ? x->route->body_max : BODY_MAX;
}

static void refuse_large(struct exchange *x)
{
    (void)error_set(&x->refusal, 413, STATUS_BAD_REQUEST, NULL,
                    "The body is larger than %zu bytes.", body_limit(x));
}

/* Everything that can be said before the body. */
static void check_head(struct exchange *x, const char *method, const char *url)
{
    struct error *e = &x->refusal;
    struct error not_found = {0};
    int r;

    if (MHD_get_connection_values(x->mhd, MHD_GET_ARGUMENT_KIND, NULL, NULL) > 0) {
        (void)error_field(e, NULL, "This API takes no query parameters.");
        return;
    }
    r = route_find(method, url, &x->route, x->rq.param, x->allow, &not_found);
    if (route_authorize(&x->rq, x->route, e) < 0)
        return;
    if (r < 0)
        *e = not_found;
    else if (announced_bytes(x->mhd) > body_limit(x))
        refuse_large(x);
}

/* --- answers --- */

static void exchange_resume(struct exchange *x)
{
    if (!x->is_suspended)
        return;
    x->is_suspended = false;
    MHD_resume_connection(x->mhd);
    /* Without threads of its own libmicrohttpd does not wake itself. */
    event_active(x->conn->door->timer, EV_TIMEOUT, 0);
}

static void respond(struct exchange *x, unsigned http, struct MHD_Response *response)
{
    assert(x->state != EXCHANGE_ANSWERED);
    x->state = EXCHANGE_ANSWERED;
    x->http = http;
    x->response = response; /* NULL: access_cb() closes the connection */
    exchange_resume(x);
}

void request_answer(struct request *rq, unsigned http, json_t *body)
{
    struct error e;

    if (!body) {
        (void)error_set(&e, 500, STATUS_INTERNAL, NULL, "There is no memory for the answer.");
        request_refuse(rq, &e);
        return;
    }
    respond(exchange_of(rq), http, response_of_json(body));
}

void request_answer_secret(struct request *rq, unsigned http, json_t *body)
{
    respond(exchange_of(rq), http, response_of_secret(body));
}

void request_answer_empty(struct request *rq, unsigned http)
{
    respond(exchange_of(rq), http,
            MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
}

void request_refuse(struct request *rq, const struct error *e)
{
    request_refuse_all(rq, e, NULL);
}

void request_refuse_all(struct request *rq, const struct error *e, json_t *errors)
{
    struct exchange *x = exchange_of(rq);
    struct MHD_Response *response = response_of_json(
        json_pack("{s:s, s:s?, s:s, s:o*}", "status", status_key(e->status), "field",
                  e->field[0] ? e->field : NULL, "message", e->message, "errors", errors));

    if (response && e->http == MHD_HTTP_SERVICE_UNAVAILABLE && e->status == STATUS_BUSY)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (response && e->http == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, x->allow);
    respond(x, e->http, response);
}

void request_refuse_with(struct request *rq, unsigned http, enum status status, const char *field,
                         const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    struct error e;
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
    (void)error_set(&e, http, status, field, "%s", message);
    request_refuse(rq, &e);
}

void request_fail(struct request *rq, const char *what, const char *why)
{
    struct error e;

    log_error("%s: %s", what, why);
    (void)error_set(&e, 500, STATUS_INTERNAL, NULL, "%s.", what);
    request_refuse(rq, &e);
}

void request_fail_change(struct request *rq, int r, const char *what, const char *why)
{
    if (r == -EINPROGRESS)
        request_fail(
            rq, "This is stored, but NSS does not know it yet; the next change makes up for it",
            why);
    else
        request_fail(rq, what, why);
}

void request_wait(struct request *rq)
{
    exchange_of(rq)->state = EXCHANGE_WAITING;
}

/* --- streams --- */

static ssize_t stream_read(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct exchange *x = cls;
    ssize_t n = x->ops->read(x->ops_arg, buf, max);

    (void)pos;
    if (n == STREAM_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n == 0) {
        x->is_suspended = true;
        MHD_suspend_connection(x->mhd);
    }
    return n;
}

static void on_hangup(void *what)
{
    struct exchange *x = what;

    x->ops->gone(x->ops_arg);
}

static void watch_stop(struct exchange *x)
{
    if (x->is_watched)
        hangup_del(x->conn->door->hangups, x->conn->fd);
    x->is_watched = false;
}

int request_stream(struct request *rq, const struct stream_ops *ops, void *arg)
{
    struct exchange *x = exchange_of(rq);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_read, x, NULL);

    if (!response || hangup_add(x->conn->door->hangups, x->conn->fd, x) < 0) {
        if (response)
            MHD_destroy_response(response);
        return -ENOMEM;
    }
    x->is_watched = true;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/x-ndjson");
    x->ops = ops;
    x->ops_arg = arg;
    request_set_idle_limit(rq, 0);
    respond(x, MHD_HTTP_OK, response);
    return 0;
}

void request_wake(struct request *rq)
{
    exchange_resume(exchange_of(rq));
}

void request_set_idle_limit(struct request *rq, unsigned idle_s)
{
    (void)MHD_set_connection_option(exchange_of(rq)->mhd, MHD_CONNECTION_OPTION_TIMEOUT, idle_s);
}

/* --- reading --- */

static struct exchange *exchange_new(struct MHD_Connection *mhd)
{
    struct conn *c = conn_of(mhd);
    struct exchange *x = c ? calloc(1, sizeof(*x)) : NULL;

    if (!x)
        return NULL;
    x->mhd = mhd;
    x->conn = c;
    x->rq.app = c->door->app;
    x->rq.door = c->door->kind;
    x->rq.peer_uid = c->peer_uid;
    return x;
}

static void body_free(struct exchange *x)
{
    bodies_bytes -= x->body_size;
    free(x->body);
    x->body = NULL;
    x->body_len = x->body_size = 0;
}

static int body_grow(struct exchange *x, size_t need)
{
    size_t size = x->body_size ? x->body_size : 4096;
    char *p;

    while (size < need)
        size *= 2;
    if (bodies_bytes - x->body_size + size > BODIES_MAX)
        return -ENOMEM;
    p = realloc(x->body, size);
    if (!p)
        return -ENOMEM;
    bodies_bytes += size - x->body_size;
    x->body = p;
    x->body_size = size;
    return 0;
}

/* Return: whether to go on with this connection. */
static bool body_add(struct exchange *x, const char *data, size_t n)
{
    if (x->refusal.http == 0 && n > body_limit(x) - x->body_len)
        refuse_large(x);
    if (x->refusal.http == 0 && x->body_len + n > x->body_size && body_grow(x, x->body_len + n) < 0)
        (void)error_set(&x->refusal, 503, STATUS_BUSY, NULL, "Too many requests are being read.");
    if (x->refusal.http == 0) {
        memcpy(x->body + x->body_len, data, n);
        x->body_len += n;
        return true;
    }
    body_free(x);
    x->swallowed += n;
    return x->swallowed <= BODY_SWALLOW_MAX;
}

/* The request is whole. Rights are checked again: reading may have taken a while. */
static void exchange_handle(struct exchange *x)
{
    json_t *body = NULL;

    (void)evtimer_del(x->conn->deadline);
    x->state = EXCHANGE_HANDLING;
    if (x->refusal.http == 0)
        (void)route_authorize(&x->rq, x->route, &x->refusal);
    if (x->refusal.http == 0) {
        if (x->route->body_max > 0)
            (void)json_in_parse(x->body, x->body_len, &body, &x->refusal);
        else if (x->body_len > 0)
            (void)error_field(&x->refusal, NULL, "This request takes no body.");
    }
    body_free(x);
    if (x->refusal.http != 0)
        request_refuse(&x->rq, &x->refusal);
    else
        x->route->handler(&x->rq, body);
    json_decref(body);
    assert(x->state != EXCHANGE_HANDLING);
}

static enum MHD_Result exchange_flush(struct exchange *x)
{
    enum MHD_Result r;

    if (!x->response)
        return MHD_NO;
    r = MHD_queue_response(x->mhd, x->http, x->response);
    MHD_destroy_response(x->response); /* libmicrohttpd has its own reference. */
    x->response = NULL;
    return r;
}

/* First call: headers only. */
static enum MHD_Result exchange_begin(struct exchange *x, const char *method, const char *url)
{
    if (has_two_lengths(x->mhd)) {
        (void)error_field(&x->refusal, NULL, "The length of the body is given twice.");
        request_refuse(&x->rq, &x->refusal);
        if (x->response)
            (void)MHD_add_response_header(x->response, MHD_HTTP_HEADER_CONNECTION, "close");
        return exchange_flush(x);
    }
    check_head(x, method, url);
    if (x->refusal.http == 0)
        return MHD_YES;
    /* Nothing is on its way yet, or too much. */
    if (announced_bytes(x->mhd) > BODY_SWALLOW_MAX ||
        MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT)) {
        request_refuse(&x->rq, &x->refusal);
        if (x->response)
            (void)MHD_add_response_header(x->response, MHD_HTTP_HEADER_CONNECTION, "close");
        return exchange_flush(x);
    }
    return MHD_YES;
}

static enum MHD_Result access_cb(void *cls, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_size, void **con_cls)
{
    struct exchange *x = *con_cls;

    (void)cls;
    (void)version;
    if (!x) {
        x = exchange_new(mhd);
        *con_cls = x;
        return x ? exchange_begin(x, method, url) : MHD_NO;
    }
    if (*data_size > 0) {
        bool go_on = body_add(x, data, *data_size);

        *data_size = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    if (x->state == EXCHANGE_READING)
        exchange_handle(x);
    if (x->state == EXCHANGE_ANSWERED)
        return exchange_flush(x);
    x->is_suspended = true;
    MHD_suspend_connection(mhd);
    return MHD_YES;
}

static void completed_cb(void *cls, struct MHD_Connection *mhd, void **con_cls,
                         enum MHD_RequestTerminationCode why)
{
    struct exchange *x = *con_cls;
    struct conn *c = conn_of(mhd);

    (void)cls;
    *con_cls = NULL;
    if (c)
        deadline_set(c);
    if (!x)
        return;
    watch_stop(x);
    if (x->ops) {
        if (why == MHD_REQUEST_TERMINATED_COMPLETED_OK)
            request_set_idle_limit(&x->rq, REQUEST_S);
        x->ops->done(x->ops_arg);
    }
    if (x->response)
        MHD_destroy_response(x->response);
    body_free(x);
    free(x);
}

/* --- doors --- */

/* Let libmicrohttpd work, and come back when it wants to. */
static void door_pump(evutil_socket_t fd, short what, void *arg)
{
    struct door *d = arg;
    MHD_UNSIGNED_LONG_LONG ms;

    (void)fd;
    (void)what;
    (void)MHD_run(d->mhd);
    if (MHD_get_timeout(d->mhd, &ms) == MHD_YES) {
        struct timeval tv = {.tv_sec = (time_t)(ms / 1000),
                             .tv_usec = (suseconds_t)(ms % 1000) * 1000};

        (void)evtimer_add(d->timer, &tv);
    } else {
        (void)evtimer_del(d->timer);
    }
}

static struct MHD_Daemon *daemon_start(struct door *d, int fd)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, access_cb, d,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_CONNECTION_LIMIT,
        CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)REQUEST_S,
        MHD_OPTION_NOTIFY_CONNECTION, connection_cb, d, MHD_OPTION_NOTIFY_COMPLETED, completed_cb,
        d, MHD_OPTION_URI_LOG_CALLBACK, uri_seen, d, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_END);
}

int door_open(struct app *app, enum door_kind kind, int fd, struct door **ret_door)
{
    struct door *d = calloc(1, sizeof(*d));
    const union MHD_DaemonInfo *info;

    if (!d)
        return -ENOMEM;
    d->app = app;
    d->kind = kind;
    if (hangup_set_new(app->base, on_hangup, &d->hangups) == 0)
        d->mhd = daemon_start(d, fd);
    info = d->mhd ? MHD_get_daemon_info(d->mhd, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        door_close(d);
        return -EIO;
    }
    d->ready = event_new(app->base, info->epoll_fd, EV_READ | EV_PERSIST, door_pump, d);
    d->timer = evtimer_new(app->base, door_pump, d);
    if (!d->ready || !d->timer || event_add(d->ready, NULL) < 0) {
        door_close(d);
        return -ENOMEM;
    }
    *ret_door = d;
    return 0;
}

void door_quiesce(struct door *d)
{
    (void)MHD_quiesce_daemon(d->mhd);
}

void door_close(struct door *d)
{
    if (!d)
        return;
    if (d->ready)
        event_free(d->ready);
    if (d->timer)
        event_free(d->timer);
    if (d->mhd)
        MHD_stop_daemon(d->mhd);
    hangup_set_free(d->hangups);
    free(d);
}
