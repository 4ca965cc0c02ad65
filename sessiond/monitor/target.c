/* SPDX-License-Identifier: ISC */
/* target.c - an address and port that the canary and its control both try. */
#include "sessiond/monitor/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/banned.h"

int target_connect(const struct probe_target *t, int *ret_fd)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)t->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)t->port)};
    const struct sockaddr *addr = (const struct sockaddr *)&v6;
    socklen_t len = sizeof(v6);

    if (t->family == AF_INET) {
        memcpy(&v4.sin_addr, t->addr, sizeof(v4.sin_addr));
        addr = (const struct sockaddr *)&v4;
        len = sizeof(v4);
    } else {
        memcpy(&v6.sin6_addr, t->addr, sizeof(v6.sin6_addr));
    }
    *ret_fd = socket((int)t->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (*ret_fd < 0)
        return -errno;
    return connect(*ret_fd, addr, len) < 0 ? -errno : 0;
}

void target_text(const struct probe_target *t, char *buf, size_t size)
{
    if (!inet_ntop((int)t->family, t->addr, buf, (socklen_t)size))
        buf[0] = '\0';
}
