/* SPDX-License-Identifier: ISC */
/* pam_fixture.c - a directory of the test's own, and a process in it that plays a daemon. */
#include "tests/unit/pam_fixture.h"

#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/banned.h"

int fake_tell_fd = -1;
static char directory[] = "/tmp/atelier-pam-XXXXXX";

int dir_enter(void **state)
{
    (void)state;
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

int dir_leave(void **state)
{
    (void)state;
    (void)unlink(FAKE_PAM_SOCKET);
    (void)unlink(FAKE_SESSION_SOCKET);
    return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static _Noreturn void fake_run(int listener, fake_serve *serve, const void *arg)
{
    /* Never left over, whatever the test does. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int conn = accept(listener, NULL, NULL);

        if (conn < 0)
            _exit(1);
        serve(conn, arg);
        (void)close(conn);
    }
}

struct fake fake_start(const char *path, fake_serve *serve, const void *arg)
{
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct fake fake;
    int pipe_fds[2];

    assert_true(listener >= 0);
    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    (void)unlink(path);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(pipe(pipe_fds), 0);
    fake.pid = fork();
    assert_true(fake.pid >= 0);
    if (fake.pid == 0) {
        (void)close(pipe_fds[0]);
        fake_tell_fd = pipe_fds[1];
        fake_run(listener, serve, arg);
    }
    (void)close(listener);
    (void)close(pipe_fds[1]);
    fake.heard = pipe_fds[0];
    return fake;
}

size_t fake_heard(const struct fake *fake, void *buf, size_t size, size_t least)
{
    struct pollfd p = {.fd = fake->heard, .events = POLLIN};
    size_t got = 0;

    while (got < size && poll(&p, 1, got < least ? 1000 : 0) == 1) {
        ssize_t n = read(fake->heard, (char *)buf + got, size - got);

        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

void fake_stop(struct fake *fake)
{
    (void)kill(fake->pid, SIGKILL);
    assert_int_equal(waitpid(fake->pid, NULL, 0), fake->pid);
    (void)close(fake->heard);
}

struct pam_ask ask_make(enum pam_question question, const char *name, const char *secret)
{
    struct pam_ask ask = {
        .version = PAM_WIRE_VERSION, .question = question, .size_bytes = sizeof(ask)};

    str_cut(ask.name, sizeof(ask.name), name);
    str_cut(ask.secret, sizeof(ask.secret), secret);
    return ask;
}

struct pam_answer answer_make(enum pam_question question, uint32_t verdict)
{
    return (struct pam_answer){.version = PAM_WIRE_VERSION,
                               .question = question,
                               .size_bytes = sizeof(struct pam_answer),
                               .verdict = verdict};
}

size_t fds_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}
