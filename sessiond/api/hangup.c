/* SPDX-License-Identifier: ISC */
/* hangup.c - notice that the other side of a stream socket closed it or stopped to send. */
#include "sessiond/api/hangup.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/banned.h"

/* Taken from the kernel at once; the rest is there at the next turn of the loop. */
#define BATCH 64

struct hangup_set {
    int epoll_fd;
    struct event *readable;
    void (*fn)(void *what);
};

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    const struct hangup_set *set = arg;
    struct epoll_event events[BATCH];
    int n = epoll_wait(fd, events, BATCH, 0);

    (void)what;
    for (int i = 0; i < n; i++)
        set->fn(events[i].data.ptr);
}

int hangup_set_new(struct event_base *base, void (*fn)(void *what), struct hangup_set **ret_set)
{
    struct hangup_set *set = calloc(1, sizeof(*set));

    if (!set)
        return -ENOMEM;
    set->fn = fn;
    set->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (set->epoll_fd >= 0)
        set->readable = event_new(base, set->epoll_fd, EV_READ | EV_PERSIST, on_readable, set);
    if (!set->readable || event_add(set->readable, NULL) < 0) {
        hangup_set_free(set);
        return -ENOMEM;
    }
    *ret_set = set;
    return 0;
}

void hangup_set_free(struct hangup_set *set)
{
    if (!set)
        return;
    if (set->readable)
        event_free(set->readable);
    if (set->epoll_fd >= 0)
        (void)close(set->epoll_fd);
    free(set);
}

int hangup_add(struct hangup_set *set, int fd, void *what)
{
    /* EPOLLERR and EPOLLHUP come without being asked for; one-shot silences them too. */
    struct epoll_event e = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = what};

    return epoll_ctl(set->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

void hangup_del(struct hangup_set *set, int fd)
{
    (void)epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}
