/* SPDX-License-Identifier: ISC */
/* ctl_scene.c - a command of ours against a socket whose answers are given byte by byte. */
#include "tests/unit/ctl_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"

#include "common/banned.h"

/* The child gives up then: a command that sends less than it should must not hang the tests. */
#define PATIENCE_S 20

int scene_setup(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    (void)snprintf(s->dir, sizeof(s->dir), "/tmp/atelier-test-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    (void)snprintf(s->path, sizeof(s->path), "%s/admin.sock", s->dir);
    *state = s;
    return 0;
}

int scene_teardown(void **state)
{
    struct scene *s = *state;

    (void)unlink(s->path);
    assert_int_equal(rmdir(s->dir), 0);
    free(s);
    return 0;
}

int listen_at(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof(addr.sun_path));
    memcpy(addr.sun_path, path, strlen(path));
    (void)unlink(path);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* Length of the body that the header asks for. */
static size_t body_length(const char *request)
{
    const char *header = strcasestr(request, "Content-Length: ");

    return header ? (size_t)strtoul(header + strlen("Content-Length: "), NULL, 10) : 0;
}

/* In the child: one request in, @answer out, the request into the pipe. */
static void serve(int listener, int report, const char *answer, size_t size)
{
    static char request[sizeof(((struct scene *)NULL)->request)];
    int fd = accept(listener, NULL, NULL);
    size_t used = 0;

    memset(request, 0, sizeof(request));
    for (;;) {
        const char *end = strstr(request, "\r\n\r\n");
        ssize_t n;

        if (end && used >= (size_t)(end - request) + 4 + body_length(request))
            break;
        n = read(fd, request + used, sizeof(request) - 1 - used);
        if (n <= 0)
            _exit(1);
        used += (size_t)n;
    }
    (void)fd_write_full(report, request, used);
    (void)fd_write_full(fd, answer, size);
    (void)close(fd);
}

static int file_over(int fd, int *ret_saved)
{
    char path[] = "/tmp/atelier-test-XXXXXX";
    int file = mkstemp(path);

    assert_true(file >= 0);
    (void)unlink(path);
    *ret_saved = dup(fd);
    assert_int_equal(dup2(file, fd), fd);
    return file;
}

static void file_back(int fd, int saved, int file, char *text)
{
    size_t n = 0;

    assert_int_equal(dup2(saved, fd), fd);
    (void)close(saved);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    assert_int_equal(fd_read_full(file, text, OUTPUT_MAX - 1, &n), 0);
    text[n] = '\0';
    (void)close(file);
}

int command(struct scene *s, command_fn fn, bool json, const char *const *words)
{
    char *argv[16] = {(char *)(uintptr_t) "atelier test"};
    struct options opt = {.socket = s->path, .json = json};
    int argc = 1, out, err, saved_out, saved_err, code;

    for (; *words; words++) {
        assert_true(argc < 15);
        argv[argc++] = (char *)(uintptr_t)*words;
    }
    (void)fflush(NULL);
    out = file_over(STDOUT_FILENO, &saved_out);
    err = file_over(STDERR_FILENO, &saved_err);
    code = fn(&opt, argc, argv);
    (void)fflush(NULL);
    file_back(STDOUT_FILENO, saved_out, out, s->out);
    file_back(STDERR_FILENO, saved_err, err, s->err);
    return code;
}

struct piece {
    const char *bytes;
    size_t size;
};

/* Return: as the command; *@ret_status is that of the child. */
static int served(struct scene *s, const struct piece *pieces, size_t count, command_fn fn,
                  bool json, const char *const *words, int *ret_status)
{
    int listener = listen_at(s->path), report[2], code;
    size_t n = 0;
    pid_t pid;

    assert_int_equal(pipe2(report, O_CLOEXEC), 0);
    (void)fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(PATIENCE_S);
        for (size_t i = 0; i < count; i++)
            serve(listener, report[1], pieces[i].bytes, pieces[i].size);
        _exit(0);
    }
    (void)close(listener);
    (void)close(report[1]);
    code = command(s, fn, json, words);
    assert_int_equal(fd_read_full(report[0], s->request, sizeof(s->request) - 1, &n), 0);
    s->request[n] = '\0';
    (void)close(report[0]);
    assert_int_equal(waitpid(pid, ret_status, 0), pid);
    return code;
}

int answered_n(struct scene *s, const char *answer, size_t size, command_fn fn, bool json,
               const char *const *words)
{
    struct piece piece = {.bytes = answer, .size = size};
    int status;

    return served(s, &piece, 1, fn, json, words, &status);
}

int answered(struct scene *s, const char *answer, command_fn fn, bool json,
             const char *const *words)
{
    return answered_n(s, answer, strlen(answer), fn, json, words);
}

int answered_all(struct scene *s, const char *const *answers, command_fn fn, bool json,
                 const char *const *words)
{
    struct piece pieces[16];
    int status, code;
    size_t n = 0;

    for (; answers[n]; n++) {
        assert_true(n < sizeof(pieces) / sizeof(pieces[0]));
        pieces[n] = (struct piece){.bytes = answers[n], .size = strlen(answers[n])};
    }
    code = served(s, pieces, n, fn, json, words, &status);
    assert_int_equal(status, 0);
    return code;
}
