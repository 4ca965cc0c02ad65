/* SPDX-License-Identifier: ISC */
/*
 * image.c - the home of a user as a file system of its own, in one sparse file.
 *
 * To make one: a new file under a temporary name, mke2fs, a loop device, a mount that is nowhere
 * yet; filled and given away; the file gets its name; the mount its place. A crash before the name
 * leaves a file that the next call removes, one after it a home that is whole.
 *
 * A file has one loop device at most: two would be two caches of the same blocks, and the end of
 * the file system. So one that exists, mounted anywhere, is looked for first, and the lock is held
 * meanwhile. The device goes with its last mount (LO_FLAGS_AUTOCLEAR), whoever dies how.
 *
 * The place, where the image is mounted, is root's, and its group says whose it is: so an image is
 * found by the name when the user is gone. It is there before the image and after it.
 *
 * What is in the image the kernel has written: no participant can reach the file or the device.
 */
#include "sessiond/disk/image.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/loop.h"
#include "sessiond/disk/programs.h"
#include "sessiond/shared/home_fill.h"

#include "common/banned.h"

/* --- where --------------------------------------------------------------------------------- */

static int private_dir(const char *path, bool make)
{
    cleanup_close int fd = -1;
    struct stat st;

    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    return st.st_uid == 0 && (st.st_mode & 077) == 0 ? fd_take(&fd) : -EPERM;
}

