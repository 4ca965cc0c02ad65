/* SPDX-License-Identifier: ISC */
/*
 * run.c - the life of a run.
 *
 * Output: pipe -> outstream (head live, tail in a ring) -> queue of events -> libmicrohttpd. The
 * queue is bounded: when a reader is slow, the pipes are left alone and the program blocks in its
 * write. The end is what sessiond says (the init is reaped), never end of file: afterwards the
 * pipes are emptied without waiting, since nobody is left to write.
 */
#include "sessiond/api/run.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "sessiond/api/app.h"
#include "sessiond/api/audit.h"
#include "sessiond/api/clock.h"
#include "sessiond/api/core.h"
#include "sessiond/api/event.h"
#include "sessiond/api/http.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/share.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* Events of one run that wait for its reader, in bytes; a piece may go over it. */
#define QUEUE_MAX ((size_t)1 << 20)
/* Queue and rings of all runs together. */
#define MEMORY_MAX ((size_t)512 << 20)
/* More output than this in total ends a run (DESIGN.md, "Runs": output_flood). */
#define FLOOD_BYTES ((uint64_t)64 << 20)
/* One read; a default pipe holds four of them (pipe(7)). */
#define READ_SIZE EVENT_CHUNK
/* A pipe holds 1 MiB at most (pipe(7), pipe-max-size); more than that is not left over. */
#define DRAIN_MAX ((size_t)2 << 20)
/* After the end the client has to take something this often. */
#define LINGER_S 60u

enum run_state {
    RUN_WAITING,
    RUN_RUNNING,
    RUN_ENDED,
};

struct run;

struct pipe_end {
    struct run *run;
    int fd; /* read end; -1: closed */
    struct event *readable;
    struct outstream out;
};

struct run {
    TAILQ_ENTRY(run) link; /* of those that have not ended */
    struct run_table *table;
    struct request *rq; /* NULL: the client is gone for good */
    uint32_t tag;
    enum run_state state;
    enum kill_reason killed;
    bool is_paused;      /* the queue is full */
    bool is_end_written; /* `end` is in the queue */
    size_t memory;       /* its part of MEMORY_MAX */
    bool was_reserved;   /* the user had neither run nor login before */
    struct pipe_end pipes[2];
    struct evbuffer *queue;
    struct event_log log;
    struct run_row row;
    struct outcome outcome;
};

struct run_table {
    struct app *app;
    TAILQ_HEAD(, run) live;
    uint32_t live_count;
    uint32_t last_tag;
    size_t memory;
};

/* --- table --- */

int run_table_new(struct app *app, struct run_table **ret_table)
{
    struct run_table *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->app = app;
    TAILQ_INIT(&t->live);
    *ret_table = t;
    return 0;
}

void run_table_free(struct run_table *t)
{
    free(t);
}

uint32_t run_table_count(const struct run_table *t)
{
    return t->live_count;
}

uint32_t run_table_count_of(const struct run_table *t, uint32_t uid)
{
    const struct run *run;
    uint32_t n = 0;

    TAILQ_FOREACH(run, &t->live, link)
    {
        n += run->row.uid == uid;
    }
    return n;
}

static struct run *run_find(struct run_table *t, uint32_t tag)
{
    struct run *run;

    TAILQ_FOREACH(run, &t->live, link)
    {
        if (run->tag == tag)
            return run;
    }
    return NULL;
}

/* 0 is not a tag; after 2^32 runs one that lives may still have its number. */
static uint32_t tag_next(struct run_table *t)
{
    do {
        t->last_tag++;
    } while (t->last_tag == 0 || run_find(t, t->last_tag));
    return t->last_tag;
}

static uint64_t out_bytes(const struct run *run)
{
    return run->pipes[0].out.cut.total + run->pipes[1].out.cut.total;
}

static void run_free(struct run *run)
{
    for (int i = 0; i < 2; i++) {
        struct pipe_end *p = &run->pipes[i];

        if (p->readable)
            event_free(p->readable);
        if (p->fd >= 0)
            (void)close(p->fd);
        outstream_done(&p->out);
    }
    if (run->queue)
        evbuffer_free(run->queue);
    run->table->memory -= run->memory;
    free(run);
}

static void run_kill(struct run *run, enum kill_reason why)
{
    if (run->state == RUN_ENDED || run->killed != KILL_NOT_ASKED)
        return;
    run->killed = why;
    /* If this fails the connection is lost or given up, which ends the run too. */
    (void)core_send_head(run->table->app->core, WIRE_RUN_KILL, run->tag);
}

/* --- output --- */

static void run_pause(struct run *run)
{
    run->is_paused = true;
    for (int i = 0; i < 2; i++)
        (void)event_del(run->pipes[i].readable);
}

