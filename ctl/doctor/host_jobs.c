/* SPDX-License-Identifier: ISC */
/*
 * host_jobs.c - is there anything that cron or at would run as a participant?
 *
 * Either would run it outside of everything. Their programs are out of reach inside
 * (attack_jobs.c), and the daemons ask PAM before they run a job, which denies it; but a crontab
 * that an administrator has made, or that was there before, should not be there at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/jobs.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/pam.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

#define PAM_DIR  "/etc/pam.d"
#define GETENT_S 30

static int spool_each(const char *place, bool is_named,
                      void (*one)(void *arg, const char *path, const char *name, uid_t uid),
                      void *arg)
{
    DIR *dir = opendir(place);
    struct dirent *e;
    int r = 0;

    if (!dir)
        return errno == ENOENT ? 0 : -errno;
    for (errno = 0; (e = readdir(dir)); errno = 0) {
        struct stat st;
        char path[512];

        /* .SEQ of at, and what crontab has not yet renamed */
        if (e->d_name[0] == '.' || strncmp(e->d_name, "tmp.", 4) == 0 ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", place, e->d_name);
        one(arg, path, is_named ? e->d_name : NULL, st.st_uid);
    }
    if (errno != 0)
        r = -errno;
    (void)closedir(dir);
    return r;
}

int jobs_each(void (*one)(void *arg, const char *path, const char *name, uid_t uid), void *arg)
{
    int r = spool_each(JOBS_CRONTABS_DIR, true, one, arg);

    return r < 0 ? r : spool_each(JOBS_AT_DIR, false, one, arg);
}

struct look {
    struct doctor_line *line;
    struct text users; /* of the registry, as passwd lines */
    bool has_users;
    size_t count;
};

/* Is this the name of somebody in the registry? cron goes by the file's name, and takes root's. */
static bool is_user(struct look *look, const char *name)
{
    struct line unused;
    uint32_t id;
    int r;

    if (!look->has_users) {
        look->has_users = true;
        r = program_run(ARGV("/usr/bin/getent", "-s", "atelier", "passwd"), GETENT_S, &look->users);
        /* 2: it lists nobody. */
        if (r != 0 && r != 2)
            doctor_say(look->line, DOCTOR_UNKNOWN, "getent -s atelier passwd: %s",
                       r < 0 ? strerror(-r) : "failed");
    }
    return look->users.bytes && account_find(&look->users, name, &id, &unused) == 0;
}

static void on_job(void *arg, const char *path, const char *name, uid_t uid)
{
    struct look *look = arg;

    look->count++;
    if (uid >= ID_NET_MIN && uid <= ID_NET_MAX)
        doctor_say(look->line, DOCTOR_FAIL, "%s is of uid %u", path, uid);
    else if (name && is_user(look, name))
        doctor_say(look->line, DOCTOR_FAIL, "%s is the crontab of a participant", path);
}

/* Daemons that would run one. */
static const struct {
    const char *program, *service;
} daemons[] = {{"/usr/sbin/cron", "cron"}, {"/usr/sbin/atd", "atd"}};

/* Return: those that are installed, for a sentence; static, NULL if there is none. */
static const char *daemons_judge(struct doctor_line *l)
{
    static const char *const texts[] = {NULL, "cron asks", "atd asks", "cron and atd ask"};
    unsigned there = 0;

    for (unsigned i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++) {
        if (access(daemons[i].program, X_OK) < 0)
            continue;
        there |= 1u << i;
        if (pam_lets_in_unasked(PAM_DIR, daemons[i].service))
            doctor_say(l, DOCTOR_FAIL,
                       PAM_DIR "/%s does not come to common-account: it would run "
                               "a job of a participant",
                       daemons[i].service);
    }
    return texts[there];
}

void check_jobs(struct doctor *d, struct doctor_line *l)
{
    struct look look = {.line = l};
    const char *asks = daemons_judge(l);
    int r = jobs_each(on_job, &look);

    (void)d;
    text_done(&look.users);
    if (r < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "/var/spool/cron: %s", strerror(-r));
    else if (!asks && look.count == 0)
        doctor_say(l, DOCTOR_SKIP, "neither cron nor at is installed");
    else
        doctor_say(l, DOCTOR_PASS, "of %zu crontabs and jobs none is a participant's; %s%s",
                   look.count, asks ? asks : "neither daemon is installed",
                   asks ? " PAM, by common-account" : "");
}
