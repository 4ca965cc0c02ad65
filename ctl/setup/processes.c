/* SPDX-License-Identifier: ISC */
/* processes.c - what still runs: processes of some uids, and control groups that are not empty. */
#include "ctl/setup/processes.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/say.h"
#include "ctl/setup/host.h"

#include "common/banned.h"

/* All of a status file; the lines that are read are among the first. Source: proc(5). */
#define STATUS_SIZE 4096

static bool has_uid_in(const char *status, uid_t min, uid_t max, unsigned *ret_uid)
{
    const char *line = strstr(status, "\nUid:");
    unsigned uids[4];

    if (!line || sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        if (uids[i] >= min && uids[i] <= max) {
            *ret_uid = uids[i];
            return true;
        }
    }
    return false;
}

int processes_list(const char *proc, uid_t min, uid_t max, FILE *out)
{
    DIR *dir = opendir(proc);
    struct dirent *d;
    int count = 0;

    if (!dir)
        return -errno;
    for (errno = 0; count >= 0 && (d = readdir(dir)); errno = 0) {
        char status[STATUS_SIZE], name[64] = "?";
        cleanup_free char *path = NULL;
        unsigned pid, uid;
        int r;

        if (str_to_u32(d->d_name, INT32_MAX, &pid) < 0)
            continue;
        if (asprintf(&path, "%s/%s/status", proc, d->d_name) < 0)
            say_no_memory();
        r = text_file_read(path, status, sizeof(status));
        if (r < 0 && r != -ENOENT && r != -ESRCH) {
            count = r;
        } else if (r == 0 && has_uid_in(status, min, max, &uid)) {
            (void)sscanf(status, "Name: %63[^\n]", name);
            (void)fprintf(out, "%s%u (uid %u, %s)", count > 0 ? ", " : "", pid, uid, name);
            count++;
        }
    }
    if (count >= 0 && errno != 0)
        count = -errno;
    (void)closedir(dir);
    return count;
}

int cgroup_is_populated(const char *directory)
{
    cleanup_free char *path = NULL;
    char events[256];
    int r;

    if (asprintf(&path, "%s/cgroup.events", directory) < 0)
        say_no_memory();
    r = text_file_read(path, events, sizeof(events));
    /* ENODEV: it was removed between open and read. */
    if (r == -ENOENT || r == -ENODEV)
        return 0;
    if (r < 0)
        return r;
    return strstr(events, "populated 0\n") ? 0 : 1;
}