static void run_listen(struct run *run)
{
    run->is_paused = false;
    for (int i = 0; i < 2; i++) {
        if (run->pipes[i].fd >= 0)
            (void)event_add(run->pipes[i].readable, NULL);
    }
}

static void pipe_close(struct pipe_end *p)
{
    (void)event_del(p->readable);
    (void)close(p->fd);
    p->fd = -1;
}

/* Read once. Return: bytes read; 0 at end of file or if there is nothing now. */
static size_t pipe_read(struct pipe_end *p)
{
    char buf[READ_SIZE];
    ssize_t n;

    do {
        n = read(p->fd, buf, sizeof(buf));
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n <= 0) {
        pipe_close(p);
        return 0;
    }
    outstream_feed(&p->out, &p->run->log, buf, (size_t)n);
    return (size_t)n;
}

static void on_pipe(evutil_socket_t fd, short what, void *arg)
{
    struct pipe_end *p = arg;
    struct run *run = p->run;

    (void)fd;
    (void)what;
    (void)pipe_read(p);
    if (run->log.failed)
        run_kill(run, KILL_STOPPING);
    if (out_bytes(run) > FLOOD_BYTES)
        run_kill(run, KILL_FLOOD);
    if (evbuffer_get_length(run->queue) >= QUEUE_MAX)
        run_pause(run);
    if (run->rq)
        request_wake(run->rq);
}

/* Nobody is left to write: take what is there, without waiting. */
static void pipe_drain(struct pipe_end *p)
{
    size_t left = DRAIN_MAX;

    while (p->fd >= 0 && left > 0) {
        size_t n = pipe_read(p);

        if (n == 0)
            break;
        left = n < left ? left - n : 0;
    }
    if (p->fd >= 0)
        pipe_close(p);
}

/* --- the client's side --- */

static ssize_t stream_read(void *arg, char *buf, size_t max)
{
    struct run *run = arg;

    for (;;) {
        int n = evbuffer_remove(run->queue, buf, max);

        if (run->log.failed)
            return STREAM_BROKEN;
        if (n > 0) {
            if (run->is_paused && evbuffer_get_length(run->queue) < QUEUE_MAX / 2)
                run_listen(run);
            return n;
        }
        if (run->state != RUN_ENDED)
            return 0;
        if (run->is_end_written)
            return STREAM_END;
        /* The tails come piece by piece: they may be much larger than the queue. */
        if (!outstream_more(&run->pipes[0].out, &run->log) &&
            !outstream_more(&run->pipes[1].out, &run->log)) {
            event_write(&run->log, "end", json_of_outcome(&run->outcome, out_bytes(run)));
            run->is_end_written = true;
        }
    }
}

static void stream_gone(void *arg)
{
    run_kill(arg, KILL_CLIENT_GONE);
}

static void stream_done(void *arg)
{
    struct run *run = arg;

    run->rq = NULL;
    if (run->state == RUN_ENDED)
        run_free(run);
    else
        run_kill(run, KILL_CLIENT_GONE);
}

/* --- sessiond's side --- */

static void row_end(struct run *run)
{
    run->row.ended_us = clock_unix_us();
    (void)str_copy(run->row.status, sizeof(run->row.status), status_key(run->outcome.status));
    run->row.exit_code = run->outcome.exit_code;
    run->row.signal = run->outcome.signal;
    run->row.cpu_us = run->outcome.usage.cpu_us;
    run->row.out_bytes = out_bytes(run);
    (void)audit_put(run->table->app->audit, &run->row);
}

static void run_end(struct run *run, const struct outcome *outcome)
{
    struct run_table *t = run->table;

    for (int i = 0; i < 2; i++)
        pipe_drain(&run->pipes[i]);
    run->state = RUN_ENDED;
    run->outcome = *outcome;
    TAILQ_REMOVE(&t->live, run, link);
    t->live_count--;
    row_end(run);
    log_info("run ended run=%s uid=%u status=%s exit=%d signal=%d wall_ms=%" PRIu64,
             run->row.run_id, run->row.uid, run->row.status, run->row.exit_code, run->row.signal,
             outcome->usage.wall_ms);
    if (!run->rq) {
        run_free(run);
        return;
    }
    request_set_idle_limit(run->rq, LINGER_S);
    request_wake(run->rq);
}

