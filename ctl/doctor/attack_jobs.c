/* SPDX-License-Identifier: ISC */
/*
 * attack_jobs.c - crontab(1) and at(1), by a participant.
 *
 * The control needs a name, which the doctor's uid has not on the host, and must leave nothing
 * there. So it has a stage: a mount namespace of its own with an /etc/passwd that has one line
 * more, and empty spools of the same owner and mode. The programs are the host's, with the ids that
 * they are set to.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/jobs.h"
#include "ctl/doctor/judge.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"

#include "common/banned.h"

#define WALL_MS 5000u
#define NAME    "doctor"
#define STAGE   "/run" /* empty there: no nscd, and no pid of atd to send a signal to */
#define PASSWD  "/etc/passwd"

/* --- the stage, in a child of the doctor that is root still -------------------------------------
 */

static int text_put(const char *path, const char *bytes, size_t size, const char *more)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0)
        return -errno;
    if (write(fd, bytes, size) != (ssize_t)size ||
        write(fd, more, strlen(more)) != (ssize_t)strlen(more) || fchmod(fd, 0644) < 0)
        return -EIO;
    return 0;
}

/* @path is another file for us, if it is there. */
static int file_cover(const char *path, const char *by)
{
    if (access(path, F_OK) < 0)
        return 0;
    return mount(by, path, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

/* @path is empty for us, if it is there. */
static int spool_cover(const char *path, struct stat *ret_st)
{
    char options[96];

    if (stat(path, ret_st) < 0)
        return errno == ENOENT ? 0 : -errno;
    (void)snprintf(options, sizeof(options), "size=256k,mode=%o,uid=%u,gid=%u",
                   ret_st->st_mode & 07777u, ret_st->st_uid, ret_st->st_gid);
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0 ? -errno
                                                                                        : 0;
}

/* at counts its jobs in a file that its package makes. */
static int sequence_make(const struct stat *st)
{
    static const char path[] = JOBS_AT_DIR "/.SEQ";
    int r = text_put(path, "0\n", 2, "");

    if (r < 0)
        return r;
    return chmod(path, 0600) < 0 || chown(path, st->st_uid, st->st_gid) < 0 ? -errno : 0;
}

static int passwd_cover(uint32_t uid)
{
    cleanup_file struct file passwd = {0};
    char line[128];
    int r = file_read(PASSWD, &passwd);

    (void)snprintf(line, sizeof(line), NAME ":x:%u:%u::/:/bin/sh\n", uid, uid);
    if (r == 0)
        r = text_put(STAGE "/passwd", passwd.text.bytes ? passwd.text.bytes : "", passwd.text.size,
                     line);
    return r < 0 ? r : file_cover(PASSWD, STAGE "/passwd");
}

/* Who may make one is not the question. */
static int lists_cover(void)
{
    int r = text_put(STAGE "/allow", NAME "\n", strlen(NAME "\n"), "");

    if (r == 0)
        r = text_put(STAGE "/deny", "", 0, "");
    if (r == 0)
        r = file_cover("/etc/cron.allow", STAGE "/allow");
    if (r == 0)
        r = file_cover("/etc/cron.deny", STAGE "/deny");
    if (r == 0)
        r = file_cover("/etc/at.allow", STAGE "/allow");
    return r < 0 ? r : file_cover("/etc/at.deny", STAGE "/deny");
}

static int stage_make(uint32_t uid)
{
    struct stat st;
    int r;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=32m,mode=755") < 0)
        return -errno;
    r = passwd_cover(uid);
    if (r == 0)
        r = lists_cover();
    if (r == 0)
        r = spool_cover(JOBS_CRONTABS_DIR, &st);
    if (r == 0)
        r = spool_cover(JOBS_AT_SPOOL_DIR, &st);
    if (r == 0)
        r = spool_cover(JOBS_AT_DIR, &st);
    return r < 0 || access(JOBS_AT_DIR, F_OK) < 0 ? r : sequence_make(&st);
}

/* --- judged ------------------------------------------------------------------------------------
 */

static const struct {
    const char *program, *target;
} kinds[] = {{JOBS_CRONTAB, "crontab"}, {JOBS_AT, "at"}};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static bool is_installed(size_t i)
{
    return access(kinds[i].program, X_OK) == 0;
}

/* What the same uid makes on the stage. */
static struct said *control_try(struct doctor *d)
{
    static const char *const words[] = {"jobs", NULL};
    const struct probe_request req = {
        .door = PROBE_PLAIN, .wall_ms = WALL_MS, .words = words, .prepare = stage_make};
    cleanup_probe struct probe_result result = {0};
    struct said *said;

    if (probe_run(d, &req, &result) >= 0)
        return said_parse(result.output ? result.output : "");
    said = said_parse("");
    (void)snprintf(said->why, sizeof(said->why), "%s", result.why);
    return said;
}

static void on_job(void *arg, const char *path, const char *name, uid_t uid)
{
    (void)name;
    if (uid >= probe_uid(0) && uid <= probe_uid(3))
        doctor_say(arg, DOCTOR_FAIL, "there is %s now, of uid %u", path, uid);
}

static void kind_judge(struct doctor *d, struct doctor_line *l, size_t i,
                       const struct said *control)
{
    const char *target = kinds[i].target;
    const struct said_line *made = said_find(control, "jobs", target);
    const struct said_line *run = said_find(attempts(d, PROBE_NONE), "jobs", target);

    (void)judge_refused(d, l, JUDGE_CONFINED, "jobs", target);
    if (!made || made->verdict != SAID_REACHED)
        doctor_say(l, DOCTOR_UNKNOWN,
                   "unconfined, with a name, the same uid makes no %s either%s%s", target,
                   made || control->why[0] ? ": " : "", made ? made->detail : control->why);
    else
        doctor_say(l, DOCTOR_PASS, "%s: none by three doors (%s), one unconfined", target,
                   run && run->detail[0] ? run->detail : "refused");
}

void check_job_programs(struct doctor *d, struct doctor_line *l)
{
    struct said *control;
    int r;

    if (!is_installed(0) && !is_installed(1)) {
        doctor_say(l, DOCTOR_SKIP, "neither " JOBS_CRONTAB " nor " JOBS_AT " is installed");
        return;
    }
    if (!judge_is_ready(d, l, JUDGE_CONFINED))
        return;
    control = control_try(d);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (is_installed(i))
            kind_judge(d, l, i, control);
        else
            doctor_say(l, DOCTOR_PASS, "%s is not installed", kinds[i].target);
    }
    free(control);
    r = jobs_each(on_job, l);
    if (r < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "/var/spool/cron: %s", strerror(-r));
}
