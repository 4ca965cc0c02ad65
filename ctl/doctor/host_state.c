/* SPDX-License-Identifier: ISC */
/* host_state.c - clock, room on disks, and the log. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/image.h"
#include "ctl/answer.h"
#include "ctl/doctor/checks.h"

#include "common/banned.h"

/* Clocks are set by small steps all the time. */
#define CLOCK_SLACK_S 120

/* --- clock ------------------------------------------------------------------------------------ */

/* What was written in the past must not be newer than now. */
static void mark_look(const char *path, int64_t now_s, struct doctor_line *l)
{
    char written[TIME_TEXT_SIZE], now[TIME_TEXT_SIZE];
    struct stat st;

    if (stat(path, &st) < 0) {
        if (errno != ENOENT)
            doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", path, strerror(errno));
    } else if (st.st_mtime > now_s + CLOCK_SLACK_S) {
        doctor_say(l, DOCTOR_FAIL, "it is %s here, and %s was written at %s", time_text(now_s, now),
                   path, time_text(st.st_mtime, written));
    }
}

/*
 * Links, locks and the end of a course go by the clock. A clock that was set back shows in files
 * that were written later; that none is right cannot be seen from here.
 */
void check_clock(struct doctor *d, struct doctor_line *l)
{
    static const char *const marks[] = {
        ATELIER_PROGRAMS_DIR "/sessiond",
        ATELIER_STATE_DIR "/registry/registry.db",
        ATELIER_STATE_DIR "/registry/registry.db-wal",
        ATELIER_STATE_DIR "/ledger/issued",
        ATELIER_STATE_DIR "/nss/index",
    };
    struct timex timex = {0};
    int64_t now_s = time(NULL);
    char now[TIME_TEXT_SIZE];

    (void)d;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        mark_look(marks[i], now_s, l);
    /* Source: adjtimex(2). */
    if (adjtimex(&timex) < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "adjtimex: %s", strerror(errno));
    else if (timex.status & STA_UNSYNC)
        doctor_say(l, DOCTOR_WARN, "%s, but nothing keeps the clock right (not synchronised)",
                   time_text(now_s, now));
    doctor_say(l, DOCTOR_PASS, "%s, synchronised", time_text(now_s, now));
}

/* --- disks ------------------------------------------------------------------------------------ */

/* Below the first nothing can be written any more; below the second somebody should know. */
#define SPACE_LEAST (64ull << 20)
#define SPACE_FEW   (1ull << 30)
#define FILES_LEAST 1000u
#define FILES_FEW   10000u

static void place_look(const char *path, struct doctor_line *l)
{
    struct statvfs vfs;
    uint64_t bytes;

    if (statvfs(path, &vfs) < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", path, strerror(errno));
        return;
    }
    bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    if (vfs.f_flag & ST_RDONLY)
        doctor_say(l, DOCTOR_FAIL, "%s is mounted read-only", path);
    if (bytes < SPACE_LEAST)
        doctor_say(l, DOCTOR_FAIL, "%s has %" PRIu64 " MiB left", path, bytes >> 20);
    /* Some file systems make files as long as there is room, and say 0. */
    else if (vfs.f_files > 0 && vfs.f_favail < FILES_LEAST)
        doctor_say(l, DOCTOR_FAIL, "%s has room for %ju files", path, (uintmax_t)vfs.f_favail);
    else if (bytes < SPACE_FEW)
        doctor_say(l, DOCTOR_WARN, "%s has %" PRIu64 " MiB left", path, bytes >> 20);
    else if (vfs.f_files > 0 && vfs.f_favail < FILES_FEW)
        doctor_say(l, DOCTOR_WARN, "%s has room for %ju files", path, (uintmax_t)vfs.f_favail);
    else
        doctor_say(l, DOCTOR_PASS, "%s %" PRIu64 " GiB", path, bytes >> 30);
}

/* What the images of homes may still take: they are sparse, and each was promised its whole size.
 */
static void images_look(struct doctor_line *l)
{
    DIR *dir = opendir(IMAGE_DIR);
    uint64_t more = 0, left;
    struct statvfs vfs;

    if (!dir) {
        if (errno != ENOENT)
            doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", IMAGE_DIR, strerror(errno));
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;

        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            st.st_size > st.st_blocks * 512)
            more += (uint64_t)(st.st_size - st.st_blocks * 512);
    }
    if (fstatvfs(dirfd(dir), &vfs) == 0) {
        left = (uint64_t)vfs.f_bavail * vfs.f_frsize;
        if (more > left)
            doctor_say(l, DOCTOR_WARN,
                       "the images of homes may still take %" PRIu64 " MiB, and %s has %" PRIu64
                       " MiB left",
                       more >> 20, IMAGE_DIR, left >> 20);
    }
    (void)closedir(dir);
}

void check_disk(struct doctor *d, struct doctor_line *l)
{
    static const char *const places[] = {ATELIER_STATE_DIR, ATELIER_HOMES_DIR, "/var/log", "/run"};

    (void)d;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        place_look(places[i], l);
    images_look(l);
}

/* --- the log ---------------------------------------------------------------------------------- */

void check_log(struct doctor *d, struct doctor_line *l)
{
    const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    cleanup_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)d;
    if (fd < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "socket: %s", strerror(errno));
    else if (connect(fd, (const struct sockaddr *)&log, sizeof(log)) < 0)
        doctor_say(l, DOCTOR_FAIL, "/dev/log: %s: logins and denials are recorded nowhere",
                   strerror(errno));
    else
        doctor_say(l, DOCTOR_PASS, "/dev/log is listened to");
}
