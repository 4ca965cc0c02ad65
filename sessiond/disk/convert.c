/* SPDX-License-Identifier: ISC */
/*
 * convert.c - a home that is a directory becomes an image.
 *
 *   UID.move   from here on sessiond has whoever wants the home ask for an image, whatever back end
 *              it has, and so wait for the lock that is held here
 *   held, go   whoever lives by now is known to the caller, who says whether to go on
 *   .UID.new   an image that is mounted nowhere, and in it a copy of all that there is
 *   compared   the image was unmounted, is mounted again, and has what the directory has
 *   UID.img    by rename(2): the image is the home now
 *   .old-NAME  the directory, moved beside; its place is made
 *   done       UID.move is removed. What is beside is removed by the caller
 *
 * Until the rename(2) the directory is the home, and nothing has changed in it; afterwards the
 * image is. Whoever dies in between: the lock goes with him, and the next one to hold it, for
 * whatever reason, takes the first half back or finishes the second (convert_settle()). No start
 * gets past that, because UID.move or UID.img is there. Each step is on the disk before the next
 * one begins.
 *
 * UID.move has the number of the directory: another one that somebody has put there is left alone.
 */
#include "sessiond/disk/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/disk/copy.h"

#include "common/banned.h"

#define MARK_SIZE 24

/* With less than this left of an image a write was refused for want of room. */
#define ROOM_LEFT_BYTES (1u << 20)

static const char there_is_one[] = "beside the home is one that was there before it";

struct names {
    char mark[24];
    char old[sizeof(IMAGE_OLD_PREFIX) + NAME_SIZE];
};

static struct names names_of(const struct image *im)
{
    struct names n;

    (void)snprintf(n.mark, sizeof(n.mark), "%u.move", im->uid);
    (void)snprintf(n.old, sizeof(n.old), IMAGE_OLD_PREFIX "%s", im->name);
    return n;
}

