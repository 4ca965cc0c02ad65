/* SPDX-License-Identifier: ISC */
/*
 * step_pam.c - every PAM service of the host's own that includes common-account refuses
 * participants.
 *
 * pam-auth-update(8) decides what goes into common-*, and leaves files alone that somebody edited
 * by hand. So it is tried first on a copy, below /run: what it would do there is the plan, and what
 * it would not do is the refusal. Its own memory (/var/lib/pam) is recorded and brought back as
 * well.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/setup/diff.h"
#include "ctl/setup/pam.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

#define STEP        "pam"
#define PROFILE     "/usr/share/pam-configs/atelier"
#define SERVICES    "/etc/pam.d"
#define ACCOUNT     "/etc/pam.d/common-account"
#define UPDATE      "/usr/sbin/pam-auth-update"
#define TIMEOUT_S   120
#define COPY_PREFIX "/run/atelier-setup."

static const char *const tracked[] = {
    "/etc/pam.d/common-account",
    "/etc/pam.d/common-auth",
    "/etc/pam.d/common-password",
    "/etc/pam.d/common-session",
    "/etc/pam.d/common-session-noninteractive",
    "/var/lib/pam/account",
    "/var/lib/pam/auth",
    "/var/lib/pam/password",
    "/var/lib/pam/session",
    "/var/lib/pam/session-noninteractive",
    "/var/lib/pam/seen",
    NULL,
};

static bool is_in_force(const char *path)
{
    cleanup_file struct file account = {0};
    cleanup_file struct file profile = {0};

    return file_read(path, &account) == 0 && file_read(PROFILE, &profile) == 0 &&
           pam_has_profile(&account.text, &profile.text);
}

/* A copy of all that pam-auth-update reads and writes. Return: 0, or -1 and it was said. */
static int copy_make(const char *root)
{
    static const struct {
        const char *from, *to;
    } copied[] = {
        {"/etc/pam.d", "/etc"},
        {"/var/lib/pam", "/var/lib"},
        {"/usr/share/pam-configs", "/usr/share"},
        {"/var/cache/debconf/config.dat", "/var/cache/debconf"},
    };

    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
        cleanup_free char *to = NULL;

        if (asprintf(&to, "%s%s", root, copied[i].to) < 0)
            say_no_memory();
        if (must_run(ARGV("/usr/bin/mkdir", "-p", "--", to), TIMEOUT_S) < 0 ||
            must_run(ARGV("/usr/bin/cp", "-a", "--", copied[i].from, to), TIMEOUT_S) < 0)
            return -1;
    }
    return 0;
}

static void copy_plan(struct setup *s, const char *root)
{
    cleanup_free char *replace = NULL;
    cleanup_text struct text output = {0};
    bool is_first = true;
    int r;

    /* debconf has a memory, too, and a plan changes nothing. Source: debconf(7). */
    if (asprintf(&replace, "DEBCONF_DB_REPLACE=File{%s/var/cache/debconf/config.dat}", root) < 0)
        say_no_memory();
    r = program_run(
        ARGV("/usr/bin/env", replace, UPDATE, "--root", root, "--package", "--enable", "atelier"),
        TIMEOUT_S, &output);
    for (size_t i = 0; tracked[i] && strncmp(tracked[i], "/etc/", 5) == 0; i++) {
        cleanup_free char *path = NULL;
        cleanup_file struct file now = {0};
        cleanup_file struct file new = {0};

        if (asprintf(&path, "%s%s", root, tracked[i]) < 0)
            say_no_memory();
        if (i == 0 && !is_in_force(path)) {
            cleanup_free char *why = pam_update_complaint(&output);

            refuse(s,
                   "%s: pam-auth-update would not add our profile: %s; bring the file back to what "
                   "pam-auth-update writes (pam-auth-update --force), or add the two account lines "
                   "of " PROFILE " by hand",
                   tracked[i], r < 0 ? strerror(-r) : why);
            return;
        }
        if (file_read(tracked[i], &now) < 0 || file_read(path, &new) < 0 ||
            text_is_same(&now.text, &new.text))
            continue;
        if (is_first)
            plan_say(s, "pam-auth-update --package --enable atelier: every PAM service that "
                        "includes common-account refuses participants");
        is_first = false;
        diff_print(s->out, "      ", tracked[i], &now.text, &new.text);
    }
}

