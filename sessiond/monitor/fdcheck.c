/* SPDX-License-Identifier: ISC */
/* fdcheck.c - is a received descriptor what it should be? */
#include "sessiond/monitor/fdcheck.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/banned.h"

int fdcheck_pipe_out(int fd, uid_t uid, gid_t gid)
{
    struct statfs fs;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0)
        return -errno;
    if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) != O_WRONLY)
        return -EBADF;
    if (fstatfs(fd, &fs) < 0)
        return -errno;
    /* A FIFO in some file system has that file system's number; only pipe(2) has this one. */
    if (fs.f_type != PIPEFS_MAGIC)
        return -EBADF;
    return fchown(fd, uid, gid) < 0 ? -errno : 0;
}

int fdcheck_memfd(int fd, size_t size_max)
{
    const int wanted = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    /* Fails with EINVAL on anything that is not a memfd (or on tmpfs, where it has no seals). */
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    if (seals < 0 || (seals & wanted) != wanted)
        return -EBADF;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EBADF;
    return st.st_size < 0 || (size_t)st.st_size > size_max ? -E2BIG : 0;
}
