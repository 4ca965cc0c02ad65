/* SPDX-License-Identifier: ISC */
/* processes.c - what still runs: processes of some uids, and control groups that are not empty. */
#include "ctl/setup/processes.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

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

int process_look(const char *proc, pid_t pid, uid_t min, uid_t max, struct process *ret)
{
    struct process p = {.pid = pid, .name = "?"};
    cleanup_free char *path = NULL;
    char status[STATUS_SIZE];
    int r;

    if (asprintf(&path, "%s/%d/status", proc, (int)pid) < 0)
        say_no_memory();
    r = text_file_read(path, status, sizeof(status));
    if (r == -ENOENT || r == -ESRCH)
        return 0;
    if (r < 0)
        return r;
    if (!has_uid_in(status, min, max, &p.uid))
        return 0;
    (void)sscanf(status, "Name: %63[^\n]", p.name);
    *ret = p;
    return 1;
}

int processes_each(const char *proc, uid_t min, uid_t max,
                   void (*one)(void *arg, const struct process *p), void *arg)
{
    DIR *dir = opendir(proc);
    struct dirent *d;
    int count = 0;

    if (!dir)
        return -errno;
    for (errno = 0; count >= 0 && (d = readdir(dir)); errno = 0) {
        struct process p;
        uint32_t pid;
        int r;

        if (str_to_u32(d->d_name, INT32_MAX, &pid) < 0)
            continue;
        r = process_look(proc, (pid_t)pid, min, max, &p);
        if (r > 0)
            one(arg, &p);
        count = r < 0 ? r : count + r;
    }
    if (count >= 0 && errno != 0)
        count = -errno;
    (void)closedir(dir);
    return count;
}

int process_is_outside(pid_t pid)
{
    char path[64], own[64], host[64];
    ssize_t n, m = readlink("/proc/1/ns/mnt", host, sizeof(host));

    if (m < 0)
        return -errno;
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
    n = readlink(path, own, sizeof(own));
    if (n < 0)
        return errno == ENOENT || errno == ESRCH ? 0 : -errno;
    return n == m && memcmp(own, host, (size_t)n) == 0;
}

struct list {
    FILE *out;
    bool has_one;
};

static void on_listed(void *arg, const struct process *p)
{
    struct list *list = arg;

    (void)fprintf(list->out, "%s%d (uid %u, %s)", list->has_one ? ", " : "", (int)p->pid, p->uid,
                  p->name);
    list->has_one = true;
}

int processes_list(const char *proc, uid_t min, uid_t max, FILE *out)
{
    struct list list = {.out = out};

    return processes_each(proc, min, max, on_listed, &list);
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
