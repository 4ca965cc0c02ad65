/* SPDX-License-Identifier: ISC */
/* index_write.c - put the index file of NSS in place. */
#include "registry/index_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

static int file_fill(int fd, const struct index_image *image)
{
    int r = fd_write_full(fd, image->bytes, image->size);

    if (r < 0)
        return r;
    return fchmod(fd, INDEX_MODE) < 0 || fsync(fd) < 0 ? -errno : 0;
}

int index_write(int dir_fd, const struct index_image *image)
{
    cleanup_close int fd = -1;
    int r = index_sweep(dir_fd);

    if (r < 0)
        return r;
    fd = openat(dir_fd, INDEX_TMP_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = file_fill(fd, image);
    if (r < 0)
        (void)index_sweep(dir_fd);
    return r;
}

int index_rename(int dir_fd)
{
    if (renameat(dir_fd, INDEX_TMP_NAME, dir_fd, INDEX_FILE_NAME) < 0)
        return -errno;
    return fsync(dir_fd) < 0 ? -errno : 0;
}

static int file_remove(int dir_fd, const char *name)
{
    return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int index_sweep(int dir_fd)
{
    return file_remove(dir_fd, INDEX_TMP_NAME);
}

int index_sweep_old(int dir_fd)
{
    int r = file_remove(dir_fd, INDEX_OLD_TMP_NAME);

    return r < 0 ? r : file_remove(dir_fd, INDEX_OLD_NAME);
}

static bool file_is_ours(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & 07777) == INDEX_MODE &&
           st->st_nlink == 1;
}

bool index_is_current(int dir_fd, const struct index_image *image)
{
    cleanup_close int fd = -1;
    struct stat st;

    fd = openat(dir_fd, INDEX_FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !file_is_ours(&st) || st.st_size != (off_t)image->size)
        return false;
    for (size_t at = 0, n; at < image->size; at += n) {
        unsigned char bytes[16384];

        n = image->size - at < sizeof(bytes) ? image->size - at : sizeof(bytes);
        if (pread(fd, bytes, n, (off_t)at) != (ssize_t)n ||
            memcmp(bytes, image->bytes + at, n) != 0)
            return false;
    }
    return true;
}
