/* SPDX-License-Identifier: ISC */
/* utmp.c - sessions in the host's utmp and wtmp. */
#include "sessiond/monitor/utmp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

#include "common/cleanup.h"
#include "common/str.h"

#include "common/banned.h"

#define LOCK_TRY_MS 5

void utmp_line(uint32_t slot, char ret_line[UTMP_LINE_SIZE])
{
    (void)snprintf(ret_line, UTMP_LINE_SIZE, "atelier/%u", slot);
}

/* Four bytes, one of them a mark of ours; two more tell UTMP_SLOTS_MAX slots apart. */
static void id_of(uint32_t slot, char id[4])
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-+";

    id[0] = 'A';
    id[1] = '/';
    id[2] = digits[(slot / 64) % 64];
    id[3] = digits[slot % 64];
}
_Static_assert(UTMP_SLOTS_MAX <= 64 * 64, "two digits of base 64");

static void record_make(const struct utmp_entry *e, short type, struct utmp *ret)
{
    char line[UTMP_LINE_SIZE];
    struct in_addr v4;

    memset(ret, 0, sizeof(*ret));
    ret->ut_type = type;
    ret->ut_pid = e->pid;
    id_of(e->slot, ret->ut_id);
    utmp_line(e->slot, line);
    /* Not NUL-terminated when full, as utmp(5) has it. */
    memcpy(ret->ut_line, line, sizeof(ret->ut_line));
    ret->ut_tv.tv_sec = (int32_t)(e->at_us / 1000000);
    ret->ut_tv.tv_usec = (int32_t)(e->at_us % 1000000);
    if (type == DEAD_PROCESS)
        return;
    str_cut(ret->ut_user, sizeof(ret->ut_user), e->user);
    str_cut(ret->ut_host, sizeof(ret->ut_host), e->rhost);
    if (inet_pton(AF_INET, e->rhost, &v4) == 1)
        ret->ut_addr_v6[0] = (int32_t)v4.s_addr;
    else
        (void)inet_pton(AF_INET6, e->rhost, ret->ut_addr_v6);
}

/*
 * Open, and lock if nobody keeps the lock. The lock keeps two who append from each other; whoever
 * may read the file may hold it for ever.
 *
 * Return: descriptor, -ENOENT, or a negative errno.
 */
static int log_open(const char *path, int flags)
{
    cleanup_close int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    for (int waited_ms = 0; fcntl(fd, F_OFD_SETLK, &lock) < 0; waited_ms += LOCK_TRY_MS) {
        const struct timespec pause = {.tv_nsec = LOCK_TRY_MS * 1000000L};

        if (errno != EAGAIN && errno != EACCES)
            return -errno;
        if (waited_ms >= UTMP_LOCK_MS)
            break;
        (void)nanosleep(&pause, NULL);
    }
    return fd_take(&fd);
}

/* Where the record of this id is, or the end of the file. Return: offset or a negative errno. */
static off_t record_find(int fd, const char id[4])
{
    struct utmp u;
    off_t at = 0;

    for (;; at += (off_t)sizeof(u)) {
        ssize_t n = pread(fd, &u, sizeof(u), at);

        if (n < 0)
            return -errno;
        if (n < (ssize_t)sizeof(u))
            return at; /* what is left of a torn record is overwritten */
        if ((u.ut_type == USER_PROCESS || u.ut_type == DEAD_PROCESS) &&
            memcmp(u.ut_id, id, sizeof(u.ut_id)) == 0)
            return at;
    }
}

static int utmp_put(const struct utmp *record)
{
    cleanup_close int fd = log_open(_PATH_UTMP, O_RDWR);
    off_t at;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    at = record_find(fd, record->ut_id);
    if (at < 0)
        return (int)at;
    return pwrite(fd, record, sizeof(*record), at) == (ssize_t)sizeof(*record) ? 0 : -EIO;
}

/* A record is whole or not there: last(1) reads them by their size. */
static int wtmp_add(const struct utmp *record)
{
    cleanup_close int fd = log_open(_PATH_WTMP, O_WRONLY);
    struct stat st;
    off_t at;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    at = st.st_size - st.st_size % (off_t)sizeof(*record);
    if (pwrite(fd, record, sizeof(*record), at) == (ssize_t)sizeof(*record))
        return 0;
    return ftruncate(fd, at) < 0 ? -errno : -EIO;
}

static int records_write(const struct utmp_entry *entry, short type)
{
    struct utmp record;
    int r, w;

    record_make(entry, type, &record);
    r = utmp_put(&record);
    w = wtmp_add(&record);
    return r < 0 ? r : w;
}

int utmp_login(const struct utmp_entry *entry)
{
    return records_write(entry, USER_PROCESS);
}

int utmp_logout(const struct utmp_entry *entry)
{
    return records_write(entry, DEAD_PROCESS);
}