static bool has_file(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- the mark ------------------------------------------------------------------------------ */

static int mark_make(struct image *im, const struct stat *home)
{
    const struct names n = names_of(im);
    cleanup_close int fd = -1;
    char text[MARK_SIZE];
    int r;

    im->ret_what = "the mark of a move";
    fd = openat(im->dir_fd, n.mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    (void)snprintf(text, sizeof(text), "%" PRIu64 "\n", (uint64_t)home->st_ino);
    r = fd_write_full(fd, text, strlen(text));
    if (r == 0 && (fsync(fd) < 0 || fsync(im->dir_fd) < 0))
        r = -errno;
    return r;
}

/* @ret_ino: 0 if the mark was never whole. Return: 0, -ENOENT, or another negative errno. */
static int mark_read(const struct image *im, uint64_t *ret_ino)
{
    const struct names n = names_of(im);
    cleanup_close int fd = openat(im->dir_fd, n.mark, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char text[MARK_SIZE];
    size_t size;
    int r;

    if (fd < 0)
        return -errno;
    r = fd_read_full(fd, text, sizeof(text) - 1, &size);
    if (r < 0)
        return r;
    text[size] = '\0';
    *ret_ino = strchr(text, '\n') ? strtoull(text, NULL, 10) : 0;
    return 0;
}

/* Move the directory beside. Return: 0, also if there is another one or none; -ENOTEMPTY: the name
 * is taken; or another negative errno. */
static int old_move(struct image *im, uint64_t ino)
{
    const struct names n = names_of(im);
    cleanup_close int fd = -1;
    struct stat st;

    im->ret_what = "the directory that was the home";
    fd = image_home(im, &st);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    if (st.st_ino != ino || st.st_uid != im->uid)
        return 0;
    if (renameat2(im->homes_fd, im->name, im->homes_fd, n.old, RENAME_NOREPLACE) < 0) {
        if (errno != EEXIST)
            return -errno;
        im->ret_what = there_is_one;
        return -ENOTEMPTY;
    }
    return fsync(im->homes_fd) < 0 ? -errno : 0;
}

int convert_settle(struct image *im)
{
    const struct names n = names_of(im);
    uint64_t ino = 0;
    int r = mark_read(im, &ino);

    if (r == -ENOENT)
        return 0;
    im->ret_what = "the mark of a move";
    if (r == 0 && has_file(im->dir_fd, im->file)) {
        r = old_move(im, ino);
        if (r == 0)
            r = image_place(im);
        /* Somebody else's directory: it is not hidden. */
        if (r == -EEXIST)
            r = 0;
    } else if (r == 0 && unlinkat(im->dir_fd, im->fresh, 0) < 0 && errno != ENOENT) {
        r = -errno;
    }
    if (r == 0 && (unlinkat(im->dir_fd, n.mark, 0) < 0 || fsync(im->dir_fd) < 0))
        r = -errno;
    return r;
}

/* --- the copy ------------------------------------------------------------------------------ */

static int copy_fail(struct image *im, const struct image_mount *m, int r)
{
    struct statvfs fs;

    if (r != -EIO || fstatvfs(m->root, &fs) < 0)
        return r;
    if (fs.f_ffree == 0) {
        im->ret_what = "the image has room for fewer files than there are";
        return -ENOSPC;
    }
    if (fs.f_bavail * fs.f_frsize < ROOM_LEFT_BYTES) {
        im->ret_what = "the image is too small for what is there";
        return -ENOSPC;
    }
    return r;
}

static int copy_into(struct image *im, int home, const struct image_mount *m, enum copy_what what)
{
    const char *name = what == COPY_MAKE ? "the copy" : "the copy is not the same";
    char said[sizeof(im->said) / 2];
    int r;

    im->ret_what = name;
    r = copy_tree(home, m->root, what, said, sizeof(said));
    if (r < 0 && said[0]) {
        (void)snprintf(im->said, sizeof(im->said), "%s: %s", name, said);
        im->ret_what = im->said;
    }
    if (r < 0)
        return what == COPY_MAKE ? copy_fail(im, m, r) : r;
    /* Also what could not be written, for want of room on the host. */
    im->ret_what = "the copy, on the disk";
    return syncfs(m->root) < 0 ? -errno : 0;
}

/* An image that has all of it, under its first name. */
static int image_of(struct image *im, int home, uint64_t bytes, uint64_t files)
{
    cleanup_image_mount struct image_mount m = IMAGE_MOUNT_NONE;
    cleanup_close int fd = image_fresh(im, bytes, files, &m);
    int r = fd < 0 ? fd : copy_into(im, home, &m, COPY_MAKE);

    /* Compared is what the file has, and not what the kernel remembers of the mount. */
    image_mount_done(&m);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (r == 0)
        r = image_mount_file(im, im->fresh, fd, 0, &m);
    if (r == 0)
        r = copy_into(im, home, &m, COPY_COMPARE);
    image_mount_done(&m);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    return r;
}

/* --- all of it ----------------------------------------------------------------------------- */

/* A directory that is the user's, and where nothing is mounted. Return: descriptor or -errno. */
static int directory_open(struct image *im, struct stat *ret_st)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    cleanup_close int fd = (int)syscall(SYS_openat2, im->homes_fd, im->name, &how, sizeof(how));

    im->ret_what = "the home";
    if (fd < 0 && errno == EXDEV)
        im->ret_what = "a file system is mounted where the home is";
    if (fd < 0)
        return errno == ENOENT ? -ENODATA : -errno;
    if (fstat(fd, ret_st) < 0)
        return -errno;
    if (ret_st->st_uid == 0)
        return -ENODATA; /* the place of an image that is to be */
    im->ret_what = "the home is another user's";
    return ret_st->st_uid == im->uid ? fd_take(&fd) : -EPERM;
}

/* Is somebody there to say that it goes on? */
static int go_wait(struct image *im)
{
    char word[sizeof(IMAGE_GO)] = "";
    size_t n = 0;
    int r;

    im->ret_what = "who asked for it";
    r = fd_write_full(STDOUT_FILENO, IMAGE_HELD, sizeof(IMAGE_HELD) - 1);
    if (r == 0)
        r = fd_read_full(STDIN_FILENO, word, sizeof(word) - 1, &n);
    if (r < 0)
        return r;
    return n == sizeof(word) - 1 && strcmp(word, IMAGE_GO) == 0 ? 0 : -ECANCELED;
}

int convert_home(struct image *im, uint64_t bytes, uint64_t files)
{
    const struct names n = names_of(im);
    cleanup_close int home = -1;
    struct stat st;
    int r;

    if (has_file(im->dir_fd, im->file))
        return 0;
    home = directory_open(im, &st);
    if (home < 0)
        return home;
    im->ret_what = there_is_one;
    if (has_file(im->homes_fd, n.old))
        return -ENOTEMPTY;
    r = mark_make(im, &st);
    if (r == 0)
        r = go_wait(im);
    if (r == 0)
        r = image_of(im, home, bytes, files);
    if (r == 0) {
        im->ret_what = "the name of the image";
        r = image_name(im);
    }
    if (r < 0) {
        const char *what = im->ret_what;

        (void)convert_settle(im);
        im->ret_what = what;
        return r;
    }
    return convert_settle(im);
}