int run_table_started(struct run_table *t, const struct wire_run_started *m)
{
    struct run *run = run_find(t, m->head.tag);

    if (!run || run->state != RUN_WAITING)
        return -ENOENT;
    run->state = RUN_RUNNING;
    run->row.started_us = clock_unix_us();
    event_write(&run->log, "start",
                json_pack("{s:I, s:o, s:o}", "pid", (json_int_t)m->receipt.pid, "receipt",
                          json_of_receipt(&m->receipt), "watch", json_of_watch(&m->watch)));
    (void)audit_put(t->app->audit, &run->row);
    if (run->was_reserved && user_activate(t->app->reg, run->row.uid) < 0)
        log_warning("a first run could not be noted: %s uid=%u", registry_error(t->app->reg),
                    run->row.uid);
    run_listen(run);
    if (run->rq)
        request_wake(run->rq);
    return 0;
}

int run_table_failed(struct run_table *t, const struct wire_run_failed *m)
{
    struct run *run = run_find(t, m->head.tag);
    struct outcome o;

    if (!run || run->state != RUN_WAITING)
        return -ENOENT;
    o = outcome_of_failure(m);
    if (run->killed == KILL_CLIENT_GONE)
        o.status = STATUS_CANCELLED; /* It did not fail: it was not waited for. */
    if (run->killed == KILL_LOCKED)
        o.status = STATUS_LOCKED;
    log_error("run failed: %s run=%s uid=%u", o.message, run->row.run_id, run->row.uid);
    run_end(run, &o);
    return 0;
}

int run_table_ended(struct run_table *t, const struct wire_run_ended *m)
{
    struct run *run = run_find(t, m->head.tag);
    struct outcome o;

    /* Without RUN_STARTED too: a kill may come in while the run is being built. */
    if (!run)
        return -ENOENT;
    o = outcome_of_end(m, run->killed, run->row.program);
    run_end(run, &o);
    return 0;
}

void run_table_down(struct run_table *t)
{
    struct outcome o = outcome_of_loss();

    while (!TAILQ_EMPTY(&t->live))
        run_end(TAILQ_FIRST(&t->live), &o);
}

void run_table_stop(struct run_table *t)
{
    struct run *run;

    TAILQ_FOREACH(run, &t->live, link)
    {
        run_kill(run, KILL_STOPPING);
    }
}

void run_table_lock(struct run_table *t, uint32_t uid)
{
    struct run *run;

    TAILQ_FOREACH(run, &t->live, link)
    {
        if (run->row.uid == uid)
            run_kill(run, KILL_LOCKED);
    }
}

void run_table_each_uid(const struct run_table *t, void (*fn)(void *arg, uint32_t uid), void *arg)
{
    const struct run *run;

    TAILQ_FOREACH(run, &t->live, link)
    {
        if (run->killed == KILL_NOT_ASKED)
            fn(arg, run->row.uid);
    }
}

/* --- start --- */

