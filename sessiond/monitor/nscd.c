/* SPDX-License-Identifier: ISC */
/*
 * nscd.c - the two orders of `nscd -i passwd` and `nscd -i group`.
 *
 * One connection an order: a header of three integers, the key behind it, all in one write, which
 * fits into any socket buffer. nscd answers with a number when it is done, which takes as long as
 * its cache is large. Nobody waits for it: it ignores SIGPIPE, and who the peer is was settled at
 * connect(2). Source: glibc 2.36, nscd/nscd-client.h and nscd/connections.c.
 */
#include "sessiond/monitor/nscd.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define SOCKET_PATH     "/var/run/nscd/socket" /* _PATH_NSCDSOCKET */
#define PROTOCOL        2                      /* NSCD_VERSION */
#define TYPE_INVALIDATE 10                     /* request_type */
#define TRIES_MAX       10u                    /* one after the other, at a nscd that is behind */

struct nscd {
    struct sockaddr_un addr;
    struct event *timer; /* pending: an order is to be given when it fires */
    bool is_more;        /* and another one after that */
    unsigned tries;      /* that failed, one after the other */
    bool is_failure_logged;
};

struct order {
    int32_t version;
    int32_t type;
    int32_t key_size; /* with its NUL */
    char key[8];
};

/* Return: 0 or a negative errno. */
static int forget(const struct nscd *n, const char *database)
{
    struct order order = {
        .version = PROTOCOL,
        .type = TYPE_INVALIDATE,
        .key_size = (int32_t)strlen(database) + 1,
    };
    size_t size = offsetof(struct order, key) + (size_t)order.key_size;
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ssize_t sent;

    if (fd < 0)
        return -errno;
    memcpy(order.key, database, (size_t)order.key_size);
    if (connect(fd, (const struct sockaddr *)&n->addr, sizeof(n->addr)) < 0)
        return -errno;
    sent = send(fd, &order, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return -errno;
    return (size_t)sent == size ? 0 : -EIO;
}

/* Not there, or there no longer: nothing is cached. */
static bool is_absent(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -ECONNREFUSED;
}

static void tell(struct nscd *n)
{
    int r = forget(n, "passwd");

    if (r == 0)
        r = forget(n, "group");
    if (r == 0 || is_absent(r)) {
        n->tries = 0;
        n->is_failure_logged = false;
        return;
    }
    if (r == -EAGAIN && ++n->tries < TRIES_MAX) { /* its queue is full */
        n->is_more = true;
        return;
    }
    if (!n->is_failure_logged)
        log_warning("nscd could not be told of a change: %s", strerrorname_np(-r));
    n->is_failure_logged = true;
}

static void arm(struct nscd *n)
{
    const struct timeval again = ms_timeval(NSCD_AGAIN_MS);

    if (event_add(n->timer, &again) < 0)
        log_warning("no memory to tell nscd of a change once more");
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct nscd *n = arg;
    bool is_more = n->is_more;

    (void)fd;
    (void)what;
    n->is_more = false;
    tell(n);
    if (is_more || n->is_more)
        arm(n);
}

void nscd_changed(struct nscd *n)
{
    if (evtimer_pending(n->timer, NULL)) {
        n->is_more = true;
        return;
    }
    tell(n);
    arm(n);
}

int nscd_new(struct event_base *base, const char *path, struct nscd **ret_nscd)
{
    struct nscd *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    n->addr.sun_family = AF_UNIX;
    str_cut(n->addr.sun_path, sizeof(n->addr.sun_path), path ? path : SOCKET_PATH);
    n->timer = evtimer_new(base, on_timer, n);
    if (!n->timer) {
        free(n);
        return -ENOMEM;
    }
    *ret_nscd = n;
    return 0;
}

void nscd_free(struct nscd *n)
{
    if (!n)
        return;
    event_free(n->timer);
    free(n);
}
