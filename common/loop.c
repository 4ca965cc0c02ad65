/* SPDX-License-Identifier: ISC */
/* loop.c - block devices that are files. */
#include "common/loop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/str.h"

#include "common/banned.h"

/* Two at once may be given the same free number: the second has to ask again. */
#define TRIES 64

bool loop_is(dev_t dev)
{
    return major(dev) == LOOP_MAJOR;
}

static int loop_open(unsigned number, int flags)
{
    char path[32];
    struct stat st;
    cleanup_close int fd = -1;

    (void)snprintf(path, sizeof(path), "/dev/loop%u", number);
    fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISBLK(st.st_mode) || st.st_rdev != makedev(LOOP_MAJOR, number))
        return -ENODEV;
    return fd_take(&fd);
}

/* Return: 1, 0 (another's, or nobody's), or a negative errno. */
static int is_of(int fd, const struct stat *image)
{
    struct loop_info64 info;

    if (ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
        return errno == ENXIO ? 0 : -errno;
    return info.lo_device == image->st_dev && info.lo_inode == image->st_ino;
}

int loop_has(dev_t dev, const struct stat *image, uint64_t *ret_bytes)
{
    cleanup_close int fd = -1;
    int r;

    if (!loop_is(dev))
        return 0;
    fd = loop_open(minor(dev), O_RDONLY);
    if (fd < 0)
        return fd;
    r = is_of(fd, image);
    if (r == 1 && ret_bytes && ioctl(fd, BLKGETSIZE64, ret_bytes) < 0)
        r = -errno;
    return r;
}

/* The number of "loopN", if it is one that has a file. */
static bool name_number(int dir, const char *name, uint32_t *ret_number)
{
    char path[64];

    if (strncmp(name, "loop", 4) != 0 || str_to_u32(name + 4, 1u << 20, ret_number) < 0)
        return false;
    (void)snprintf(path, sizeof(path), "loop%u/loop", *ret_number);
    return faccessat(dir, path, F_OK, 0) == 0;
}

int loop_find(const struct stat *image, dev_t *ret_dev)
{
    DIR *dir = opendir("/sys/block");
    int found = -ENOENT;
    uint32_t number;

    if (!dir)
        return -errno;
    for (struct dirent *e; found == -ENOENT && (e = readdir(dir));) {
        cleanup_close int fd = -1;

        if (!name_number(dirfd(dir), e->d_name, &number))
            continue;
        fd = loop_open(number, O_RDWR);
        if (fd < 0)
            found = fd == -ENOENT || fd == -ENXIO ? -ENOENT : fd;
        else if (is_of(fd, image) == 1)
            found = fd_take(&fd);
    }
    (void)closedir(dir);
    if (found >= 0)
        *ret_dev = makedev(LOOP_MAJOR, number);
    return found;
}

int loop_attach(int image_fd, dev_t *ret_dev)
{
    const struct loop_config config = {
        .fd = (uint32_t)image_fd,
        .info.lo_flags = LO_FLAGS_AUTOCLEAR,
    };
    cleanup_close int control = open(LOOP_CONTROL, O_RDWR | O_CLOEXEC);

    if (control < 0)
        return -errno;
    for (int i = 0; i < TRIES; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        cleanup_close int fd = -1;

        if (number < 0)
            return -errno;
        fd = loop_open((unsigned)number, O_RDWR);
        if (fd < 0)
            return fd;
        if (ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
            *ret_dev = makedev(LOOP_MAJOR, (unsigned)number);
            return fd_take(&fd);
        }
        if (errno != EBUSY)
            return -errno;
    }
    return -EBUSY;
}
