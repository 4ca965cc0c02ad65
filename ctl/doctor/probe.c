/* SPDX-License-Identifier: ISC */
/* probe.c - runs of throw-away participants, over one connection with sessiond. */
#include "ctl/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"
#include "common/wire.h"
#include "ctl/doctor/bait.h"
#include "ctl/doctor/probe_host.h"
#include "ctl/say.h"

#include "common/banned.h"

#define OUTPUT_MAX ((size_t)256 << 10)
#define BEGIN_MS   8000 /* until sessiond says what it goes by */
#define SETUP_MS   8000 /* canary, spawner, clean-up: beyond the time of the program itself */

static const char *const door_texts[] = {
#define PROBE_DOOR_TEXT(id, text) [PROBE_##id] = (text),
    PROBE_DOORS(PROBE_DOOR_TEXT)
#undef PROBE_DOOR_TEXT
};

static const char *const step_texts[] = {
#define STEP_TEXT(id, key, text) [WIRE_STEP_##id] = (text),
    WIRE_STEPS(STEP_TEXT)
#undef STEP_TEXT
};

struct probe_job {
    struct probe_job *next;
    uint32_t tag;
    int out; /* -1: at its end */
    bool is_over;
    int64_t begun_us, deadline_us;
    struct probe_result result;
};

const char *probe_door_text(enum probe_door door)
{
    return door_texts[door];
}

uint32_t probe_uid(uint32_t who)
{
    return ID_DOCTOR_MIN + who;
}
_Static_assert(ID_DOCTOR_MAX - ID_DOCTOR_MIN >= 3, "four participants");

int64_t probe_now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void probe_result_done(struct probe_result *r)
{
    free(r->output);
    r->output = NULL;
}

bool probe_output_read(struct probe_result *r, int fd)
{
    char buf[16384];
    ssize_t n = read(fd, buf, sizeof(buf));

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    if (r->output_bytes + (size_t)n > OUTPUT_MAX)
        n = (ssize_t)(OUTPUT_MAX - r->output_bytes);
    r->output = realloc(r->output, r->output_bytes + (size_t)n + 1);
    if (!r->output)
        say_no_memory();
    memcpy(r->output + r->output_bytes, buf, (size_t)n);
    r->output_bytes += (size_t)n;
    r->output[r->output_bytes] = '\0';
    return true;
}

/* --- the connection --------------------------------------------------------------------------- */

struct probe_host *probe_host_of(struct doctor *d)
{
    if (!d->probe) {
        d->probe = calloc(1, sizeof(*d->probe));
        if (!d->probe)
            say_no_memory();
        d->probe->conn = -1;
    }
    return d->probe;
}

static void host_lost(struct probe_host *p, const char *why)
{
    if (p->conn >= 0)
        (void)close(p->conn);
    p->conn = -1;
    p->why = why;
}

static int host_connect(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", SESSION_SOCKET_PATH);
    if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
        return -errno;
    return fd_take(&fd);
}

/* Return: NULL, or what went wrong. */
static const char *host_begin(struct probe_host *p)
{
    struct session_head head = {
        .version = SESSION_WIRE_VERSION, .type = SESSION_DOCTOR, .size_bytes = sizeof(head)};
    static struct session_doctor_begun begun;
    struct pollfd wait = {.events = POLLIN};
    struct msg_extra extra;
    size_t n;

    p->conn = host_connect();
    if (p->conn < 0)
        return "nobody serves " SESSION_SOCKET_PATH;
    wait.fd = p->conn;
    if (msg_send(p->conn, &head, sizeof(head), NULL, 0) < 0 || poll(&wait, 1, BEGIN_MS) <= 0 ||
        msg_recv(p->conn, &begun, sizeof(begun), &n, &extra) < 0)
        return "sessiond does not answer";
    msg_extra_done(&extra);
    if (n >= sizeof(head) && begun.head.type == SESSION_DENIED)
        return "another doctor is at work";
    if (n != sizeof(begun) || begun.head.type != SESSION_DOCTOR_BEGUN)
        return "sessiond is of another version";
    p->terms = (struct probe_terms){begun.status, begun.run, begun.login};
    return NULL;
}

