/* SPDX-License-Identifier: ISC */
/* home_fleeting.c - a home that nobody has to remove. */
#include "sessiond/monitor/home_fleeting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

/* Enough for what the doctor tries; its processes are charged for it. */
#define SIZE_TEXT  "64m"
#define FILES_TEXT "4096"
#define WORK       "work"

static int option_set(int fs, const char *key, const char *value)
{
    return fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) < 0 ? -errno : 0;
}

static int id_set(int fs, const char *key, unsigned id)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", id);
    return option_set(fs, key, text);
}

/* Source: fsopen(2), fsmount(2) of the kernel's include/uapi/linux/mount.h; tmpfs(5). */
static int tmpfs_make(uid_t uid, gid_t gid)
{
    cleanup_close int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
    int tree, r;

    if (fs < 0)
        return -errno;
    r = option_set(fs, "size", SIZE_TEXT);
    if (r == 0)
        r = option_set(fs, "nr_inodes", FILES_TEXT);
    if (r == 0)
        r = option_set(fs, "mode", "0700");
    if (r == 0)
        r = id_set(fs, "uid", uid);
    if (r == 0)
        r = id_set(fs, "gid", gid);
    if (r < 0)
        return r;
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return tree < 0 ? -errno : tree;
}

int home_fleeting(uid_t uid, gid_t gid, enum home_part part, int *ret_tree, const char **ret_what)
{
    cleanup_close int tree = -1;

    *ret_what = "the doctor's home";
    tree = tmpfs_make(uid, gid);
    if (tree < 0)
        return tree;
    /* Nobody but root can have changed anything in it yet. */
    if (part == HOME_WHOLE &&
        (mkdirat(tree, WORK, 0700) < 0 || fchownat(tree, WORK, uid, gid, AT_SYMLINK_NOFOLLOW) < 0))
        return -errno;
    *ret_tree = fd_take(&tree);
    return 0;
}
