/* SPDX-License-Identifier: ISC */
/*
 * rounds.c - starts one program in several ways, in rotation, and prints how long each took.
 *
 * All ways are taken by this one process and every round takes each once, first another one each
 * time: what the machine does meanwhile hits all of them alike, and the ratios stay. A way ends
 * when the output of the program has been read to its end and its exit status is known. A program
 * that fails, or prints something else than it should, ends the measurement: a fast failure is no
 * time.
 *
 * usage: rounds SOCKET CALLER-UID CALLER-GID USER UID ROUNDS SECONDS NOOP
 * Output: one line a start, "PROGRAM WAY NANOSECONDS".
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/banned.h"

#define WARM_UP_ROUNDS 5
#define BUFFER_SIZE    65536
#define ARGV_SIZE      24

extern char **environ;

struct program {
    const char *name;
    const char *argv[4];
    const char *output; /* all that it prints */
    const char *event;  /* the same in an event; "" if it prints nothing */
};

/* A keep-alive connection to the API. */
struct client {
    const char *path;
    uid_t uid;
    gid_t gid;
    const char *user;
    int fd; /* -1: none */
    size_t start, end;
    char buf[BUFFER_SIZE];
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- posix_spawn, with or without programs in front of it */

static void output_read(int fd, const char *wanted)
{
    char buf[256];
    size_t used = 0;
    ssize_t n;

    while ((n = read(fd, buf + used, sizeof(buf) - used)) > 0)
        used += (size_t)n;
    if (n < 0 || used != strlen(wanted) || memcmp(buf, wanted, used) != 0)
        die("a program printed something else than '%s'", wanted);
}

static void spawn_run(const char *const argv[], const char *wanted)
{
    posix_spawn_file_actions_t actions;
    int ends[2], status, r;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0 || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) != 0)
        die("pipe: %s", strerror(errno));
    /* posix_spawn does not change them; its prototype is older than const. */
    r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    if (r != 0)
        die("%s: %s", argv[0], strerror(r));
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    output_read(ends[0], wanted);
    (void)close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        die("%s ended with status %d", argv[0], status);
}

static void unshare_run(const struct program *p, const char *reuid, const char *regid)
{
    const char *argv[ARGV_SIZE] = {"unshare", "-p",  "-m",  "--fork",
                                   "setpriv", reuid, regid, "--clear-groups"};
    size_t n = 0, i = 0;

    while (argv[n])
        n++;
    while (p->argv[i] && n < ARGV_SIZE - 1)
        argv[n++] = p->argv[i++];
    spawn_run(argv, p->output);
}

/* ---- the API */

/* The rights of a connection are those of connect(2): the caller's, for as long as it takes. */
static void client_connect(struct client *c)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(c->path) >= sizeof(address.sun_path))
        die("%s: too long", c->path);
    memcpy(address.sun_path, c->path, strlen(c->path) + 1);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || setegid(c->gid) < 0 || seteuid(c->uid) < 0)
        die("socket: %s", strerror(errno));
    if (connect(c->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        die("%s: %s", c->path, strerror(errno));
    if (seteuid(0) < 0 || setegid(0) < 0)
        die("seteuid: %s", strerror(errno));
    c->start = c->end = 0;
}

static void client_send(struct client *c, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(c->fd, data, size, MSG_NOSIGNAL);

        if (n < 0)
            die("send: %s", strerror(errno));
        data += n;
        size -= (size_t)n;
    }
}

static void client_fill(struct client *c)
{
    ssize_t n;

    if (c->start > 0) {
        memmove(c->buf, c->buf + c->start, c->end - c->start);
        c->end -= c->start;
        c->start = 0;
    }
    if (c->end == sizeof(c->buf))
        die("the API sent a line that is too long");
    n = read(c->fd, c->buf + c->end, sizeof(c->buf) - c->end);
    if (n <= 0)
        die("the API closed the connection within an answer");
    c->end += (size_t)n;
}

/* The next line, its CR LF replaced by NUL; valid until the next call. */
static char *client_line(struct client *c)
{
    char *line, *lf;

    while (!(lf = memchr(c->buf + c->start, '\n', c->end - c->start)))
        client_fill(c);
    line = c->buf + c->start;
    c->start = (size_t)(lf - c->buf) + 1;
    *lf = '\0';
    if (lf > line && lf[-1] == '\r')
        lf[-1] = '\0';
    return line;
}

