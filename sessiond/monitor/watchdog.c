/* SPDX-License-Identifier: ISC */
/* watchdog.c - sessiond tells the service manager that it still turns. */
#include "sessiond/monitor/watchdog.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/session.h"
#include "sessiond/monitor/spawn_wire.h"
#include "sessiond/shared/log.h"
#include "sessiond/shared/notify.h"

#include "common/banned.h"

static struct event *watchdog_timer;
static struct event *watchdog_answer; /* set while the spawner owes an answer */
static int watchdog_fd = -1;

/* The far end is closed: the spawner has read the ping, or is dead, which has an event of its own.
 */
static void on_answer(evutil_socket_t fd, short what, void *arg)
{
    const struct monitor *m = arg;
    char state[96];

    (void)what;
    event_free(watchdog_answer);
    watchdog_answer = NULL;
    watchdog_fd = -1;
    (void)close(fd);
    (void)snprintf(state, sizeof(state), "WATCHDOG=1\nSTATUS=%u runs, %u sessions", m->run_count,
                   session_count(m));
    notify_send(state);
}

static int spawner_ping(struct monitor *m)
{
    const struct spawn_request req = {.kind = SPAWN_PING};
    cleanup_close int ours = -1, theirs = -1;
    int pair[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    ours = pair[0];
    theirs = pair[1];
    r = msg_send(m->spawner_sock, &req, sizeof(req), &theirs, 1);
    if (r < 0)
        return r;
    watchdog_answer = event_new(m->base, ours, EV_READ, on_answer, m);
    if (!watchdog_answer)
        return -ENOMEM;
    if (event_add(watchdog_answer, NULL) < 0) {
        event_free(watchdog_answer);
        watchdog_answer = NULL;
        return -ENOMEM;
    }
    watchdog_fd = fd_take(&ours);
    return 0;
}

static void on_due(evutil_socket_t fd, short what, void *arg)
{
    int r;

    (void)fd;
    (void)what;
    if (watchdog_answer) {
        log_error("the spawner does not answer");
        return;
    }
    r = spawner_ping(arg);
    if (r < 0)
        log_error("the spawner cannot be asked errno=%d", -r);
}

int watchdog_init(struct monitor *m)
{
    uint32_t ms = notify_watchdog_ms();
    struct timeval tv = ms_timeval(ms);

    if (ms == 0)
        return 0;
    watchdog_timer = event_new(m->base, -1, EV_PERSIST, on_due, m);
    if (!watchdog_timer || event_add(watchdog_timer, &tv) < 0)
        return -ENOMEM;
    return 0;
}
