/* SPDX-License-Identifier: ISC */
/* backup_file.c - copies between the registry's directory and a file of root. */
#include "ctl/backup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"

#include "common/banned.h"

#define PIECE 65536u

/* Return: 0 or a negative errno; *@ret_bytes were copied. */
static int all_copy(int from, int to, uint64_t *ret_bytes)
{
    static char piece[PIECE];
    uint64_t bytes = 0;
    size_t n = PIECE;

    while (n == PIECE) {
        int r = fd_read_full(from, piece, PIECE, &n);

        if (r == 0)
            r = fd_write_full(to, piece, n);
        if (r < 0)
            return r;
        bytes += n;
    }
    *ret_bytes = bytes;
    return 0;
}

int backup_take(int dir, const char *name, uint64_t bytes, int target)
{
    /* O_NONBLOCK: a pipe in its place must not hold us. */
    cleanup_close int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st, owner;
    uint64_t copied = 0;
    int r;

    if (fd < 0)
        return errno == ELOOP ? -EPERM : -errno;
    if (fstat(fd, &st) < 0 || fstat(dir, &owner) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != owner.st_uid)
        return -EPERM;
    if ((uint64_t)st.st_size != bytes)
        return -EIO;
    r = all_copy(fd, target, &copied);
    if (r < 0)
        return r;
    return copied == bytes ? 0 : -EIO;
}

int backup_put(int dir, const char *name, int source)
{
    cleanup_close int fd = -1;
    struct stat owner;
    uint64_t copied;
    int r;

    if (fstat(dir, &owner) < 0 || (unlinkat(dir, name, 0) < 0 && errno != ENOENT))
        return -errno;
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = all_copy(source, fd, &copied);
    if (r == 0 && (fchown(fd, owner.st_uid, owner.st_gid) < 0 || fsync(fd) < 0))
        r = -errno;
    if (r < 0)
        (void)unlinkat(dir, name, 0);
    return r;
}

int parent_sync(const char *path)
{
    cleanup_free char *dotted = NULL;

    if (asprintf(&dotted, "./%s", path) < 0)
        say_no_memory();
    return file_sync_directory(strchr(path, '/') ? path : dotted);
}
