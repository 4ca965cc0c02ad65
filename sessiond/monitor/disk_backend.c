/* SPDX-License-Identifier: ISC */
/* disk_backend.c - what of this host can hold a user to `disk` and `disk_files`. */
#include "sessiond/monitor/disk_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/quota.h"

#include "common/banned.h"

static void why_add(char why[WIRE_PATH_SIZE], const char *backend, const char *what,
                    const char *lack)
{
    size_t n = strlen(why);

    (void)snprintf(why + n, WIRE_PATH_SIZE - n, "%s%s: %s %s", n > 0 ? "; " : "", backend, what,
                   lack);
}

static bool has_quota(int homes, char why[WIRE_PATH_SIZE])
{
    int r = quota_check(homes);

    if (r < 0)
        why_add(why, "quota", "file system of the homes:",
                r == -EOPNOTSUPP ? "not turned on" : strerrordesc_np(-r));
    return r == 0;
}

static bool has_images(char why[WIRE_PATH_SIZE])
{
    cleanup_close int fd = open(LOOP_CONTROL, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        why_add(why, "image", LOOP_CONTROL,
                errno == ENOENT ? "is missing" : strerrordesc_np(errno));
        return false;
    }
    if (access("/usr/sbin/mke2fs", X_OK) == 0 || access("/sbin/mke2fs", X_OK) == 0)
        return true;
    why_add(why, "image", "mke2fs", "is missing");
    return false;
}

static bool is_wanted(const struct policy_disk *policy, enum policy_disk_backend backend)
{
    return policy->backend == POLICY_DISK_AUTO || policy->backend == backend;
}

enum wire_disk disk_backend(const struct policy_disk *policy, int homes,
                            char ret_why[WIRE_PATH_SIZE])
{
    ret_why[0] = '\0';
    if (is_wanted(policy, POLICY_DISK_QUOTA) && has_quota(homes, ret_why))
        return WIRE_DISK_QUOTA;
    if (is_wanted(policy, POLICY_DISK_IMAGE) && has_images(ret_why))
        return WIRE_DISK_IMAGE;
    return WIRE_DISK_NONE;
}
