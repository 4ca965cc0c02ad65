/* SPDX-License-Identifier: ISC */
/* scope.c - abstract AF_UNIX names end at the session, where the kernel can do that. */
#include "sessiond/monitor/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

/* linux/landlock.h of Debian 12 ends at ABI 2. */
#define RULESET_VERSION (1u << 0)
#define SCOPE_ABSTRACT  (1ull << 0)
#define ABI_WITH_SCOPE  6
#define PROBE_BACKLOG   64
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

static void on_probe(evutil_socket_t fd, short what, void *arg)
{
    int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

    (void)what;
    (void)arg;
    if (conn >= 0)
        (void)close(conn);
}

static int probe_listen(struct scope *scope, struct event_base *base)
{
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    uint64_t random;
    socklen_t len;

    if (fd < 0)
        return -errno;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    (void)snprintf(scope->probe_name, sizeof(scope->probe_name), "atelier-%016llx",
                   (unsigned long long)random);
    memcpy(addr.sun_path + 1, scope->probe_name, strlen(scope->probe_name));
    len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(scope->probe_name));
    if (bind(fd, (const struct sockaddr *)&addr, len) < 0 || listen(fd, PROBE_BACKLOG) < 0)
        return -errno;
    scope->probe_event = event_new(base, fd, EV_READ | EV_PERSIST, on_probe, NULL);
    if (!scope->probe_event || event_add(scope->probe_event, NULL) < 0)
        return -ENOMEM;
    scope->probe_fd = fd_take(&fd);
    return 0;
}

int scope_init(struct scope *scope, struct event_base *base)
{
    const struct ruleset_attr attr = {.scoped = SCOPE_ABSTRACT};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0ul, RULESET_VERSION);
    long fd;

    scope->ruleset_fd = scope->probe_fd = -1;
    scope->abi = abi > 0 ? (uint32_t)abi : 0;
    if (abi < ABI_WITH_SCOPE)
        return 0;
    fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0u);
    if (fd < 0)
        return -errno;
    scope->ruleset_fd = (int)fd;
    return probe_listen(scope, base);
}
