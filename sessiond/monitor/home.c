/* SPDX-License-Identifier: ISC */
/* home.c - homes on the host: made once, then touched only by descriptor. */
#include "sessiond/monitor/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/str.h"
#include "sessiond/monitor/mountapi.h"

#include "common/banned.h"

#define SKEL_DIR   "/etc/skel"
#define SKEL_LIMIT 65536 /* bytes of one skeleton file */
#define NEW_PREFIX ".new-"
#define WORK       "work"

static int homes_fd = -1;

/* Open a directory for reading its names. Return: to be closed with closedir(3), or NULL. */
static DIR *dir_list(int parent, const char *name, int flags)
{
    cleanup_close int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (dir)
        (void)fd_take(&fd);
    return dir;
}

/* Remove a half-made home: flat files, `work`, the directory. None of it was ever a user's. */
static void half_made_remove(int parent, const char *name)
{
    DIR *dir = dir_list(parent, name, O_NOFOLLOW);

    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), e->d_name, 0) < 0)
            (void)unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
    }
    (void)closedir(dir);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

static void sweep(int parent)
{
    DIR *dir = dir_list(parent, ".", 0);

    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0)
            half_made_remove(parent, e->d_name);
    }
    (void)closedir(dir);
}

int home_init(const char **ret_what)
{
    cleanup_close int fd = -1;
    struct stat st;

    *ret_what = ATELIER_HOMES_DIR;
    fd = open(ATELIER_HOMES_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != 0 || (st.st_mode & 077) != 0) {
        *ret_what = ATELIER_HOMES_DIR " must be root's and 0700";
        return -EPERM;
    }
    sweep(fd);
    homes_fd = fd_take(&fd);
    return 0;
}

int home_dir(void)
{
    return homes_fd;
}

static int skel_copy_one(int skel, int home, const char *name, uid_t uid, gid_t gid)
{
    static char buf[SKEL_LIMIT];
    cleanup_close int in = -1, out = -1;
    struct stat st;
    size_t n;
    int r;

    in = openat(skel, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (in < 0 || fstat(in, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size > (off_t)sizeof(buf))
        return 0;
    r = fd_read_full(in, buf, sizeof(buf), &n);
    if (r < 0)
        return r;
    out = openat(home, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (out < 0)
        return -errno;
    r = fd_write_full(out, buf, n);
    if (r == 0 && fchown(out, uid, gid) < 0)
        r = -errno;
    return r;
}

/* The regular files of the host's skeleton; it is root's, and a home without it is no fault. */
static int skel_copy(int home, uid_t uid, gid_t gid)
{
    DIR *dir = dir_list(AT_FDCWD, SKEL_DIR, 0);
    int r = 0;

    if (!dir)
        return 0;
    for (struct dirent *e; r == 0 && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            r = skel_copy_one(dirfd(dir), home, e->d_name, uid, gid);
    }
    (void)closedir(dir);
    return r;
}

/* A directory of our own making, still root's: fill it and give it away, itself last. */
static int home_fill(int home, uid_t uid, gid_t gid)
{
    cleanup_close int work = -1;
    int r = skel_copy(home, uid, gid);

    if (r < 0)
        return r;
    if (mkdirat(home, WORK, 0700) < 0)
        return -errno;
    work = openat(home, WORK, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (work < 0 || fchown(work, uid, gid) < 0 || fchown(home, uid, gid) < 0)
        return -errno;
    return 0;
}

static int home_make(const char *name, uid_t uid, gid_t gid)
{
    char temp[sizeof(NEW_PREFIX) + NAME_SIZE];
    cleanup_close int home = -1;
    int r;

    (void)snprintf(temp, sizeof(temp), NEW_PREFIX "%s", name);
    half_made_remove(homes_fd, temp);
    if (mkdirat(homes_fd, temp, 0700) < 0)
        return -errno;
    home = openat(homes_fd, temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = home < 0 ? -errno : home_fill(home, uid, gid);
    if (r == 0 && renameat2(homes_fd, temp, homes_fd, name, RENAME_NOREPLACE) < 0)
        r = -errno;
    if (r < 0)
        half_made_remove(homes_fd, temp);
    return r;
}

static int dir_open(int parent, const char *name, uid_t uid)
{
    cleanup_close int fd = open_beneath(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != uid)
        return -EPERM;
    return fd_take(&fd);
}

/* Open a user's home, and make it if there is none. */
static int home_open(const char *name, uid_t uid, gid_t gid)
{
    int home = dir_open(homes_fd, name, uid), r;

    if (home != -ENOENT)
        return home;
    r = home_make(name, uid, gid);
    return r < 0 ? r : dir_open(homes_fd, name, uid);
}

int home_tree(const char *name, uid_t uid, gid_t gid, enum home_part part, int *ret_tree,
              const char **ret_what)
{
    cleanup_close int home = -1, work = -1;
    int tree;

    *ret_what = "the user's home";
    home = home_open(name, uid, gid);
    if (home < 0)
        return home;
    if (part == HOME_WORK) {
        *ret_what = "work in the user's home";
        work = dir_open(home, WORK, uid);
        if (work < 0)
            return work;
    }
    tree =
        mount_clone(part == HOME_WORK ? work : home, "", 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (tree < 0)
        return tree;
    *ret_tree = tree;
    return 0;
}
