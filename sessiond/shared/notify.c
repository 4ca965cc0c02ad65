/* SPDX-License-Identifier: ISC */
/* notify.c - what a daemon tells the service manager. */
#include "sessiond/shared/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/str.h"

#include "common/banned.h"

#define WATCHDOG_MIN_US 2000u       /* below, half of it is no time at all */
#define WATCHDOG_MAX_US 3600000000u /* above, once in half an hour does as well */

static int notify_fd = -1;
static struct sockaddr_un notify_addr;
static socklen_t notify_addr_len;
static uint32_t watchdog_ms;

static void socket_take(const char *path)
{
    size_t len = path ? strlen(path) : 0;

    /* sd_notify(3): a path, or '@' and an abstract name. Other families are of no use here. */
    if (len < 2 || (path[0] != '/' && path[0] != '@') || len >= sizeof(notify_addr.sun_path))
        return;
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (notify_fd < 0)
        return;
    notify_addr.sun_family = AF_UNIX;
    memcpy(notify_addr.sun_path, path, len);
    if (path[0] == '@')
        notify_addr.sun_path[0] = '\0';
    notify_addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static void watchdog_take(const char *pid, const char *usec)
{
    uint32_t value, owner;

    /* sd_watchdog_enabled(3): with a pid, it is meant for that process alone. */
    if (pid && (str_to_u32(pid, INT32_MAX, &owner) < 0 || (pid_t)owner != getpid()))
        return;
    if (!usec)
        return;
    switch (str_to_u32(usec, WATCHDOG_MAX_US, &value)) {
    case 0:
        break;
    case -ERANGE:
        value = WATCHDOG_MAX_US;
        break;
    default: /* an errno, not an enum */
        return;
    }
    if (value >= WATCHDOG_MIN_US)
        watchdog_ms = value / 2000;
}

void notify_init(void)
{
    if (notify_fd >= 0)
        (void)close(notify_fd);
    notify_fd = -1;
    watchdog_ms = 0;
    socket_take(secure_getenv("NOTIFY_SOCKET"));
    watchdog_take(secure_getenv("WATCHDOG_PID"), secure_getenv("WATCHDOG_USEC"));
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_PID");
    (void)unsetenv("WATCHDOG_USEC");
}

void notify_send(const char *state)
{
    if (notify_fd < 0)
        return;
    /* By address each time: the service manager may have made its socket anew. Never waits. */
    (void)sendto(notify_fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
                 (const struct sockaddr *)&notify_addr, notify_addr_len);
}

uint32_t notify_watchdog_ms(void)
{
    return watchdog_ms;
}
