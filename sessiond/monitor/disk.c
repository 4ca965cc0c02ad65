/* SPDX-License-Identifier: ISC */
/* disk.c - what holds a user to `disk` and `disk_files`. */
#include "sessiond/monitor/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/quota.h"
#include "common/sabotage.h"
#include "sessiond/monitor/disk_backend.h"
#include "sessiond/monitor/disk_image.h"
#include "sessiond/monitor/home.h"
#include "sessiond/monitor/monitor.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/*
 * With less than this left a write may have been refused. Quota gives room block by block; ext4
 * keeps some back for what a delayed write may come to need (measured: 105 blocks of 64 MiB).
 */
#define FULL_QUOTA_BYTES (16u * 1024)
#define FULL_DISK_BYTES  (1024u * 1024)

struct disk {
    struct monitor *monitor;
    struct images *images;
    enum wire_disk mode;      /* of a home that is still to be made */
    char why[WIRE_PATH_SIZE]; /* it is not another one */
};

/* --- which one ----------------------------------------------------------------------------- */

void disk_look(struct disk *disk)
{
    const struct policy_disk *policy = &disk->monitor->policy->disk;
    enum wire_disk mode = disk_backend(policy, home_dir(), disk->why);

    images_policy(disk->images, policy);
    if (policy->backend == POLICY_DISK_NONE)
        str_cut(disk->why, sizeof(disk->why), "the policy says none");
    disk->mode = mode;
    if (mode == WIRE_DISK_NONE && policy->is_required)
        log_error("nothing holds users to the limits of the disk, which are required: nothing "
                  "starts: %s",
                  disk->why);
}

int disk_new(struct monitor *m, struct disk **ret_disk)
{
    struct disk *disk = calloc(1, sizeof(*disk));
    int r;

    if (!disk)
        return -ENOMEM;
    disk->monitor = m;
    r = images_new(m->base, &disk->images);
    if (r < 0) {
        free(disk);
        return r;
    }
    disk_look(disk);
    *ret_disk = disk;
    return 0;
}

void disk_free(struct disk *disk)
{
    images_free(disk->images);
    free(disk);
}

enum wire_disk disk_mode(const struct disk *disk)
{
    return disk->mode;
}

void disk_report(const struct disk *disk, struct wire_status *ret_status)
{
    ret_status->disk = disk->mode;
    ret_status->disk_required = disk->monitor->policy->disk.is_required;
    (void)str_copy(ret_status->disk_what, sizeof(ret_status->disk_what), disk->why);
}

/* --- for one user -------------------------------------------------------------------------- */

/* Limits are kept by the kernel in whole KiB. */
static bool has_limits(const struct quota *q, const struct plan_size *size)
{
    return q->limit_bytes == size->bytes && q->limit_files == size->inodes;
}

static int quota_require(const struct disk_user *user, const char **ret_what)
{
    struct quota q;
    int r;

    *ret_what = "the user's quota";
    r = quota_get(home_dir(), user->uid, &q);
    if (r < 0 || has_limits(&q, user->size))
        return r;
    r = quota_set(home_dir(), user->uid, user->size->bytes, user->size->inodes);
    if (r == 0)
        r = quota_get(home_dir(), user->uid, &q);
    if (r < 0)
        return r;
    return has_limits(&q, user->size) ? 0 : -EPERM;
}

static bool is_required(const struct disk *disk)
{
    return disk->monitor->policy->disk.is_required;
}

void disk_require(struct disk *disk, struct disk_user *user)
{
    const char *what = "";
    int r = 0;

    /* Where there is an image it is the home, whatever else holds. */
    user->is_open_only = disk->mode != WIRE_DISK_IMAGE;
    user->is_strict = is_required(disk);
    if (SABOTAGED("disk")) {
        user->fn(user->arg, 0, "");
        return;
    }
    if (disk->mode == WIRE_DISK_IMAGE || images_has(disk->images, user->uid)) {
        images_require(disk->images, user);
        return;
    }
    if (disk->mode == WIRE_DISK_QUOTA) {
        r = quota_require(user, &what);
    } else if (user->is_strict) {
        r = -EOPNOTSUPP;
        what = "no back end of this host can, and the policy requires it";
    }
    user->fn(user->arg, -r, what);
}

void disk_adopt(struct disk *disk, struct disk_user *user)
{
    if (images_has(disk->images, user->uid))
        images_adopt(disk->images, user);
}

void disk_release(struct disk *disk, struct disk_user *user)
{
    images_release(disk->images, user);
}

/* The file system that a process has as the home, or as ~/work. */
static int home_of(const struct disk_user *user, pid_t pid, struct stat *ret_st,
                   struct statfs *ret_fs)
{
    char path[64 + sizeof(ATELIER_HOMES_DIR) + NAME_SIZE];
    cleanup_close int fd = -1;

    (void)snprintf(path, sizeof(path), "/proc/%d/root" ATELIER_HOMES_DIR "/%s%s", pid, user->name,
                   user->is_run ? "/work" : "");
    fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret_st) < 0 || fstatfs(fd, ret_fs) < 0)
        return -errno;
    return 0;
}

static int quota_read(const struct disk_user *user, struct wire_receipt *r)
{
    struct quota q;
    int e = quota_check(home_dir());

    if (e == 0)
        e = quota_get(home_dir(), user->uid, &q);
    if (e < 0)
        return e;
    if (!has_limits(&q, user->size))
        return -EPERM;
    r->disk = WIRE_DISK_QUOTA;
    r->disk_bytes = q.limit_bytes;
    r->disk_files = q.limit_files;
    return 0;
}

int disk_read(const struct disk *disk, const struct disk_user *user, pid_t pid,
              struct wire_receipt *ret_r)
{
    struct statfs fs;
    struct stat st;
    uint64_t bytes;
    int r;

    ret_r->disk = WIRE_DISK_NONE;
    ret_r->disk_bytes = ret_r->disk_files = 0;
    if (user->home) {
        r = home_of(user, pid, &st, &fs);
        if (r == 0)
            r = images_read(disk->images, user->uid, st.st_dev, &bytes);
        if (r <= 0)
            return r < 0 ? r : -EPERM;
        ret_r->disk = WIRE_DISK_IMAGE;
        ret_r->disk_bytes = bytes;
        ret_r->disk_files = fs.f_files;
        return 0;
    }
    if (disk->mode == WIRE_DISK_QUOTA)
        return quota_read(user, ret_r);
    return user->is_strict ? -EPERM : 0;
}

/* Of the file system that the home is on: everybody's, or an image's. */
static bool home_is_full(const char *name)
{
    cleanup_close int fd = openat(home_dir(), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct statfs fs;

    /* Some file systems count no blocks or no files. */
    return fd >= 0 && fstatfs(fd, &fs) == 0 &&
           ((fs.f_blocks > 0 && (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < FULL_DISK_BYTES) ||
            (fs.f_files > 0 && fs.f_ffree == 0));
}

bool disk_is_full(const struct disk *disk, const struct disk_user *user)
{
    struct quota q;

    if (disk->mode == WIRE_DISK_QUOTA && quota_get(home_dir(), user->uid, &q) == 0 &&
        ((q.limit_bytes > 0 && q.used_bytes + FULL_QUOTA_BYTES > q.limit_bytes) ||
         (q.limit_files > 0 && q.used_files >= q.limit_files)))
        return true;
    return home_is_full(user->name);
}