/* The body, chunk by chunk; every chunk holds whole events or parts of them, we look for two. */
static void client_body(struct client *c, const char *event)
{
    bool is_ok = false, has_output = *event == '\0';

    for (;;) {
        size_t size = (size_t)strtoul(client_line(c), NULL, 16);
        const char *data;

        while (c->end - c->start < size + 2)
            client_fill(c);
        data = c->buf + c->start;
        c->start += size + 2;
        if (size == 0)
            break;
        is_ok = is_ok || memmem(data, size, "\"status\":\"ok\"", 13);
        has_output = has_output || memmem(data, size, event, strlen(event));
    }
    if (!is_ok || !has_output)
        die("a run did not end with ok and its output");
}

static void client_run(struct client *c, const struct program *p)
{
    char body[1024], head[256];
    const char *comma = "";
    bool is_last = false;
    size_t used;
    char *line;
    int n;

    used = (size_t)snprintf(body, sizeof(body), "{\"user\":\"%s\",\"argv\":[", c->user);
    for (size_t i = 0; p->argv[i]; i++, comma = ",")
        used += (size_t)snprintf(body + used, sizeof(body) - used, "%s\"%s\"", comma, p->argv[i]);
    used += (size_t)snprintf(body + used, sizeof(body) - used, "]}");
    n = snprintf(head, sizeof(head),
                 "POST /v1/runs HTTP/1.1\r\nHost: atelier\r\nContent-Length: %zu\r\n\r\n", used);
    if (c->fd < 0)
        client_connect(c);
    client_send(c, head, (size_t)n);
    client_send(c, body, used);
    line = client_line(c);
    if (strncmp(line, "HTTP/1.1 200 ", 13) != 0)
        die("the API says: %s", line);
    while (*(line = client_line(c)))
        is_last = is_last || strcasecmp(line, "Connection: close") == 0;
    client_body(c, p->event);
    if (is_last) {
        (void)close(c->fd);
        c->fd = -1;
    }
}

int main(int argc, char **argv)
{
    static struct client client = {.fd = -1};
    static const char *const ways[] = {"spawn", "unshare", "atelier"};
    const size_t way_count = sizeof(ways) / sizeof(ways[0]);
    char reuid[32], regid[32];
    struct program programs[] = {
        {"noop", {NULL}, "", ""},
        {"python3", {"/usr/bin/python3", "-c", "print(1)"}, "1\n", "\"d\":\"1\\n\""}};
    const size_t count = way_count * (sizeof(programs) / sizeof(programs[0]));
    int64_t end_ns;
    long rounds;

    if (argc != 9)
        die("rounds: wrong number of arguments");
    client.path = argv[1];
    client.uid = (uid_t)strtoul(argv[2], NULL, 10);
    client.gid = (gid_t)strtoul(argv[3], NULL, 10);
    client.user = argv[4];
    (void)snprintf(reuid, sizeof(reuid), "--reuid=%s", argv[5]);
    (void)snprintf(regid, sizeof(regid), "--regid=%s", argv[5]);
    rounds = strtol(argv[6], NULL, 10);
    end_ns = now_ns() + strtol(argv[7], NULL, 10) * 1000000000;
    programs[0].argv[0] = argv[8];

    for (long round = -WARM_UP_ROUNDS; round < rounds && now_ns() < end_ns; round++) {
        for (size_t i = 0; i < count; i++) {
            size_t at = (i + (size_t)(round + WARM_UP_ROUNDS)) % count;
            const struct program *p = &programs[at / way_count];
            int64_t start_ns = now_ns();

            switch (at % way_count) {
            case 0:
                spawn_run((const char *const *)p->argv, p->output);
                break;
            case 1:
                unshare_run(p, reuid, regid);
                break;
            default:
                client_run(&client, p);
            }
            if (round >= 0)
                (void)printf("%s %s %lld\n", p->name, ways[at % way_count],
                             (long long)(now_ns() - start_ns));
        }
    }
    return 0;
}
