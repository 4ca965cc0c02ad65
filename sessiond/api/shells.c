/* SPDX-License-Identifier: ISC */
/* shells.c - which programs are login shells of this host. */
#include "sessiond/api/shells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#include "common/banned.h"

/* One path a line, from its first character on; what follows a blank or a '#' is not of it. */
static bool line_is(const char *line, const char *shell)
{
    size_t len = strcspn(line, " \t\r\n#");

    return len == strlen(shell) && strncmp(line, shell, len) == 0;
}

int shells_has(const char *file, const char *shell, bool *ret_has)
{
    FILE *f = fopen(file, "re");
    cleanup_free char *line = NULL;
    size_t size = 0;
    bool has = false;
    int r = 0;

    if (!f)
        return -errno;
    errno = 0;
    while (!has && getline(&line, &size, f) >= 0)
        has = shell[0] == '/' && line_is(line, shell);
    if (!has && !feof(f))
        r = errno ? -errno : -EIO;
    (void)fclose(f);
    if (r == 0)
        *ret_has = has;
    return r;
}