bool pam_profile_is_in_force(void)
{
    return is_in_force(ACCOUNT);
}

int pam_services_unasked(void (*one)(void *arg, const char *service), void *arg)
{
    DIR *dir = opendir(SERVICES);
    struct dirent *d;

    if (!dir)
        return -errno;
    while ((d = readdir(dir))) {
        if (d->d_name[0] == '.' || strncmp(d->d_name, "common-", 7) == 0 ||
            strncmp(d->d_name, "atelier-", 8) == 0 || pam_is_root_only(d->d_name))
            continue;
        if (pam_lets_in_unasked(SERVICES, d->d_name))
            one(arg, d->d_name);
    }
    (void)closedir(dir);
    return 0;
}

static void service_note(void *arg, const char *service)
{
    note_say(arg,
             SERVICES "/%s lets people in without common-account: participants are not refused "
                      "there",
             service);
}

static void pam_plan(struct setup *s)
{
    char root[] = COPY_PREFIX "XXXXXX";
    const char *obstacle = NULL;

    (void)pam_services_unasked(service_note, s);
    if (is_in_force(ACCOUNT))
        return;
    if (access(UPDATE, X_OK) < 0 || access(PROFILE, R_OK) < 0) {
        refuse(s, "%s is missing: install %s again", access(UPDATE, X_OK) < 0 ? UPDATE : PROFILE,
               access(UPDATE, X_OK) < 0 ? "the Debian package libpam-runtime" : "atelier");
        return;
    }
    for (size_t i = 0; tracked[i] && !obstacle; i++) {
        obstacle = file_obstacle(tracked[i]);
        if (obstacle)
            refuse(s, "%s %s", tracked[i], obstacle);
    }
    if (obstacle)
        return;
    if (!mkdtemp(root)) {
        refuse(s, "/run cannot be written to: %s", strerror(errno));
        return;
    }
    if (copy_make(root) == 0)
        copy_plan(s, root);
    else
        s->refusals++;
    (void)program_run(ARGV("/usr/bin/rm", "-rf", "--", root), TIMEOUT_S, NULL);
}

static int pam_apply(struct setup *s)
{
    cleanup_text struct text output = {0};
    cleanup_free char *why = NULL;
    int r;

    if (is_in_force(ACCOUNT)) /* remembered, too, if a crash came between */
        return tracked_after(s, STEP, tracked);
    if (tracked_before(s, STEP, tracked) < 0)
        return -1;
    r = program_run(ARGV(UPDATE, "--package", "--enable", "atelier"), TIMEOUT_S, &output);
    if (tracked_after(s, STEP, tracked) < 0)
        return -1;
    if (r == 0 && is_in_force(ACCOUNT))
        return 0;
    (void)tracked_restore(s, tracked);
    why = pam_update_complaint(&output);
    return step_fail("pam-auth-update did not add our profile: %s", r < 0 ? strerror(-r) : why);
}

static int pam_undo(struct setup *s)
{
    bool is_ours = tracked_are_ours(s, tracked);
    struct entry e;

    if (record_at(&s->record, STEP, 0, &e) == -ENOENT)
        return 0;
    entry_done(&e);
    /* debconf has to forget it as well. */
    if (must_run(ARGV(UPDATE, "--package", "--remove", "atelier"), TIMEOUT_S) < 0)
        return -1;
    if (is_in_force(ACCOUNT))
        return step_fail(ACCOUNT
                         " still refuses participants: pam-auth-update leaves it alone, since it "
                         "was edited by hand; take out the lines of " PROFILE);
    if (!is_ours) {
        note_say(s, "/etc/pam.d/common-* were changed since; pam-auth-update took out our lines");
    } else if (tracked_after(s, STEP, tracked) < 0) {
        return -1;
    }
    return tracked_restore(s, tracked);
}

const struct step step_pam = {STEP, pam_plan, pam_apply, pam_undo};
