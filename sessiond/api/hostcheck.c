/* SPDX-License-Identifier: ISC */
/* hostcheck.c - is a name or id taken by anybody on this host? */
#include "sessiond/api/hostcheck.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sessiond/api/clock.h"

#include "common/banned.h"

/* A group with a thousand members fits into the first; the last is the most we wait for. */
#define BUFFER_FIRST ((size_t)16 << 10)
#define BUFFER_LAST  ((size_t)4 << 20)

/* What is looked for: the name if there is one, else the id. */
struct wanted {
    const struct hostcheck *check;
    const char *name;
    uint32_t id;
};

/* One look-up with a buffer of this size. 1, 0, or negative; -ERANGE asks for a larger one. */
typedef int (*probe_fn)(const struct wanted *w, char *buf, size_t size);

/* --- entries --- */

/* The adopted account itself. */
static bool user_is_adopted(const struct hostcheck *check, const struct passwd *pw)
{
    const struct host_account *a = &check->adopted;

    return a->name[0] && strcmp(pw->pw_name, a->name) == 0 && pw->pw_uid == a->uid &&
           pw->pw_gid == a->gid;
}

/* Its private group; userdel(8) takes both away. */
static bool group_is_adopted(const struct hostcheck *check, const struct group *gr)
{
    const struct host_account *a = &check->adopted;

    return a->name[0] && strcmp(gr->gr_name, a->name) == 0 && gr->gr_gid == a->gid;
}

static bool user_is_wanted(const struct wanted *w, const struct passwd *pw)
{
    if (w->name ? strcmp(pw->pw_name, w->name) != 0 : pw->pw_uid != w->id)
        return false;
    return !user_is_adopted(w->check, pw);
}

static bool group_is_wanted(const struct wanted *w, const struct group *gr)
{
    if (w->name ? strcmp(gr->gr_name, w->name) != 0 : gr->gr_gid != w->id)
        return false;
    return !group_is_adopted(w->check, gr);
}

/* --- sources --- */

/*
 * glibc returns 0 with no result when the sources say "no such entry". Everything else is a
 * source that could not answer, ENOENT included (getXXbyYY_r.c: the errno of a source that is
 * unavailable), and then nothing is known.
 */
static int nss_verdict(int error, bool is_found)
{
    if (is_found)
        return 1;
    return error == 0 ? 0 : -error;
}

static int probe_passwd_nss(const struct wanted *w, char *buf, size_t size)
{
    struct passwd pw, *found = NULL;
    int error = w->name ? getpwnam_r(w->name, &pw, buf, size, &found)
                        : getpwuid_r(w->id, &pw, buf, size, &found);

    return nss_verdict(error, found && user_is_wanted(w, found));
}

static int probe_group_nss(const struct wanted *w, char *buf, size_t size)
{
    struct group gr, *found = NULL;
    int error = w->name ? getgrnam_r(w->name, &gr, buf, size, &found)
                        : getgrgid_r(w->id, &gr, buf, size, &found);

    return nss_verdict(error, found && group_is_wanted(w, found));
}

static void file_close(FILE **f)
{
    if (*f)
        (void)fclose(*f);
}

static int probe_passwd_file(const struct wanted *w, char *buf, size_t size)
{
    __attribute__((cleanup(file_close))) FILE *f = fopen("/etc/passwd", "re");
    struct passwd pw, *entry;
    int error;

    if (!f)
        return -errno;
    while ((error = fgetpwent_r(f, &pw, buf, size, &entry)) == 0) {
        if (user_is_wanted(w, &pw))
            return 1;
    }
    return error == ENOENT ? 0 : -error; /* ENOENT: end of file (getpwent_r(3)) */
}

static int probe_group_file(const struct wanted *w, char *buf, size_t size)
{
    __attribute__((cleanup(file_close))) FILE *f = fopen("/etc/group", "re");
    struct group gr, *entry;
    int error;

    if (!f)
        return -errno;
    while ((error = fgetgrent_r(f, &gr, buf, size, &entry)) == 0) {
        if (group_is_wanted(w, &gr))
            return 1;
    }
    return error == ENOENT ? 0 : -error;
}

static int probe(probe_fn fn, const struct wanted *w)
{
    int r = -ERANGE;

    for (size_t size = BUFFER_FIRST; r == -ERANGE && size <= BUFFER_LAST; size *= 4) {
        cleanup_free char *buf = malloc(size);

        if (!buf)
            return -ENOMEM;
        r = fn(w, buf, size);
    }
    return r;
}

static int probe_both(const struct hostcheck *check, probe_fn passwd, probe_fn group,
                      const char *name, uint32_t id)
{
    const struct wanted by_name = {.check = check, .name = name};
    const struct wanted by_id = {.check = check, .id = id};
    int r = 0;

    if (name)
        r = probe(passwd, &by_name);
    if (r == 0 && name)
        r = probe(group, &by_name);
    if (r == 0 && id != 0)
        r = probe(passwd, &by_id);
    if (r == 0 && id != 0)
        r = probe(group, &by_id);
    return r;
}

int hostcheck_files(const struct hostcheck *check, const char *name, uint32_t id)
{
    return probe_both(check, probe_passwd_file, probe_group_file, name, id);
}

int hostcheck_nss(const struct hostcheck *check, const char *name, uint32_t id)
{
    return probe_both(check, probe_passwd_nss, probe_group_nss, name, id);
}

int hostcheck_taken(void *arg, const char *name, uint32_t id)
{
    const struct hostcheck *check = arg;
    int r = hostcheck_files(check, name, id);

    if (r == 0)
        r = hostcheck_nss(check, name, id);
    if (r != 0)
        return r;
    /* After the probes: they can block for longer than the lock is ours. */
    return clock_mono_ms() > check->deadline_ms ? -ETIMEDOUT : 0;
}

/* --- adoption --- */

int hostcheck_adopt(struct hostcheck *check, const char *name)
{
    __attribute__((cleanup(file_close))) FILE *f = fopen("/etc/passwd", "re");
    cleanup_free char *buf = malloc(BUFFER_LAST);
    struct host_account a = {0};
    struct passwd pw, *entry;
    int error;

    if (!f)
        return -errno;
    if (!buf)
        return -ENOMEM;
    while ((error = fgetpwent_r(f, &pw, buf, BUFFER_LAST, &entry)) == 0) {
        if (strcmp(pw.pw_name, name) != 0)
            continue;
        if (a.name[0])
            return -ENOTUNIQ;
        a.uid = pw.pw_uid;
        a.gid = pw.pw_gid;
        if (str_copy(a.name, sizeof(a.name), name) < 0)
            return -ENAMETOOLONG;
    }
    if (error != ENOENT)
        return -error;
    if (!a.name[0])
        return -ENOENT;
    check->adopted = a;
    return 0;
}