int image_lock(struct image *im)
{
    char lock[24];

    im->dir_fd = im->homes_fd = im->lock_fd = -1;
    (void)snprintf(im->file, sizeof(im->file), "%u.img", im->uid);
    (void)snprintf(im->fresh, sizeof(im->fresh), ".%u.new", im->uid);
    (void)snprintf(lock, sizeof(lock), "%u.lock", im->uid);
    im->ret_what = IMAGE_DIR;
    im->dir_fd = private_dir(IMAGE_DIR, true);
    if (im->dir_fd < 0)
        return im->dir_fd;
    im->ret_what = ATELIER_HOMES_DIR;
    im->homes_fd = private_dir(ATELIER_HOMES_DIR, false);
    if (im->homes_fd < 0)
        return im->homes_fd;
    im->ret_what = "the lock";
    im->lock_fd = openat(im->dir_fd, lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (im->lock_fd < 0)
        return -errno;
    while (flock(im->lock_fd, LOCK_EX) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return 0;
}

void image_unlock(struct image *im)
{
    if (im->lock_fd >= 0)
        (void)close(im->lock_fd);
    if (im->homes_fd >= 0)
        (void)close(im->homes_fd);
    if (im->dir_fd >= 0)
        (void)close(im->dir_fd);
}

int image_home(const struct image *im, struct stat *ret_st)
{
    cleanup_close int fd =
        openat(im->homes_fd, im->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || fstat(fd, ret_st) < 0)
        return -errno;
    return fd_take(&fd);
}

/* Is this the image, mounted? Return: 1, 0, or a negative errno. */
static int home_is_image(const struct image *im, const struct stat *home)
{
    struct stat image;

    if (fstatat(im->dir_fd, im->file, &image, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    return loop_has(home->st_dev, &image, NULL);
}

/* --- mounts -------------------------------------------------------------------------------- */

static int option_set(int fs, unsigned cmd, const char *key, const char *value)
{
    return syscall(SYS_fsconfig, fs, cmd, key, value, 0) < 0 ? -errno : 0;
}

/* A mount that is nowhere yet. Return: descriptor or a negative errno. */
static int device_mount(dev_t dev)
{
    cleanup_close int fs = (int)syscall(SYS_fsopen, "ext4", FSOPEN_CLOEXEC);
    char source[32];
    long fd;
    int r;

    if (fs < 0)
        return -errno;
    (void)snprintf(source, sizeof(source), "/dev/loop%u", minor(dev));
    r = option_set(fs, FSCONFIG_SET_STRING, "source", source);
    if (r == 0)
        r = option_set(fs, FSCONFIG_SET_STRING, "errors", "remount-ro");
    if (r == 0)
        r = option_set(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
    if (r < 0)
        return r;
    fd = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return fd < 0 ? -errno : (int)fd;
}

/* The place is ours as long as nothing is mounted there. Made, and on the disk, with its group. */
int image_place(struct image *im)
{
    cleanup_close int fd = -1;
    struct stat st;

    im->ret_what = "the place of the home";
    if (mkdirat(im->homes_fd, im->name, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = image_home(im, &st);
    if (fd < 0)
        return fd;
    if (st.st_uid != 0)
        return -EEXIST;
    if (st.st_gid == im->uid)
        return 0;
    return fchown(fd, 0, im->uid) < 0 || fsync(fd) < 0 || fsync(im->homes_fd) < 0 ? -errno : 0;
}

static int mount_place(struct image *im, int mount_fd)
{
    int r = image_place(im);

    if (r < 0)
        return r;
    if (syscall(SYS_move_mount, mount_fd, "", im->homes_fd, im->name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return -errno;
    return 0;
}

/* --- up ------------------------------------------------------------------------------------ */

/* Size of the file system in a file. Source: struct ext4_super_block of the kernel. */
static int size_read(int image_fd, uint64_t *ret_bytes)
{
    uint8_t super[1024];
    uint32_t low, high, shift;
    ssize_t n = pread(image_fd, super, sizeof(super), 1024);

    if (n < 0)
        return -errno;
    if (n != (ssize_t)sizeof(super))
        return -EUCLEAN;
    memcpy(&low, super + 0x4, sizeof(low));
    memcpy(&high, super + 0x150, sizeof(high));
    memcpy(&shift, super + 0x18, sizeof(shift));
    if (le32toh(shift) > 6)
        return -EUCLEAN;
    *ret_bytes = ((uint64_t)le32toh(high) << 32 | le32toh(low)) << (10 + le32toh(shift));
    return 0;
}

/*
 * An image that no device has: looked after, and as large as it may be by now. What is mounted does
 * not grow: that would take CAP_SYS_RESOURCE, and the next time it is not mounted comes.
 */
static int image_tend(struct image *im, const char *file, int image_fd, uint64_t bytes)
{
    char path[sizeof(IMAGE_DIR) + sizeof(im->fresh)];
    uint64_t now = 0;
    int r;

    (void)snprintf(path, sizeof(path), IMAGE_DIR "/%s", file);
    im->ret_what = "the file system of the home has to be looked after by hand, with e2fsck";
    r = size_read(image_fd, &now);
    if (r == 0)
        r = programs_check(path, now < bytes);
    if (r < 0 || now >= bytes)
        return r;
    im->ret_what = "the growth of the image";
    if (ftruncate(image_fd, (off_t)bytes) < 0)
        return -errno;
    return programs_grow(path);
}

/* Return: descriptor of the image's device, or a negative errno. */
static int image_attach(struct image *im, const char *file, int image_fd, uint64_t bytes,
                        dev_t *ret_dev)
{
    struct stat st;
    int fd, r;

    im->ret_what = "a loop device";
    if (fstat(image_fd, &st) < 0)
        return -errno;
    fd = loop_find(&st, ret_dev);
    if (fd != -ENOENT)
        return fd;
    r = image_tend(im, file, image_fd, bytes);
    im->ret_what = r < 0 ? im->ret_what : "a loop device";
    return r < 0 ? r : loop_attach(image_fd, ret_dev);
}

void image_mount_done(struct image_mount *m)
{
    if (m->root >= 0)
        (void)close(m->root);
    if (m->mount >= 0)
        (void)close(m->mount);
    if (m->loop >= 0)
        (void)close(m->loop);
    *m = IMAGE_MOUNT_NONE;
}

/* Of the device that @m has. */
static int mount_fill(struct image *im, dev_t dev, struct image_mount *m)
{
    im->ret_what = "the mount of the image";
    m->mount = device_mount(dev);
    if (m->mount < 0)
        return m->mount;
    m->root = openat(m->mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return m->root < 0 ? -errno : 0;
}

/* What mke2fs makes, and e2fsck makes again: an empty directory of root's is nothing of a home. */
static void found_remove(const struct image_mount *m)
{
    struct stat st;

    if (fstatat(m->root, "lost+found", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == 0)
        (void)unlinkat(m->root, "lost+found", AT_REMOVEDIR);
}

int image_fresh(struct image *im, uint64_t bytes, uint64_t files, struct image_mount *ret_m)
{
    char path[sizeof(IMAGE_DIR) + sizeof(im->fresh)];
    cleanup_close int fd = -1;
    dev_t dev;
    int r;

    im->ret_what = "a new image";
    (void)snprintf(path, sizeof(path), IMAGE_DIR "/%s", im->fresh);
    if (unlinkat(im->dir_fd, im->fresh, 0) < 0 && errno != ENOENT)
        return -errno;
    fd = openat(im->dir_fd, im->fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
        return -errno;
    r = programs_make(path, im->uid, files);
    if (r < 0)
        return r;
    im->ret_what = "a loop device";
    ret_m->loop = loop_attach(fd, &dev);
    if (ret_m->loop < 0)
        return ret_m->loop;
    r = mount_fill(im, dev, ret_m);
    if (r < 0)
        return r;
    found_remove(ret_m);
    return fd_take(&fd);
}

int image_name(struct image *im)
{
    return renameat(im->dir_fd, im->fresh, im->dir_fd, im->file) < 0 || fsync(im->dir_fd) < 0
               ? -errno
               : 0;
}

static int image_make(struct image *im, uint64_t bytes, uint64_t files)
{
    cleanup_image_mount struct image_mount m = IMAGE_MOUNT_NONE;
    cleanup_close int fd = image_fresh(im, bytes, files, &m);
    int r;

    if (fd < 0)
        return fd;
    im->ret_what = "the files of a new home";
    r = fchmod(m.root, 0700) < 0 ? -errno : home_fill(m.root, im->uid, im->uid);
    if (r == 0 && syncfs(m.root) < 0)
        r = -errno;
    if (r == 0)
        r = image_place(im);
    if (r == 0)
        r = image_name(im);
    return r < 0 ? r : mount_place(im, m.mount);
}

int image_mount_file(struct image *im, const char *file, int image_fd, uint64_t bytes,
                     struct image_mount *ret_m)
{
    dev_t dev;

    ret_m->loop = image_attach(im, file, image_fd, bytes, &dev);
    return ret_m->loop < 0 ? ret_m->loop : mount_fill(im, dev, ret_m);
}

static int image_mount(struct image *im, int image_fd, uint64_t bytes)
{
    cleanup_image_mount struct image_mount m = IMAGE_MOUNT_NONE;
    int r = image_mount_file(im, im->file, image_fd, bytes, &m);

    if (r < 0)
        return r;
    found_remove(&m);
    return mount_place(im, m.mount);
}

int image_up(struct image *im, uint64_t bytes, uint64_t files)
{
    cleanup_close int home = -1, fd = -1;
    struct stat st;
    int r;

    im->ret_what = "the home";
    home = image_home(im, &st);
    if (home < 0 && home != -ENOENT)
        return home;
    fd = openat(im->dir_fd, im->file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return -errno;
    if (home >= 0 && fd >= 0) {
        r = home_is_image(im, &st);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    /* A place is root's; whoever owns the directory, it is not hidden by a mount. */
    if (home >= 0 && st.st_uid != 0)
        return -EEXIST;
    if (fd >= 0)
        return image_mount(im, fd, bytes);
    return bytes > 0 ? image_make(im, bytes, files) : -ENODATA;
}

/* --- down ---------------------------------------------------------------------------------- */

/* @flags: of umount2(2). Return: 0 (or not mounted), or a negative errno. */
static int image_leave(struct image *im, int flags)
{
    struct fstrim_range all = {.len = UINT64_MAX};
    char path[sizeof(ATELIER_HOMES_DIR) + NAME_SIZE + 1];
    struct stat st;
    int home, r;

    im->ret_what = "the home";
    home = image_home(im, &st);
    if (home < 0)
        return home == -ENOENT ? 0 : home;
    r = home_is_image(im, &st);
    /* What was freed a moment ago is free only after the journal's next commit. */
    if (r == 1 && (flags & MNT_DETACH) == 0 && syncfs(home) == 0)
        (void)ioctl(home, FITRIM, &all);
    (void)close(home);
    if (r <= 0)
        return r;
    (void)snprintf(path, sizeof(path), ATELIER_HOMES_DIR "/%s", im->name);
    return umount2(path, UMOUNT_NOFOLLOW | flags) < 0 ? -errno : 0;
}

int image_down(struct image *im)
{
    return image_leave(im, 0);
}

int image_remove(struct image *im)
{
    struct stat st;
    int r = image_leave(im, MNT_DETACH);

    if (r < 0)
        return r;
    im->ret_what = "the image";
    if (unlinkat(im->dir_fd, im->file, 0) < 0 && errno != ENOENT)
        return -errno;
    im->ret_what = "the place of the home";
    /* Of a directory that is somebody's nothing is removed. */
    if (fstatat(im->homes_fd, im->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (st.st_uid == 0 && unlinkat(im->homes_fd, im->name, AT_REMOVEDIR) < 0)
        return -errno;
    return 0;
}
