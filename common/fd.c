/* SPDX-License-Identifier: ISC */
/* fd.c - descriptors: whole writes, messages with descriptors. */
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

int fd_write_full(int fd, const void *buf, size_t size)
{
    const char *p = buf;

    while (size > 0) {
        ssize_t n = write(fd, p, size);

        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

int fd_read_full(int fd, void *buf, size_t size, size_t *ret_n)
{
    char *p = buf;
    size_t got = 0;

    while (got < size) {
        ssize_t n = read(fd, p + got, size - got);

        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        if (n == 0)
            break;
        got += (size_t)n;
    }
    *ret_n = got;
    return 0;
}

int file_read_text(int dir, const char *file, char *buf, size_t size)
{
    cleanup_close int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
    size_t n;
    int r;

    if (fd < 0)
        return -errno;
    r = fd_read_full(fd, buf, size - 1, &n);
    if (r < 0)
        return r;
    buf[n] = '\0';
    return 0;
}

int msg_send(int sock, const void *buf, size_t size, const int *fds, size_t nfds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
    } control = {0};
    /* sendmsg(2) only reads through iov_base. */
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (nfds > FD_PASS_MAX)
        return -EINVAL;
    if (nfds > 0) {
        struct cmsghdr *c;

        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
        c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
    }
    do {
        n = sendmsg(sock, &msg, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

static void drop(int fd)
{
    /* Whoever sent it may have asked the last close of a socket to wait for his peer. */
    const struct linger no_wait = {0};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &no_wait, sizeof(no_wait));
    (void)close(fd);
}

static void extra_collect(struct msghdr *msg, struct msg_extra *x)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_RIGHTS) {
            size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

            for (size_t i = 0; i < n; i++) {
                int fd;

                memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                if (x->nfds < FD_PASS_MAX)
                    x->fds[x->nfds++] = fd;
                else
                    drop(fd);
                /* Without credentials there is room for more of them than may come. */
                if (i >= FD_PASS_MAX)
                    msg->msg_flags |= MSG_CTRUNC;
            }
        } else if (c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred cred;

            memcpy(&cred, CMSG_DATA(c), sizeof(cred));
            x->pid = cred.pid;
            x->uid = cred.uid;
        }
    }
}

int msg_recv(int sock, void *buf, size_t size, size_t *ret_n, struct msg_extra *ret_extra)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * FD_PASS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
    } control = {0};
    struct iovec iov = {.iov_base = buf, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    struct msg_extra x = {0};
    ssize_t n;

    do {
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    extra_collect(&msg, &x);
    if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        msg_extra_done(&x);
        return -EMSGSIZE;
    }
    *ret_n = (size_t)n;
    *ret_extra = x;
    return 0;
}

void msg_extra_done(struct msg_extra *x)
{
    for (size_t i = 0; i < x->nfds; i++) {
        if (x->fds[i] >= 0)
            drop(x->fds[i]);
    }
    x->nfds = 0;
}