const struct probe_terms *probe_terms(struct doctor *d, const char **ret_why)
{
    struct probe_host *p = probe_host_of(d);
    const char *why;

    if (!p->is_tried) {
        p->is_tried = true;
        why = host_begin(p);
        if (why)
            host_lost(p, why);
        else
            p->is_begun = true;
    }
    *ret_why = p->why;
    return p->is_begun ? &p->terms : NULL;
}

/* --- jobs ---------------------------------------------------------------------------------------
 */

static void job_failed(struct probe_job *job, const struct wire_run_failed *failed)
{
    struct probe_result *r = &job->result;
    const char *step = failed->step < WIRE_STEP__COUNT ? step_texts[failed->step] : "start";

    (void)snprintf(r->why, sizeof(r->why), "sessiond could not %s%s%.*s%s%s", step,
                   failed->what[0] ? ": " : "", (int)strnlen(failed->what, sizeof(failed->what)),
                   failed->what, failed->error != 0 ? ": " : "",
                   failed->error != 0 ? strerror((int)failed->error) : "");
    job->is_over = true;
}

static void job_ended(struct probe_job *job, const struct wire_run_ended *ended)
{
    job->result.end = ended->end;
    job->result.value = ended->value;
    job->result.usage = ended->usage;
    job->is_over = true;
}

static struct probe_job *job_find(struct probe_host *p, uint32_t tag)
{
    for (struct probe_job *job = p->jobs; job; job = job->next) {
        if (job->tag == tag)
            return job;
    }
    return NULL;
}

static void packet_take(struct probe_host *p)
{
    static union {
        struct session_head head;
        struct session_probe_started started;
        struct session_probe_ended ended;
    } msg;
    struct msg_extra extra;
    struct probe_job *job;
    size_t n;

    if (msg_recv(p->conn, &msg, sizeof(msg), &n, &extra) < 0 || n < sizeof(msg.head)) {
        host_lost(p, "sessiond ended the connection");
        return;
    }
    msg_extra_done(&extra);
    job = job_find(p, msg.head.reserved);
    if (!job)
        return;
    if (msg.head.type == SESSION_PROBE_STARTED && n == sizeof(msg.started)) {
        job->result.is_started = job->result.has_receipt = true;
        job->result.receipt = msg.started.receipt;
    } else if (msg.head.type == SESSION_PROBE_ENDED && n == sizeof(msg.ended)) {
        job->result.wall_us = (uint64_t)(probe_now_us() - job->begun_us);
        if (msg.ended.has_failed)
            job_failed(job, &msg.ended.failed);
        else
            job_ended(job, &msg.ended.ended);
    }
}

/* What there is to read, of the connection and of every job. */
static void host_pump(struct probe_host *p, int ms)
{
    struct pollfd polls[1 + SESSION_PROBES_MAX] = {{.fd = p->conn, .events = POLLIN}};
    struct probe_job *jobs[1 + SESSION_PROBES_MAX];
    nfds_t n = 1;

    for (struct probe_job *job = p->jobs; job && n < 1 + SESSION_PROBES_MAX; job = job->next) {
        jobs[n] = job;
        polls[n++] = (struct pollfd){.fd = job->out, .events = POLLIN};
    }
    if (poll(polls, n, ms) <= 0)
        return;
    for (nfds_t i = 1; i < n; i++) {
        if (polls[i].revents != 0 && !probe_output_read(&jobs[i]->result, jobs[i]->out)) {
            (void)close(jobs[i]->out);
            jobs[i]->out = -1;
        }
    }
    if (polls[0].revents != 0)
        packet_take(p);
}

static bool words_put(struct session_probe *msg, const char *const *words)
{
    size_t at = 0;

    for (; words[msg->word_count]; msg->word_count++) {
        size_t size = strlen(words[msg->word_count]) + 1;

        if (at + size > sizeof(msg->words) || msg->word_count == SESSION_PROBE_WORDS_MAX)
            return false;
        memcpy(msg->words + at, words[msg->word_count], size);
        at += size;
    }
    return true;
}

