/* SPDX-License-Identifier: ISC */
/* session_store.c - what a restarted sessiond has to know of the sessions that live. */
#include "sessiond/monitor/session_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

#define STORE_DIR      ATELIER_RUN_DIR "/sessions"
#define RECORD_VERSION 3u
#define TEMP_PREFIX    ".new-"
#define START_FIELD    22 /* of /proc/PID/stat */

/*
 * A new version only adds fields at the end of the record, which is the receipt: a record of an
 * earlier one is whole at its size, and what it does not have is 0. So the sessions of a host live
 * through an upgrade.
 */
static const size_t record_sizes[RECORD_VERSION] = {
    offsetof(struct session_record, receipt) + offsetof(struct wire_receipt, cgroup_swap_max),
    offsetof(struct session_record, receipt) + offsetof(struct wire_receipt, disk),
    sizeof(struct session_record),
};

static int store_fd = -1;

int session_store_init(void)
{
    cleanup_close int fd = -1;
    struct stat st;

    if (mkdir(STORE_DIR, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = open(STORE_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != 0 || (st.st_mode & 077) != 0)
        return -EPERM;
    store_fd = fd_take(&fd);
    return 0;
}

int session_store_put(struct session_record *record)
{
    char temp[sizeof(TEMP_PREFIX) + WIRE_SESSION_ID_SIZE];
    cleanup_close int fd = -1;
    int r;

    record->version = RECORD_VERSION;
    (void)snprintf(temp, sizeof(temp), TEMP_PREFIX "%s", record->session_id);
    (void)unlinkat(store_fd, temp, 0);
    fd = openat(store_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = fd_write_full(fd, record, sizeof(*record));
    if (r == 0 && renameat(store_fd, temp, store_fd, record->session_id) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(store_fd, temp, 0);
    return r;
}

void session_store_drop(const char *session_id)
{
    (void)unlinkat(store_fd, session_id, 0);
}

static bool is_text(const char *field, size_t size)
{
    return memchr(field, '\0', size) != NULL;
}

static bool record_read(const char *name, struct session_record *ret_record)
{
    cleanup_close int fd = openat(store_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct session_record r = {0};
    size_t n;

    if (fd < 0 || fd_read_full(fd, &r, sizeof(r), &n) < 0 || r.version == 0 ||
        r.version > RECORD_VERSION || n != record_sizes[r.version - 1])
        return false;
    if (!is_text(r.session_id, sizeof(r.session_id)) || strcmp(r.session_id, name) != 0 ||
        !name_is_valid_n(r.name, sizeof(r.name)) || !is_text(r.service, sizeof(r.service)) ||
        !is_text(r.rhost, sizeof(r.rhost)))
        return false;
    *ret_record = r;
    return true;
}

int session_store_each(void (*fn)(void *arg, const struct session_record *record), void *arg)
{
    cleanup_close int fd = openat(store_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int broken = 0;

    if (!dir)
        return -errno;
    (void)fd_take(&fd);
    for (struct dirent *e; (e = readdir(dir));) {
        struct session_record record;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (record_read(e->d_name, &record)) {
            fn(arg, &record);
        } else {
            (void)unlinkat(store_fd, e->d_name, 0);
            broken += strncmp(e->d_name, TEMP_PREFIX, strlen(TEMP_PREFIX)) != 0;
        }
    }
    (void)closedir(dir);
    return broken;
}

int process_start(uint32_t pid, uint64_t *ret_start)
{
    char path[32], buf[1024], *p;
    cleanup_close int fd = -1;
    size_t n;

    (void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    if (fd_read_full(fd, buf, sizeof(buf) - 1, &n) < 0 || n == 0)
        return -ESRCH;
    buf[n] = '\0';
    /* The name may hold anything, brackets too: fields count from behind its last one. */
    p = strrchr(buf, ')');
    if (!p)
        return -EPROTO;
    for (int field = 2; p && field < START_FIELD; field++)
        p = strchr(p + 1, ' ');
    if (!p)
        return -EPROTO;
    errno = 0;
    *ret_start = strtoull(p + 1, NULL, 10);
    return errno != 0 || *ret_start == 0 ? -EPROTO : 0;
}
