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
#include "common/str.h"
#include "sessiond/monitor/mountapi.h"
#include "sessiond/shared/home_fill.h"

#include "common/banned.h"

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

/* @is_mount: Something of ours is mounted there. */
static int dir_open(int parent, const char *name, uid_t uid, bool is_mount)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
    cleanup_close int fd =
        is_mount ? open_mounted(parent, name, flags) : open_beneath(parent, name, flags);
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
static int home_open(const char *name, uid_t uid, gid_t gid, bool is_mount)
{
    int home = dir_open(homes_fd, name, uid, is_mount), r;

    if (home != -ENOENT)
        return home;
    r = home_make(name, uid, gid);
    return r < 0 ? r : dir_open(homes_fd, name, uid, false);
}

int home_tree(const char *name, uid_t uid, gid_t gid, enum home_part part, bool is_mount,
              int *ret_tree, const char **ret_what)
{
    cleanup_close int home = -1, work = -1;
    int tree;

    *ret_what = "the user's home";
    home = home_open(name, uid, gid, is_mount);
    if (home < 0)
        return home;
    if (part == HOME_WORK) {
        *ret_what = "work in the user's home";
        work = dir_open(home, WORK, uid, false);
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
