/* SPDX-License-Identifier: ISC */
/* home_fill.c - what is in a new home. */
#include "sessiond/shared/home_fill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

#define SKEL_DIR   "/etc/skel"
#define SKEL_LIMIT 65536 /* bytes of one skeleton file */
#define WORK       "work"

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
    DIR *dir = opendir(SKEL_DIR);
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

int home_fill(int home, uid_t uid, gid_t gid)
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
