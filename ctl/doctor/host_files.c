/* SPDX-License-Identifier: ISC */
/* host_files.c - owners and modes of what is ours: homes, registry, index, secrets, sockets. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/doctor/checks.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/file.h"

#include "common/banned.h"

#define PERMISSIONS 07777u

/* Numbers of the daemon's account and groups. */
struct owners {
    uint32_t user, group, callers;
};

/* Return: false, and it was said: there are none, so that nothing can be right. */
static bool owners_find(struct owners *ret, struct doctor_line *l)
{
    cleanup_file struct file passwd = {0};
    cleanup_file struct file group = {0};

    if (file_read("/etc/passwd", &passwd) < 0 || file_read("/etc/group", &group) < 0 ||
        account_find(&passwd.text, "atelier", &ret->user, NULL) < 0 ||
        account_find(&group.text, "atelier", &ret->group, NULL) < 0 ||
        account_find(&group.text, "atelier-api", &ret->callers, NULL) < 0) {
        doctor_say(l, DOCTOR_FAIL, "the user atelier, or a group of ours, is missing");
        return false;
    }
    return true;
}

struct wanted {
    mode_t type, mode;
    uint32_t uid, gid;
};

/* Return: whether it is as wanted; else it was said. */
static bool is_as_wanted(const char *path, const struct wanted *w, struct doctor_line *l)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        doctor_say(l, DOCTOR_FAIL, "%s: %s", path, strerror(errno));
    else if ((st.st_mode & S_IFMT) != w->type)
        doctor_say(l, DOCTOR_FAIL, "%s is of another kind (%06o)", path, st.st_mode);
    else if ((st.st_mode & PERMISSIONS) != w->mode || st.st_uid != w->uid || st.st_gid != w->gid)
        doctor_say(l, DOCTOR_FAIL, "%s has owner %u:%u and mode %04o instead of %u:%u and %04o",
                   path, st.st_uid, st.st_gid, st.st_mode & PERMISSIONS, w->uid, w->gid, w->mode);
    else if (w->type == S_IFREG && st.st_nlink != 1)
        doctor_say(l, DOCTOR_FAIL, "%s has %ju links", path, (uintmax_t)st.st_nlink);
    else
        return true;
    return false;
}

void check_homes(struct doctor *d, struct doctor_line *l)
{
    static const struct wanted directory = {S_IFDIR, 0700, 0, 0};

    (void)d;
    if (is_as_wanted(ATELIER_HOMES_DIR, &directory, l))
        doctor_say(l, DOCTOR_PASS, ATELIER_HOMES_DIR " is root's alone (0700)");
}

/* Every file of a directory: nobody but its owner may read it. */
static void secrets_look(const char *path, const struct owners *o, struct doctor_line *l,
                         size_t *ret_count)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", path, strerror(errno));
        return;
    }
    while ((entry = readdir(dir))) {
        struct stat st;

        if (entry->d_name[0] == '.')
            continue;
        /* SQLite's files come and go. */
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno != ENOENT)
                doctor_say(l, DOCTOR_UNKNOWN, "%s/%s: %s", path, entry->d_name, strerror(errno));
            continue;
        }
        ++*ret_count;
        if (!S_ISREG(st.st_mode) || st.st_uid != o->user || st.st_mode & (S_IRWXG | S_IRWXO))
            doctor_say(l, DOCTOR_FAIL, "%s/%s has owner %u and mode %06o", path, entry->d_name,
                       st.st_uid, st.st_mode);
    }
    (void)closedir(dir);
}

void check_registry_files(struct doctor *d, struct doctor_line *l)
{
    struct owners o;
    size_t count = 0;

    (void)d;
    if (!owners_find(&o, l))
        return;
    if (!is_as_wanted(ATELIER_STATE_DIR, &(struct wanted){S_IFDIR, 0755, 0, 0}, l) ||
        !is_as_wanted(ATELIER_STATE_DIR "/registry",
                      &(struct wanted){S_IFDIR, 0700, o.user, o.group}, l) ||
        !is_as_wanted(ATELIER_STATE_DIR "/ledger", &(struct wanted){S_IFDIR, 0700, o.user, o.group},
                      l))
        return;
    secrets_look(ATELIER_STATE_DIR "/registry", &o, l, &count);
    secrets_look(ATELIER_STATE_DIR "/ledger", &o, l, &count);
    doctor_say(l, DOCTOR_PASS, "registry and ledger: %zu files, all atelier's alone", count);
}

void check_index_file(struct doctor *d, struct doctor_line *l)
{
    struct owners o;

    (void)d;
    if (!owners_find(&o, l))
        return;
    if (is_as_wanted(ATELIER_STATE_DIR "/nss", &(struct wanted){S_IFDIR, 0755, o.user, o.group},
                     l) &&
        is_as_wanted(ATELIER_STATE_DIR "/nss/index",
                     &(struct wanted){S_IFREG, 0644, o.user, o.group}, l))
        doctor_say(l, DOCTOR_PASS,
                   ATELIER_STATE_DIR "/nss/index is one file of atelier's, mode 0644");
}

void check_host_keys(struct doctor *d, struct doctor_line *l)
{
    static const char key[] = ATELIER_SYSCONF_DIR "/atelier/ssh_host_ed25519_key";

    (void)d;
    if (is_as_wanted(ATELIER_SYSCONF_DIR "/atelier", &(struct wanted){S_IFDIR, 0755, 0, 0}, l) &&
        is_as_wanted(key, &(struct wanted){S_IFREG, 0600, 0, 0}, l))
        doctor_say(l, DOCTOR_PASS, "%s is root's alone (0600)", key);
}

void check_sockets(struct doctor *d, struct doctor_line *l)
{
    struct owners o;
    size_t well = 0;

    (void)d;
    if (!owners_find(&o, l))
        return;
    const struct {
        const char *path;
        struct wanted wanted;
    } rows[] = {
        {ATELIER_RUN_DIR, {S_IFDIR, 0755, 0, 0}},
        {ATELIER_RUN_DIR "/sessions", {S_IFDIR, 0700, 0, 0}},
        {ATELIER_RUN_DIR "/core.sock", {S_IFSOCK, 0660, 0, o.group}},
        {ATELIER_RUN_DIR "/session.sock", {S_IFSOCK, 0600, 0, 0}},
        {ATELIER_RUN_DIR "/pam.sock", {S_IFSOCK, 0600, 0, 0}},
        {ATELIER_RUN_DIR "/admin.sock", {S_IFSOCK, 0600, 0, 0}},
        {ATELIER_RUN_DIR "/api.sock", {S_IFSOCK, 0660, 0, o.callers}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        well += is_as_wanted(rows[i].path, &rows[i].wanted, l);
    doctor_say(l, DOCTOR_PASS,
               "%zu paths below " ATELIER_RUN_DIR ": owners and modes as they must be", well);
}
