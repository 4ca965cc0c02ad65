/* SPDX-License-Identifier: ISC */
/* listen_fds.c - sockets by the protocol of sd_listen_fds(3). */
#include "sessiond/shared/listen_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/str.h"

#include "common/banned.h"

#define FIRST_FD 3 /* sd_listen_fds(3): SD_LISTEN_FDS_START */

static bool is_listening_unix(int fd, int type)
{
    struct sockaddr_un addr = {0};
    socklen_t len = sizeof(addr);
    int value = 0;
    socklen_t vlen = sizeof(value);

    if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0 || addr.sun_family != AF_UNIX)
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &vlen) < 0 || value != type)
        return false;
    vlen = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &vlen) == 0 && value == 1;
}

/* Length of the first name in a colon-separated list. */
static size_t name_length(const char *names)
{
    return strcspn(names, ":");
}

static int place(struct listen_fd *wanted, size_t count, const char *name, size_t len, int fd,
                 const char **ret_name)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(wanted[i].name) != len || memcmp(wanted[i].name, name, len) != 0)
            continue;
        if (wanted[i].fd >= 0 || !is_listening_unix(fd, wanted[i].type)) {
            *ret_name = wanted[i].name;
            return -EPROTOTYPE;
        }
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
            return -errno;
        wanted[i].fd = fd;
        return 0;
    }
    (void)close(fd);
    return 0;
}

int listen_fds_take(struct listen_fd *wanted, size_t count, const char **ret_name)
{
    const char *pid = secure_getenv("LISTEN_PID"), *fds = secure_getenv("LISTEN_FDS");
    const char *names = secure_getenv("LISTEN_FDNAMES");
    uint32_t pid_value, n;
    int r;

    for (size_t i = 0; i < count; i++)
        wanted[i].fd = -1;
    *ret_name = "LISTEN_FDS";
    if (!pid || !fds || !names)
        return -ENOENT;
    if (str_to_u32(pid, INT32_MAX, &pid_value) < 0 || (pid_t)pid_value != getpid() ||
        str_to_u32(fds, 64, &n) < 0)
        return -EINVAL;
    for (uint32_t i = 0; i < n; i++) {
        size_t len = name_length(names);

        r = place(wanted, count, names, len, FIRST_FD + (int)i, ret_name);
        if (r < 0)
            return r;
        names += len;
        if (*names == ':')
            names++;
    }
    for (size_t i = 0; i < count; i++) {
        if (wanted[i].fd < 0) {
            *ret_name = wanted[i].name;
            return -ENOENT;
        }
    }
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return 0;
}