/* Return: 0 or a negative errno. */
static int job_send(struct probe_host *p, struct probe_job *job, const struct probe_request *req)
{
    static struct session_probe msg;
    cleanup_close int theirs = -1;
    int ends[2], r;

    msg = (struct session_probe){
        .head = {.version = SESSION_WIRE_VERSION,
                 .type = SESSION_PROBE,
                 .size_bytes = sizeof(msg),
                 .reserved = job->tag},
        .uid = probe_uid(req->who),
        .net = req->door == PROBE_PUBLIC ? WIRE_NET_PUBLIC : WIRE_NET_NONE,
        .wall_ms = req->wall_ms,
    };
    if (!words_put(&msg, req->words))
        return -E2BIG;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    job->out = ends[0];
    theirs = ends[1];
    r = msg_send(p->conn, &msg, sizeof(msg), &theirs, 1);
    return r < 0 || fcntl(job->out, F_SETFL, O_NONBLOCK) == 0 ? r : -errno;
}

struct probe_job *probe_begin(struct doctor *d, const struct probe_request *req,
                              struct probe_result *ret)
{
    struct probe_job *job = calloc(1, sizeof(*job));
    struct probe_host *p = probe_host_of(d);
    const char *why = NULL;
    int r;

    if (!job)
        say_no_memory();
    *ret = (struct probe_result){0};
    if (!probe_terms(d, &why) || p->conn < 0) {
        (void)snprintf(ret->why, sizeof(ret->why), "%s", p->why);
        free(job);
        return NULL;
    }
    job->out = -1;
    job->tag = ++p->tags;
    job->begun_us = probe_now_us();
    job->deadline_us = job->begun_us + ((int64_t)req->wall_ms + SETUP_MS) * 1000;
    r = job_send(p, job, req);
    if (r < 0) {
        (void)snprintf(ret->why, sizeof(ret->why), "to sessiond: %s", strerror(-r));
        if (job->out >= 0)
            (void)close(job->out);
        free(job);
        return NULL;
    }
    job->next = p->jobs;
    p->jobs = job;
    return job;
}

int probe_finish(struct doctor *d, struct probe_job *job, struct probe_result *ret)
{
    struct probe_host *p = probe_host_of(d);

    while (p->conn >= 0 && !(job->is_over && job->out < 0) && probe_now_us() < job->deadline_us)
        host_pump(p, 100);
    if (!job->is_over) {
        (void)snprintf(job->result.why, sizeof(job->result.why), "%s",
                       p->why ? p->why : "sessiond did not end it in time");
        job->result.is_started = false;
    }
    for (struct probe_job **at = &p->jobs; *at; at = &(*at)->next) {
        if (*at == job) {
            *at = job->next;
            break;
        }
    }
    if (job->out >= 0)
        (void)close(job->out);
    *ret = job->result;
    free(job);
    return ret->is_started ? 0 : -ECONNABORTED;
}

int probe_run(struct doctor *d, const struct probe_request *req, struct probe_result *ret)
{
    struct probe_job *job;
    const char *why;

    *ret = (struct probe_result){0};
    switch (req->door) {
    case PROBE_NONE:
    case PROBE_PUBLIC:
        job = probe_begin(d, req, ret);
        return job ? probe_finish(d, job, ret) : -ECONNABORTED;
    case PROBE_SESSION:
    case PROBE_PLAIN:
    case PROBE_ROOT:
        if (!probe_terms(d, &why) || d->probe->conn < 0) {
            (void)snprintf(ret->why, sizeof(ret->why), "%s", d->probe->why);
            return -ECONNABORTED;
        }
        return probe_local(req, d->probe->conn, ret);
    case PROBE__COUNT:
        break;
    }
    return -EINVAL;
}

void probe_host_free(struct probe_host *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < PROBE__COUNT; i++)
        free(p->said[i]);
    bait_free(p->bait);
    if (p->conn >= 0)
        (void)close(p->conn);
    free(p);
}
