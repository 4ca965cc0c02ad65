/* SPDX-License-Identifier: ISC */
/*
 * cgroup_io.c - what all runs and sessions of a user together read and write, by control groups.
 *
 * Version 2 alone, where the controller was delegated: the one of version 1 does not know who wrote
 * what the kernel writes later, which is nearly everything. Where it is missing nothing is limited,
 * and the receipt says so: it has what was read back.
 * Source: Documentation/admin-guide/cgroup-v2.rst of the kernel, "IO Interface Files".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/image.h"
#include "sessiond/monitor/cgroup_internal.h"

#include "common/banned.h"

/* The homes' file system, and that of the images. */
#define DEVICES_MAX 2

/* The whole disk of a partition; limits are of disks. Return: 0 or a negative errno. */
static int disk_of(dev_t dev, unsigned *ret_major, unsigned *ret_minor)
{
    cleanup_close int fd = -1;
    char path[64], text[32];
    int r;

    (void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* The directory of a partition is in that of its disk. */
    r = file_read_text(fd, faccessat(fd, "partition", F_OK, 0) == 0 ? "../dev" : "dev", text,
                       sizeof(text));
    if (r < 0)
        return r;
    return sscanf(text, "%u:%u", ret_major, ret_minor) == 2 ? 0 : -EPROTO;
}

/* Disks that homes are on. A file system of the network, in memory, or over several has none. */
static size_t disks_find(unsigned ret[DEVICES_MAX][2])
{
    static const char *const places[DEVICES_MAX] = {ATELIER_HOMES_DIR, IMAGE_DIR};
    size_t n = 0;

    for (size_t i = 0; i < DEVICES_MAX; i++) {
        struct stat st;

        if (stat(places[i], &st) < 0 || disk_of(st.st_dev, &ret[n][0], &ret[n][1]) < 0)
            continue;
        if (n == 0 || ret[0][0] != ret[n][0] || ret[0][1] != ret[n][1])
            n++;
    }
    return n;
}

static void rate_text(uint64_t rate, char ret_text[24])
{
    if (rate == 0)
        (void)snprintf(ret_text, 24, "max");
    else
        (void)snprintf(ret_text, 24, "%" PRIu64, rate);
}

static int rates_write(int dir, const struct plan_cgroup *plan)
{
    unsigned disks[DEVICES_MAX][2];
    size_t count = disks_find(disks);
    char read_text[24], write_text[24], line[96];
    int r = 0;

    rate_text(plan->io_read, read_text);
    rate_text(plan->io_write, write_text);
    for (size_t i = 0; r == 0 && i < count; i++) {
        (void)snprintf(line, sizeof(line), "%u:%u rbps=%s wbps=%s", disks[i][0], disks[i][1],
                       read_text, write_text);
        r = cgroup_write(dir, "io.max", line);
    }
    return r;
}

int cgroup_io_limit(const struct cgroup_node *user, const struct plan_cgroup *plan,
                    const char **ret_what)
{
    int dir = user->dirs[0], r = 0;

    *ret_what = "io.weight";
    if (faccessat(dir, "io.weight", W_OK, 0) == 0)
        r = cgroup_write_u64(dir, "io.weight", plan->io_weight);
    if (r < 0 || faccessat(dir, "io.max", W_OK, 0) < 0)
        return r;
    *ret_what = "io.max";
    return rates_write(dir, plan);
}

/* "rbps=1048576" of a line; 0: max, or not there. */
static uint64_t rate_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The least that holds on one of the disks. */
static uint64_t lower(uint64_t a, uint64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

void cgroup_io_read(const struct cgroup_node *user, struct wire_receipt *r)
{
    int dir = user->dirs[0];
    char text[1024], *rest = text, *line;

    r->io_weight = r->io_read = r->io_write = 0;
    /* "default 100", and lines of disks, of which we write none. */
    if (file_read_text(dir, "io.weight", text, sizeof(text)) == 0 &&
        strncmp(text, "default ", 8) == 0)
        r->io_weight = strtoull(text + 8, NULL, 10);
    if (file_read_text(dir, "io.max", text, sizeof(text)) < 0)
        return;
    while ((line = strsep(&rest, "\n"))) {
        r->io_read = lower(r->io_read, rate_of(line, "rbps="));
        r->io_write = lower(r->io_write, rate_of(line, "wbps="));
    }
}

bool cgroup_io_matches(const struct cgroup_node *user, const struct plan_cgroup *plan,
                       const struct wire_receipt *r)
{
    unsigned disks[DEVICES_MAX][2];

    if (faccessat(user->dirs[0], "io.weight", F_OK, 0) == 0 && r->io_weight != plan->io_weight)
        return false;
    if (faccessat(user->dirs[0], "io.max", F_OK, 0) < 0 || disks_find(disks) == 0)
        return true;
    return r->io_read == plan->io_read && r->io_write == plan->io_write;
}
