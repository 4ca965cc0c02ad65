/* SPDX-License-Identifier: ISC */
/* disk_text.c - what a user holds in the home on disk, and of how much, as text. */
#include "ctl/disk_text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/quota.h"

#include "common/banned.h"

/* Three digits and a unit; rounded up, so that what is full does not look as if it were not. */
static void size_text(uint64_t bytes, char *ret_text, size_t size)
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

void disk_text(uint32_t uid, const char *name, char ret_text[DISK_TEXT_SIZE])
{
    cleanup_close int fd = open(ATELIER_HOMES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct quota q;

    (void)name;
    (void)snprintf(ret_text, DISK_TEXT_SIZE, "%s", fd < 0 ? "-" : "no limit");
    if (fd < 0 || quota_check(fd) < 0)
        return;
    if (quota_get(fd, uid, &q) < 0)
        (void)snprintf(ret_text, DISK_TEXT_SIZE, "-");
    else if (q.limit_bytes > 0)
        used_text("quota", &q, ret_text);
}
