/* SPDX-License-Identifier: ISC */
/* disk_text.c - what a user holds in the home on disk, and of how much, as text. */
#include "ctl/disk_text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/quota.h"
#include "ctl/home_image.h"

#include "common/banned.h"

void size_text(uint64_t bytes, char *ret_text, size_t size)
{
    static const char units[] = {'K', 'M', 'G', 'T'};
    uint64_t v = (bytes + 1023) / 1024;
    size_t unit = 0;

    while (v >= 10000 && unit + 1 < sizeof(units)) {
        v = (v + 1023) / 1024;
        unit++;
    }
    while (v > 0 && v % 1024 == 0 && unit + 1 < sizeof(units)) {
        v /= 1024;
        unit++;
    }
    (void)snprintf(ret_text, size, "%" PRIu64 "%c", v, units[unit]);
}

static void used_text(const char *mode, const struct quota *q, char ret_text[DISK_TEXT_SIZE])
{
    char used[24], most[24];

    size_text(q->used_bytes, used, sizeof(used));
    size_text(q->limit_bytes, most, sizeof(most));
    (void)snprintf(ret_text, DISK_TEXT_SIZE, "%s of %s, %" PRIu64 " of %" PRIu64 " files (%s)",
                   used, most, q->used_files, q->limit_files, mode);
}

/* Return: true if the home is an image, and the text says of it what can be seen. */
static bool image_text(int homes, uint32_t uid, const char *name, char ret_text[DISK_TEXT_SIZE])
{
    cleanup_close int fd = -1;
    struct stat image, home;
    char most[24];
    struct statvfs fs;
    struct quota q;

    if (!home_image_is(uid, &image))
        return false;
    fd = openat(homes, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &home) == 0 && loop_has(home.st_dev, &image, NULL) == 1 &&
        fstatvfs(fd, &fs) == 0) {
        q = (struct quota){.limit_bytes = fs.f_blocks * fs.f_frsize,
                           .used_bytes = (fs.f_blocks - fs.f_bfree) * fs.f_frsize,
                           .limit_files = fs.f_files,
                           .used_files = fs.f_files - fs.f_ffree};
        used_text("image", &q, ret_text);
        return true;
    }
    size_text((uint64_t)image.st_size, most, sizeof(most));
    (void)snprintf(ret_text, DISK_TEXT_SIZE, "of %s, not mounted now (image)", most);
    return true;
}

void disk_text(uint32_t uid, const char *name, char ret_text[DISK_TEXT_SIZE])
{
    cleanup_close int fd = open(ATELIER_HOMES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct quota q;

    (void)snprintf(ret_text, DISK_TEXT_SIZE, "%s", fd < 0 ? "-" : "no limit");
    if (fd < 0 || image_text(fd, uid, name, ret_text) || quota_check(fd) < 0)
        return;
    if (quota_get(fd, uid, &q) < 0)
        (void)snprintf(ret_text, DISK_TEXT_SIZE, "-");
    else if (q.limit_bytes > 0)
        used_text("quota", &q, ret_text);
}
