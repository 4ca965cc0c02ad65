/* SPDX-License-Identifier: ISC */
/*
 * canary_probe.c - the canary's side of a round: try what must not work.
 *
 * Runs as ID_CANARY in the namespaces, tree and filter of a run with net public, so that what
 * stops it is what stops a run. It only tries and tells; the monitor judges.
 */
#include "sessiond/monitor/child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "sessiond/monitor/target.h"

#include "common/banned.h"

static int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Errno of a connection that has finished, 0 if it stands. */
static uint32_t socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return (uint32_t)errno;
    return (uint32_t)error;
}

static void round_run(const struct probe_request *req, struct probe_answer *ans)
{
    struct pollfd polls[PROBE_TARGETS_MAX];
    int64_t deadline = now_ms() + PROBE_LIMIT_MS, left;
    uint32_t open_count = 0;

    for (uint32_t i = 0; i < req->count; i++) {
        int r = target_connect(&req->targets[i], &polls[i].fd);

        polls[i].events = POLLOUT;
        ans->error[i] = r == -EINPROGRESS ? ETIMEDOUT : (uint32_t)-r;
        if (r == -EINPROGRESS)
            open_count++;
        else if (polls[i].fd >= 0) {
            (void)close(polls[i].fd);
            polls[i].fd = -1;
        }
    }
    while (open_count > 0 && (left = deadline - now_ms()) > 0) {
        if (poll(polls, req->count, (int)left) <= 0)
            continue;
        for (uint32_t i = 0; i < req->count; i++) {
            if (polls[i].fd < 0 || polls[i].revents == 0)
                continue;
            ans->error[i] = socket_error(polls[i].fd);
            (void)close(polls[i].fd);
            polls[i].fd = -1;
            open_count--;
        }
    }
    for (uint32_t i = 0; i < req->count; i++) {
        if (polls[i].fd >= 0)
            (void)close(polls[i].fd);
    }
}

_Noreturn void probe_main(int sock)
{
    for (;;) {
        struct probe_request req;
        struct probe_answer ans = {0};
        struct msg_extra extra;
        size_t n;

        if (msg_recv(sock, &req, sizeof(req), &n, &extra) < 0 || n != sizeof(req) ||
            req.count > PROBE_TARGETS_MAX)
            _exit(1);
        msg_extra_done(&extra);
        ans.round = req.round;
        ans.count = req.count;
        round_run(&req, &ans);
        if (msg_send(sock, &ans, sizeof(ans), NULL, 0) < 0)
            _exit(1);
    }
}
