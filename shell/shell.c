/* SPDX-License-Identifier: ISC */
/* shell.c - what the login shell decides. */
#include "shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"

#include "common/banned.h"

_Static_assert(ID_ALLOC_MIN > 0, "root is never one of ours");
_Static_assert(sizeof(SHELL_FALLBACK) <= SHELL_PATH_SIZE, "its base name fits, too");
_Static_assert(SHELL_MARK_MAX >= sizeof("59899 /bin/sh\n") - 1, "a usual mark fits");
_Static_assert(sizeof(uid_t) == sizeof(uint32_t), "uids are 32 bits");

int shell_mark_parse(const char *text, size_t size, uint32_t uid, char *ret_path)
{
    size_t i = 0, len;
    uint64_t number = 0;

    while (i < size && i < 10 && text[i] >= '0' && text[i] <= '9')
        number = number * 10 + (uint64_t)(text[i++] - '0');
    /* No leading zero, a blank, an absolute path, and the newline at the very end. */
    if (i == 0 || text[0] == '0' || size - i < 3 || text[i] != ' ' || text[i + 1] != '/' ||
        text[size - 1] != '\n')
        return -EINVAL;
    text += i + 1;
    len = size - i - 2;
    if (len >= SHELL_PATH_SIZE || memchr(text, '\n', len) || memchr(text, '\0', len))
        return -EINVAL;
    if (number != uid)
        return -EPERM;
    memcpy(ret_path, text, len);
    ret_path[len] = '\0';
    return 0;
}

int shell_mark_read(const char *path, uint32_t uid, char *ret_path)
{
    /* Not blocked by a FIFO, nor led astray by a link. */
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char text[SHELL_MARK_MAX + 1];
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return -EACCES;
    n = read(fd, text, sizeof(text));
    if (n < 0)
        return -errno;
    return shell_mark_parse(text, (size_t)n, uid, ret_path);
}

bool shell_is_confined(uint32_t *ret_uid)
{
    uid_t uid = getuid();

    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
        prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
        return false;
    if (uid == 0 || uid != geteuid() || !id_is_allocatable(uid))
        return false;
    *ret_uid = uid;
    return true;
}

const char *shell_pick(const char *wanted, const char *self)
{
    struct stat st, own;

    if (wanted[0] != '/' || stat(wanted, &st) < 0 || !S_ISREG(st.st_mode) ||
        access(wanted, X_OK) < 0)
        return SHELL_FALLBACK;
    if (stat(self, &own) == 0 && own.st_dev == st.st_dev && own.st_ino == st.st_ino)
        return SHELL_FALLBACK;
    return wanted;
}

void shell_argv0(const char *argv0, const char *path, char *ret_name)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;

    if (argv0 && argv0[0] == '-')
        *ret_name++ = '-';
    memcpy(ret_name, base, strlen(base) + 1);
}
