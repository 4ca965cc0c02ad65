/* SPDX-License-Identifier: ISC */
/*
 * ownroot.c - a root directory of its own, for a run or session that has more than the others.
 *
 *   1. a small tmpfs on /tmp              (empty in the prepared tree, and mounted on later)
 *   2. each name of the prepared root: links and empty directories are made again, the others are
 *      mounted with all that is mounted below them
 *                                       (copies: read-only, nosuid, nodev as they are)
 *   3. pivot_root, detach the shared root (what is left of it are the mounts of step 2)
 * Whoever calls this makes the places that it needs, and seals it.
 */
#include "sessiond/monitor/ownroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sessiond/monitor/mountapi.h"

#include "common/banned.h"

#define NEW_ROOT  "/tmp" /* a name in the root */
#define PATH_ROOM 300    /* NEW_ROOT and a name */

static const uint64_t ATTR_RO = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

int root_turn(const char *dir)
{
    if (chdir(dir) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return -errno;
    /* The old root now lies over the new one at "."; pivot_root(2), "pivot_root(".", ".")". */
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return -errno;
    return 0;
}

static int link_again(int root, const char *name, const char *target)
{
    char to[PATH_ROOM];
    ssize_t n = readlinkat(root, name, to, sizeof(to) - 1);

    if (n < 0)
        return -errno;
    to[n] = '\0';
    return symlink(to, target) < 0 ? -errno : 0;
}

/* Nothing is in it, or mounted on it: a directory is all there is. Return: negative errno: no. */
static int empty_check(int root, const char *name)
{
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), names = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        return -errno;
    while (names < 3 && readdir(dir))
        names++;
    (void)closedir(dir);
    return names < 3 ? 0 : -ENOTEMPTY;
}

static int dir_again(int root, const char *name, const struct stat *st, const char *target)
{
    bool is_new_root = strcmp(name, NEW_ROOT + 1) == 0;
    int tree, r;

    if (mkdir(target, st->st_mode & 07777) < 0)
        return -errno;
    /* In itself the new root is not mounted once more. */
    if (is_new_root || empty_check(root, name) == 0)
        return 0;
    tree = mount_clone(root, name, 1, 0);
    if (tree < 0)
        return tree;
    r = mount_attach(tree, target);
    (void)close(tree);
    return r;
}

static int name_again(int root, const char *name)
{
    char target[PATH_ROOM];
    struct stat st;

    (void)snprintf(target, sizeof(target), NEW_ROOT "/%s", name);
    if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return link_again(root, name, target);
    /* There are no files in a root of ours (plan_base). */
    return S_ISDIR(st.st_mode) ? dir_again(root, name, &st, target) : -EINVAL;
}

int ownroot_enter(const char **ret_what)
{
    DIR *root;
    int r = 0;

    *ret_what = "root of its own";
    /* Directories and links only: a page or none each. */
    if (mount("tmpfs", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME,
              "size=1m,nr_inodes=1024,mode=755") < 0)
        return -errno;
    root = opendir("/");
    if (!root)
        return -errno;
    for (struct dirent *e; r == 0 && (e = readdir(root));) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            r = name_again(dirfd(root), e->d_name);
    }
    (void)closedir(root);
    return r < 0 ? r : root_turn(NEW_ROOT);
}

int ownroot_seal(void)
{
    return mount_restrict("/", ATTR_RO);
}
