/* SPDX-License-Identifier: ISC */
/* backup_file.c - copies between the registry's directory and a file of root. */
#include "ctl/backup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"
#include "ctl/tree.h"

#include "common/banned.h"

#define PIECE 65536u

/* A hole costs nothing to make and its whole size to copy. File systems that compress have fewer
 * blocks than bytes, too, but not by that much; and small files are believed. */
#define HOLE_BYTES_MIN ((off_t)64 << 20)
#define HOLE_RATIO     64

int registry_lock(unsigned patience_s)
{
    const struct timespec tick = {.tv_nsec = 100 * 1000000};
    cleanup_close int fd = tree_open_absolute(REGISTRY);
    unsigned ticks = patience_s * 10;

    if (fd < 0)
        return fd;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return -errno;
        if (ticks-- == 0)
            return -EBUSY;
        (void)nanosleep(&tick, NULL);
    }
    return fd_take(&fd);
}

enum ctl_exit registry_lock_say(int error)
{
    if (error == -EBUSY) {
        say_error("another backup or restore is under way");
        return CTL_BUSY;
    }
    say_error("%s: %s", REGISTRY, strerror(-error));
    return error == -EACCES ? CTL_NOPERM : CTL_NO;
}

static int all_copy(int from, int to)
{
    static char piece[PIECE];
    size_t n = PIECE;

    while (n == PIECE) {
        int r = fd_read_full(from, piece, PIECE, &n);

        if (r == 0)
            r = fd_write_full(to, piece, n);
        if (r < 0)
            return r;
    }
    return 0;
}

int bytes_copy(int from, int to, uint64_t bytes)
{
    static char piece[PIECE];
    size_t n;
    int r;

    for (; bytes > 0; bytes -= n) {
        r = fd_read_full(from, piece, bytes < PIECE ? (size_t)bytes : PIECE, &n);
        if (r == 0 && n == 0)
            r = -EIO;
        if (r == 0)
            r = fd_write_full(to, piece, n);
        if (r < 0)
            return r;
    }
    r = fd_read_full(from, piece, 1, &n);
    return r < 0 ? r : n > 0 ? -EIO : 0;
}

static bool is_hole(const struct stat *st)
{
    /* 512: of stat(2), whatever the block size is. */
    return st->st_size > HOLE_BYTES_MIN && st->st_blocks * 512 < st->st_size / HOLE_RATIO;
}

int backup_take(int dir, const char *name, uint64_t bytes, int target)
{
    /* O_NONBLOCK: a pipe in its place must not hold us. */
    cleanup_close int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st, owner;

    if (fd < 0)
        return errno == ELOOP ? -EPERM : -errno;
    if (fstat(fd, &st) < 0 || fstat(dir, &owner) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != owner.st_uid || is_hole(&st))
        return -EPERM;
    if ((uint64_t)st.st_size != bytes)
        return -EIO;
    return bytes_copy(fd, target, bytes);
}

int backup_put(int dir, const char *name, int source)
{
    cleanup_close int fd = -1;
    struct stat owner;
    int r;

    if (fstat(dir, &owner) < 0 || (unlinkat(dir, name, 0) < 0 && errno != ENOENT))
        return -errno;
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = all_copy(source, fd);
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
