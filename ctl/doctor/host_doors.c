/* SPDX-License-Identifier: ISC */
/* host_doors.c - every way into the host that is not ours is closed to participants. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/facts.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"
#include "ctl/setup/pam.h"
#include "ctl/setup/program.h"
#include "ctl/setup/sshd.h"
#include "ctl/setup/whole.h"

#include "common/banned.h"

#define SSHD_CONFIG "/etc/ssh/sshd_config"
#define MANAGER     "/etc/systemd/system/user@.service.d/atelier.conf"
#define SHELL       ATELIER_PROGRAMS_DIR "/shell"
#define SHELLS      "/etc/shells"
#define SYSTEMCTL_S 30

/* What holds for a login of somebody, Match blocks included. Return: 0, or -1 and it was said. */
static int effective_read(struct doctor_line *l, const char *name, struct text *ret)
{
    cleanup_text struct text output = {0};
    cleanup_free char *login = text_format("user=%s,host=198.51.100.99,addr=198.51.100.99", name);
    int r = sshd_run(ARGV(SSHD_PROGRAM, "-T", "-C", login), &output);

    if (r == 0) {
        *ret = text_take(&output);
        return 0;
    }
    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, SSHD_PROGRAM ": %s", strerror(-r));
    } else {
        cleanup_free char *why = program_why(r, &output);

        doctor_say(l, DOCTOR_UNKNOWN, "sshd -T: %s", why);
    }
    return -1;
}

void check_host_sshd(struct doctor *d, struct doctor_line *l)
{
    cleanup_text struct text effective = {0};
    cleanup_text struct text places = {0};
    char name[32] = "nobody";
    size_t matches;
    FILE *out;

    if (access(SSHD_PROGRAM, X_OK) < 0) {
        doctor_say(l, DOCTOR_SKIP, "there is no " SSHD_PROGRAM);
        return;
    }
    (void)facts_participant(d, name);
    if (effective_read(l, name, &effective) < 0)
        return;
    if (!sshd_denies(&effective, GROUP_ALL_USERS))
        doctor_say(l, DOCTOR_FAIL, "sshd -T for the login of %s has no \"denygroups %s\"", name,
                   GROUP_ALL_USERS);
    if (!sshd_uses_pam(&effective))
        doctor_say(l, DOCTOR_FAIL, "sshd does not ask PAM (UsePAM no)");
    out = text_begin(&places);
    matches = sshd_match_denials(SSHD_CONFIG, out);
    text_end(&places, out);
    if (matches > 0)
        doctor_say(l, DOCTOR_WARN, "DenyGroups in a Match block replaces ours for its logins: %s",
                   places.bytes);
    doctor_say(l, DOCTOR_PASS, "sshd -T for the login of %s: denygroups %s, usepam yes", name,
               GROUP_ALL_USERS);
}

void check_pam(struct doctor *d, struct doctor_line *l)
{
    (void)d;
    if (pam_profile_is_in_force())
        doctor_say(l, DOCTOR_PASS, "/etc/pam.d/common-account denies uids %u to %u", ID_NET_MIN,
                   ID_NET_MAX);
    else
        doctor_say(l, DOCTOR_FAIL, "/etc/pam.d/common-account has no rule of ours");
}

static void service_say(void *arg, const char *service)
{
    doctor_say(arg, DOCTOR_WARN, "/etc/pam.d/%s lets people in without it", service);
}

void check_pam_services(struct doctor *d, struct doctor_line *l)
{
    int r = pam_services_unasked(service_say, l);

    (void)d;
    if (r < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "/etc/pam.d: %s", strerror(-r));
    else
        doctor_say(l, DOCTOR_PASS, "all that authenticate come to common-account");
}

void check_user_manager(struct doctor *d, struct doctor_line *l)
{
    cleanup_file struct file now = {0};
    cleanup_file struct file shipped = {0};
    cleanup_text struct text paths = {0};

    (void)d;
    if (!facts_has_systemd()) {
        doctor_say(l, DOCTOR_SKIP, "systemd is not the init of this host");
        return;
    }
    if (file_read(ATELIER_DATA_DIR "/user@.conf", &shipped) < 0 || !shipped.text.bytes)
        doctor_say(l, DOCTOR_UNKNOWN, ATELIER_DATA_DIR "/user@.conf cannot be read");
    else if (file_read(MANAGER, &now) < 0 || !now.text.bytes)
        doctor_say(l, DOCTOR_FAIL, MANAGER " is missing");
    else if (!whole_is_there(&now.text, &shipped.text))
        doctor_say(l, DOCTOR_FAIL, MANAGER " does not say what ours says");
    else if (program_run(
                 ARGV("/usr/bin/systemctl", "show", "--property=DropInPaths", "user@10000.service"),
                 SYSTEMCTL_S, &paths) != 0)
        doctor_say(l, DOCTOR_UNKNOWN, "systemctl show user@10000.service failed");
    else if (!strstr(paths.bytes, MANAGER))
        doctor_say(l, DOCTOR_FAIL, "systemd does not read " MANAGER);
    else
        doctor_say(l, DOCTOR_PASS, "user@10000.service is refused by " MANAGER);
}

/* A program that counts as a login shell opens doors: chsh(1), ftpd(8), su(1) with -s. */
void check_shells(struct doctor *d, struct doctor_line *l)
{
    cleanup_file struct file shells = {0};
    struct line line = {0};
    struct stat st;
    int r = file_read(SHELLS, &shells);

    (void)d;
    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, SHELLS ": %s", strerror(-r));
        return;
    }
    while (line_next(&shells.text, &line)) {
        if (line.size == strlen(SHELL) && memcmp(line.start, SHELL, line.size) == 0)
            doctor_say(l, DOCTOR_FAIL, SHELLS ":%zu: %s", line.number, SHELL);
    }
    if (lstat(SHELL, &st) < 0)
        doctor_say(l, DOCTOR_FAIL, SHELL ": %s", strerror(errno));
    else if (!S_ISREG(st.st_mode) || st.st_uid != 0 ||
             st.st_mode & (S_IWGRP | S_IWOTH | S_ISUID | S_ISGID))
        doctor_say(l, DOCTOR_FAIL, SHELL " has owner %u and mode %04o", st.st_uid,
                   st.st_mode & 07777u);
    doctor_say(l, DOCTOR_PASS, SHELL " is root's, and not in " SHELLS);
}