/* The read end is ours and never blocks; the write end is only passed on. */
static int pipe_make(struct run *run, int number, int *ret_write_fd)
{
    struct pipe_end *p = &run->pipes[number - 1];
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    *ret_write_fd = ends[1];
    p->fd = ends[0];
    if (fcntl(p->fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    p->readable = event_new(run->table->app->base, p->fd, EV_READ | EV_PERSIST, on_pipe, p);
    return p->readable ? 0 : -ENOMEM;
}

static void row_fill(struct run *run, const struct request *rq, const struct run_plan *plan)
{
    unsigned char id[(RUN_ID_SIZE - 1) / 2];
    struct run_row *row = &run->row;

    randombytes_buf(id, sizeof(id));
    (void)sodium_bin2hex(row->run_id, sizeof(row->run_id), id, sizeof(id));
    row->uid = plan->user.uid;
    row->caller_uid = rq->door == DOOR_ADMIN ? 0 : rq->peer_uid;
    (void)str_copy(row->net, sizeof(row->net), plan->net_public ? "public" : "none");
    (void)snprintf(row->program, sizeof(row->program), "%s", plan->program);
    row->accepted_us = clock_unix_us();
    row->exit_code = -1;
}

static int run_new(struct run_table *t, struct request *rq, const struct run_plan *plan,
                   int fds[WIRE_RUN_FD_COUNT], struct run **ret_run)
{
    struct run *run = calloc(1, sizeof(*run));
    size_t limit = (size_t)plan->out_kb * 1024;
    int r;

    if (!run)
        return -ENOMEM;
    run->table = t;
    run->rq = rq;
    run->memory = QUEUE_MAX + limit;
    t->memory += run->memory;
    run->was_reserved = plan->user.state == USER_STATE_RESERVED;
    for (int i = 0; i < 2; i++) {
        run->pipes[i] = (struct pipe_end){.run = run, .fd = -1};
        outstream_init(&run->pipes[i].out, i + 1, limit);
    }
    row_fill(run, rq, plan);
    run->queue = evbuffer_new();
    run->log = (struct event_log){.queue = run->queue, .zero_ms = clock_mono_ms()};
    r = run->queue ? 0 : -ENOMEM;
    if (r == 0)
        r = pipe_make(run, 1, &fds[WIRE_RUN_FD_STDOUT]);
    if (r == 0)
        r = pipe_make(run, 2, &fds[WIRE_RUN_FD_STDERR]);
    if (r < 0) {
        run_free(run);
        return r;
    }
    *ret_run = run;
    return 0;
}

static int run_send(struct run *run, const struct run_plan *plan, const int *fds)
{
    struct wire_run_start m = {
        .head = {.type = WIRE_RUN_START, .tag = run->tag},
        .uid = plan->user.uid,
        .gid = plan->user.uid,
        .profile = WIRE_PROFILE_RUN,
        .net = plan->net_public ? WIRE_NET_PUBLIC : WIRE_NET_NONE,
        .cgroup_mode = WIRE_CGROUP_NONE,
        .wall_ms = plan->wall_ms,
        .cpu_ms = plan->cpu_ms,
        .limits_required = plan->limits_required,
        .group_count = (uint32_t)plan->group_count,
    };

    for (size_t i = 0; i < plan->group_count; i++) {
        m.groups[i].gid = plan->groups[i].gid;
        (void)str_copy(m.groups[i].name, sizeof(m.groups[i].name), plan->groups[i].name);
    }
    (void)str_copy(m.name, sizeof(m.name), plan->user.name);
    (void)str_copy(m.run_id, sizeof(m.run_id), run->row.run_id);
    return core_send(run->table->app->core, &m, sizeof(m), fds, WIRE_RUN_FD_COUNT);
}

static void write_accepted(struct run *run, const struct run_plan *plan)
{
    event_write(&run->log, "accepted",
                json_pack("{s:s, s:s, s:I, s:s, s:{s:I, s:o, s:I}}", "run", run->row.run_id, "user",
                          plan->user.name, "uid", (json_int_t)plan->user.uid, "net", run->row.net,
                          "limits", "wall_ms", (json_int_t)plan->wall_ms, "cpu_ms",
                          plan->cpu_ms > 0 ? json_integer(plan->cpu_ms) : json_null(), "out_kb",
                          (json_int_t)plan->out_kb));
}

static const struct stream_ops stream_ops = {
    .read = stream_read,
    .gone = stream_gone,
    .done = stream_done,
};

static void close_fds(int fds[WIRE_RUN_FD_COUNT])
{
    for (int i = 0; i < WIRE_RUN_FD_COUNT; i++)
        cleanup_close_p(&fds[i]);
}

/* Return: 0, -EBUSY (nobody may have another), -EUSERS (this user may not, others may). */
static int room_for(const struct run_table *t, const struct run_plan *plan)
{
    const size_t wanted = QUEUE_MAX + (size_t)plan->out_kb * 1024;
    const struct run *run;
    size_t runs = 0, memory = 0;

    if (t->app->is_stopping)
        return -EBUSY;
    TAILQ_FOREACH(run, &t->live, link)
    {
        if (run->row.uid != plan->user.uid)
            continue;
        runs++;
        memory += run->memory;
    }
    if (share_has_room(WIRE_RUNS_MAX, t->live_count, runs, 1) &&
        share_has_room(MEMORY_MAX, t->memory, memory, wanted))
        return 0;
    return share_has_room(WIRE_RUNS_MAX, t->live_count, 0, 1) &&
                   share_has_room(MEMORY_MAX, t->memory, 0, wanted)
               ? -EUSERS
               : -EBUSY;
}

int run_start(struct run_table *t, struct request *rq, const struct run_plan *plan,
              int fds[WIRE_RUN_FD_COUNT])
{
    struct run *run = NULL;
    int r = 0;

    if (!core_is_ready(t->app->core))
        r = -ENOTCONN;
    else
        r = room_for(t, plan);
    if (r == 0)
        r = run_new(t, rq, plan, fds, &run);
    if (r == 0 && audit_put(t->app->audit, &run->row) < 0)
        r = -EIO;
    if (r == 0) {
        write_accepted(run, plan);
        r = request_stream(rq, &stream_ops, run);
        if (r < 0) { /* The row is there already: it must not stay open. */
            run->outcome = outcome_of_busy("");
            row_end(run);
        }
    }
    if (r < 0) {
        close_fds(fds);
        if (run)
            run_free(run);
        return r;
    }
    run->tag = tag_next(t);
    TAILQ_INSERT_TAIL(&t->live, run, link);
    t->live_count++;
    r = run_send(run, plan, fds);
    if (r < 0) {
        struct outcome o = r == -ENOTCONN
                               ? outcome_of_loss()
                               : outcome_of_busy("The run could not be handed to sessiond.");

        run_end(run, &o);
    }
    return 0;
}
