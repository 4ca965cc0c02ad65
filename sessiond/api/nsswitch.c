/* SPDX-License-Identifier: ISC */
/* nsswitch.c - look-ups of this process go to the sources of NSS themselves. */
#include "sessiond/api/nsswitch.h"

#include <errno.h>
#include <nss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#include "common/banned.h"

#define BLANKS " \t"
/* What libc does without a line, or without a file (nss/nss_database.c). */
#define SOURCES_DEFAULT "files"

/* "passwd: files atelier # why": what is behind the colon of a line of this database; or NULL. */
static char *sources_of(char *line, const char *database)
{
    size_t len = strlen(database);

    line[strcspn(line, "#\r\n")] = '\0';
    line += strspn(line, BLANKS);
    if (strncmp(line, database, len) != 0)
        return NULL;
    line += len;
    line += strspn(line, BLANKS);
    return *line == ':' ? line + 1 : NULL;
}

/* The last line counts. Return: 0 or a negative errno. */
static int sources_read(const char *path, const char *database, char **ret_sources)
{
    FILE *f = fopen(path, "re");
    cleanup_free char *line = NULL, *found = strdup(SOURCES_DEFAULT);
    size_t size = 0;
    int r = found ? 0 : -ENOMEM;

    if (!f && errno != ENOENT)
        return -errno;
    while (f && r == 0 && getline(&line, &size, f) >= 0) {
        const char *sources = sources_of(line, database);

        if (!sources)
            continue;
        free(found);
        found = strdup(sources);
        if (!found)
            r = -ENOMEM;
    }
    if (f && r == 0 && ferror(f))
        r = -EIO;
    if (f)
        (void)fclose(f);
    if (r < 0)
        return r;
    *ret_sources = found;
    found = NULL;
    return 0;
}

int nsswitch_direct(const char *path)
{
    static const char *const databases[] = {"passwd", "group"};

    for (size_t i = 0; i < sizeof(databases) / sizeof(databases[0]); i++) {
        cleanup_free char *sources = NULL;
        int r = sources_read(path, databases[i], &sources);

        if (r < 0)
            return r;
        errno = 0;
        if (__nss_configure_lookup(databases[i], sources) < 0)
            return errno ? -errno : -EINVAL;
    }
    return 0;
}
