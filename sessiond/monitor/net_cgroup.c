/* SPDX-License-Identifier: ISC */
/* net_cgroup.c - a control group as a network rule names it. */
#include "sessiond/monitor/net_cgroup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/str.h"

#include "common/banned.h"

#define PATH_SIZE 4096

/* Is @path @dir, or below it? What is left is in *ret_rest. */
static bool is_below(const char *path, const char *dir, const char **ret_rest)
{
    size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

    if (strncmp(path, dir, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return false;
    *ret_rest = path + n;
    return true;
}

/*
 * One line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELDS...] - TYPE ...
 * Source: proc(5). A path with a blank in it is escaped there, and cannot be in a rule.
 */
static bool is_tree(char *line, const char **ret_root, const char **ret_point)
{
    const char *fields[6] = {0}, *type;
    char *rest = line, *dash = strstr(line, " - ");

    if (!dash)
        return false;
    type = dash + 3;
    *dash = '\0';
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        fields[i] = strsep(&rest, " ");
    if (!fields[5] || strncmp(type, "cgroup2 ", 8) != 0)
        return false;
    *ret_root = fields[3];
    *ret_point = fields[4];
    return true;
}

/* The last line that has it counts: it lies above those before. */
static int path_find(const char *dir, char *ret_path, size_t size)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    cleanup_free char *line = NULL;
    size_t room = 0;
    int r = -ENODEV;

    if (!f)
        return -errno;
    while (getline(&line, &room, f) > 0) {
        const char *root, *point, *rest;

        if (!is_tree(line, &root, &point) || !is_below(dir, point, &rest))
            continue;
        if (strncmp(root, "/..", 3) == 0)
            r = -EINVAL; /* above the root of our namespace */
        else
            r = (size_t)snprintf(ret_path, size, "%s%s", strcmp(root, "/") == 0 ? "" : root, rest) <
                        size
                    ? 0
                    : -ENAMETOOLONG;
    }
    if (r == 0 && ferror(f))
        r = -EIO;
    (void)fclose(f);
    return r;
}

int net_cgroup_find(const char *dir, char ret_path[NETRULES_CGROUP_SIZE], uint64_t *ret_id)
{
    cleanup_free char *real = realpath(dir, NULL);
    char path[PATH_SIZE];
    struct stat st;
    int r;

    if (!real || stat(real, &st) < 0)
        return -errno;
    r = path_find(real, path, sizeof(path));
    if (r < 0)
        return r;
    if (path[0] != '/' || netrules_cgroup_fault(path + 1))
        return -EINVAL;
    r = str_copy(ret_path, NETRULES_CGROUP_SIZE, path + 1);
    if (r < 0)
        return r;
    *ret_id = st.st_ino;
    return 0;
}
