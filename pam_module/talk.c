/* SPDX-License-Identifier: ISC */
/* talk.c - one connection to one of the daemons, with a time limit over everything said on it. */
#include "pam_module/talk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

static int64_t now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Milliseconds left, 0 if none. */
static int left_ms(const struct talk *t)
{
    int64_t left = t->deadline_ms - now_ms();

    return left > 0 ? (int)left : 0;
}

/* A socket that no program takes for its standard input, output or error. */
static int socket_make(void)
{
    cleanup_close int low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int sock;

    if (low < 0)
        return -errno;
    if (low > STDERR_FILENO)
        return fd_take(&low);
    sock = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return sock < 0 ? -errno : sock;
}

/*
 * A full backlog makes a non-blocking connect(2) on AF_UNIX fail at once, and poll(2) cannot wait
 * for room in it. SO_SNDTIMEO limits a blocking one; interrupted, it has done nothing (unix(7),
 * net/unix/af_unix.c unix_stream_connect).
 */
static int connect_within(const struct talk *t, const struct sockaddr_un *address)
{
    for (;;) {
        int left = left_ms(t);
        struct timeval limit = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};

        if (left == 0)
            return -ETIMEDOUT;
        if (setsockopt(t->sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
            return -errno;
        if (connect(t->sock, (const struct sockaddr *)address, sizeof(*address)) == 0)
            return 0;
        if (errno == EAGAIN)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

int talk_open(const char *path, int timeout_ms, struct talk *ret_talk)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    struct talk t;
    int r;

    if (len >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, len);
    talk_limit(&t, timeout_ms);
    t.sock = socket_make();
    if (t.sock < 0)
        return t.sock;
    r = connect_within(&t, &address);
    if (r == 0 && fcntl(t.sock, F_SETFL, O_NONBLOCK) < 0)
        r = -errno;
    if (r < 0) {
        talk_close(&t);
        return r;
    }
    *ret_talk = t;
    return 0;
}

void talk_limit(struct talk *t, int timeout_ms)
{
    t->deadline_ms = now_ms() + timeout_ms;
}

/* Return: 0 when there is something to do or to fail with, -ETIMEDOUT, or a negative errno. */
static int wait_for(const struct talk *t, short events)
{
    for (;;) {
        struct pollfd p = {.fd = t->sock, .events = events};
        int n = poll(&p, 1, left_ms(t));

        if (n > 0)
            return 0;
        if (n == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

int talk_send(const struct talk *t, const void *msg, size_t size)
{
    for (;;) {
        int r = wait_for(t, POLLOUT);

        if (r == 0)
            r = msg_send(t->sock, msg, size, NULL, 0);
        if (r != -EAGAIN)
            return r;
    }
}

int talk_recv(const struct talk *t, void *buf, size_t size, size_t *ret_n,
              struct msg_extra *ret_extra)
{
    struct msg_extra extra;
    size_t n = 0;
    int r;

    do {
        r = wait_for(t, POLLIN);
        if (r == 0)
            r = msg_recv(t->sock, buf, size, &n, &extra);
    } while (r == -EAGAIN);
    if (r < 0)
        return r;
    if (n == 0) {
        msg_extra_done(&extra);
        return -ECONNRESET;
    }
    *ret_n = n;
    *ret_extra = extra;
    return 0;
}

void talk_close(struct talk *t)
{
    if (t->sock >= 0)
        (void)close(t->sock);
    t->sock = -1;
}
