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
    const char *name;
    uint32_t id;
};

/* One look-up with a buffer of this size. 1, 0, or negative; -ERANGE asks for a larger one. */
typedef int (*probe_fn)(const struct wanted *w, char *buf, size_t size);

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

    return nss_verdict(error, found != NULL);
}

static int probe_group_nss(const struct wanted *w, char *buf, size_t size)
{
    struct group gr, *found = NULL;
    int error = w->name ? getgrnam_r(w->name, &gr, buf, size, &found)
                        : getgrgid_r(w->id, &gr, buf, size, &found);

    return nss_verdict(error, found != NULL);
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
        if (w->name ? strcmp(pw.pw_name, w->name) == 0 : pw.pw_uid == w->id)
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
        if (w->name ? strcmp(gr.gr_name, w->name) == 0 : gr.gr_gid == w->id)
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

static int probe_all(const char *name, uint32_t id)
{
    static const probe_fn probes[] = {
        probe_passwd_file,
        probe_group_file,
        probe_passwd_nss,
        probe_group_nss,
    };
    const struct wanted by_name = {.name = name}, by_id = {.id = id};

    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        int r = name ? probe(probes[i], &by_name) : 0;

        if (r == 0 && id != 0)
            r = probe(probes[i], &by_id);
        if (r != 0)
            return r;
    }
    return 0;
}

int hostcheck_taken(void *arg, const char *name, uint32_t id)
{
    const struct hostcheck *check = arg;
    int r = name || id != 0 ? probe_all(name, id) : 0;

    if (r != 0)
        return r;
    /* After the probes: they can block for longer than the lock is ours. */
    return clock_mono_ms() > check->deadline_ms ? -ETIMEDOUT : 0;
}
