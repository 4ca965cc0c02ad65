/* SPDX-License-Identifier: ISC */
/* mountapi.c - the new mount API and openat2, by number. */
#include "sessiond/monitor/mountapi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

static int attr_change(int dirfd, const char *path, unsigned flags, struct mount_attr attr)
{

    if (syscall(SYS_mount_setattr, dirfd, path, flags, &attr, sizeof(attr)) < 0)
        return -errno;
    return 0;
}

int mount_clone(int dirfd, const char *path, int recursive, uint64_t attr_set)
{
    unsigned deep = recursive ? AT_RECURSIVE : 0u;
    cleanup_close int fd = -1;
    int r;

    fd = (int)syscall(SYS_open_tree, dirfd, path,
                      OPEN_TREE_CLONE | (unsigned)OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
                          AT_SYMLINK_NOFOLLOW | deep);
    if (fd < 0)
        return -errno;
    /* Private: a copy of a shared mount is its peer, and would follow what the host mounts later.
     */
    r = attr_change(fd, "", AT_EMPTY_PATH | deep,
                    (struct mount_attr){.attr_set = attr_set, .propagation = MS_PRIVATE});
    return r < 0 ? r : fd_take(&fd);
}

int mount_attach(int tree_fd, const char *target)
{
    if (syscall(SYS_move_mount, tree_fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return -errno;
    return 0;
}

int mount_restrict(const char *target, uint64_t attr_set)
{
    return attr_change(AT_FDCWD, target, AT_SYMLINK_NOFOLLOW,
                       (struct mount_attr){.attr_set = attr_set});
}

int open_plain(const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

    return fd < 0 ? -errno : (int)fd;
}

static int open_below(int dirfd, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
    };
    long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

    return fd < 0 ? -errno : (int)fd;
}

int open_beneath(int dirfd, const char *path, int flags)
{
    return open_below(dirfd, path, flags, RESOLVE_NO_XDEV);
}

int open_mounted(int dirfd, const char *path, int flags)
{
    return open_below(dirfd, path, flags, 0);
}
