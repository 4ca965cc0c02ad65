/* SPDX-License-Identifier: ISC */
/* group.c - control groups for the programs of tests/kernel: where, what in them, and away again.
 */
#include "tests/kernel/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define PREFIX "atelier-kernel-%d-"

/* What groups are made with, and so where groups_clean() looks; the first is version 2 itself. */
static const char *const controllers[] = {NULL, "memory", "pids", "cpu", "cpuacct", "freezer"};
#define CONTROLLERS (sizeof(controllers) / sizeof(controllers[0]))

/* --- places --------------------------------------------------------------------------------- */

struct place {
    char path[512];
    int version;
};

/* The mount point of version 2, or of a controller in version 1; "" if there is none. */
static void mount_point(const char *controller, char ret_path[256], char ret_root[256])
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char line[2048], point[256], root[256], options[256], type[32];

    ret_path[0] = '\0';
    while (f && fgets(line, sizeof(line), f)) {
        char *rest = strstr(line, " - "), *option, *save = NULL;

        if (!rest || sscanf(line, "%*s %*s %*s %255s %255s", root, point) != 2 ||
            sscanf(rest, " - %31s %*s %255s", type, options) != 2)
            continue;
        if (!controller && strcmp(type, "cgroup2") == 0) {
            (void)snprintf(ret_path, 256, "%s", point);
            (void)snprintf(ret_root, 256, "%s", root);
        }
        if (!controller || strcmp(type, "cgroup") != 0)
            continue;
        for (option = strtok_r(options, ",", &save); option; option = strtok_r(NULL, ",", &save))
            if (strcmp(option, controller) == 0) {
                (void)snprintf(ret_path, 256, "%s", point);
                (void)snprintf(ret_root, 256, "%s", root);
            }
    }
    if (f)
        (void)fclose(f);
}

/* The group of version 1 that we are in, from the top of its tree. */
static void own_group(const char *controller, char ret_path[256])
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[1024], names[256], path[256];

    ret_path[0] = '\0';
    while (f && fgets(line, sizeof(line), f)) {
        char *name, *save = NULL;

        if (sscanf(line, "%*[^:]:%255[^:]:%255[^\n]", names, path) != 2)
            continue;
        for (name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save))
            if (strcmp(name, controller) == 0)
                (void)snprintf(ret_path, 256, "%s", path);
    }
    if (f)
        (void)fclose(f);
}

static bool has_word(const char *path, const char *word)
{
    char text[512], *name, *save = NULL;

    if (!file_read(path, text, sizeof(text)))
        return false;
    for (name = strtok_r(text, " \n", &save); name; name = strtok_r(NULL, " \n", &save))
        if (strcmp(name, word) == 0)
            return true;
    return false;
}

/* @controller: NULL for a group of version 2 whatever its controllers. Return: is there one? */
static bool place_find(const char *controller, struct place *ret)
{
    char point[256], root[256] = "", own[256], file[512];

    mount_point(NULL, point, root);
    (void)snprintf(file, sizeof(file), "%s/cgroup.subtree_control", point);
    if (point[0] && (!controller || has_word(file, controller))) {
        (void)snprintf(ret->path, sizeof(ret->path), "%s", point);
        ret->version = 2;
        return true;
    }
    if (!controller)
        return false;
    mount_point(controller, point, root);
    own_group(controller, own);
    /* Of a tree that is mounted from a group on, this one is the top. */
    if (strcmp(root, "/") != 0)
        own[0] = '\0';
    (void)snprintf(ret->path, sizeof(ret->path), "%s%s", point, own);
    ret->version = 1;
    return point[0] != '\0' && access(ret->path, W_OK) == 0;
}

/* Below a directory, groups with our prefix; below those, all. */
static bool remove_below(const char *path, const char *prefix)
{
    DIR *dir = opendir(path);
    bool all_gone = true;

    for (struct dirent *d; dir && (d = readdir(dir)) != NULL;) {
        char below[PATH_MAX], state[PATH_MAX + 16];

        if (d->d_type != DT_DIR || d->d_name[0] == '.' ||
            strncmp(d->d_name, prefix, strlen(prefix)) != 0)
            continue;
        (void)snprintf(below, sizeof(below), "%s/%s", path, d->d_name);
        (void)remove_below(below, "");
        (void)snprintf(state, sizeof(state), "%s/freezer.state", below);
        if (access(state, W_OK) == 0) /* who is frozen does not die */
            (void)file_write(state, "THAWED");
        if (rmdir(below) < 0 && errno != ENOENT)
            all_gone = false;
    }
    if (dir)
        (void)closedir(dir);
    return all_gone;
}

void groups_clean(void)
{
    char prefix[64];

    (void)snprintf(prefix, sizeof(prefix), PREFIX, program_pid);
    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct place place;

        /* What was in them has just been killed. */
        for (int tries = 0; place_find(controllers[i], &place) && tries < 200; tries++) {
            if (remove_below(place.path, prefix))
                break;
            pause_ms(10);
        }
    }
}

/* --- groups --------------------------------------------------------------------------------- */

const char *group_file(const struct group *g, const char *file)
{
    static char path[700];

    (void)snprintf(path, sizeof(path), "%s/%s", g->path, file);
    return path;
}

/* Whether a group with it would be found again. */
static bool is_cleaned(const char *controller)
{
    for (size_t i = 1; controller && i < CONTROLLERS; i++) {
        if (strcmp(controller, controllers[i]) == 0)
            return true;
    }
    return !controller;
}

bool group_make(const char *controller, struct group *ret)
{
    static int number;
    struct place place;

    SETUP(is_cleaned(controller));
    if (!place_find(controller, &place))
        return false;
    ret->version = place.version;
    (void)snprintf(ret->path, sizeof(ret->path), "%s/" PREFIX "%d", place.path, program_pid,
                   number++);
    return mkdir(ret->path, 0755) == 0;
}

void group_below(const struct group *g, struct group *ret)
{
    int n = snprintf(ret->path, sizeof(ret->path), "%s/below", g->path);

    SETUP(n > 0 && (size_t)n < sizeof(ret->path));
    ret->version = g->version;
    SETUP(mkdir(ret->path, 0755) == 0);
}

/* Without making the file: there it would be another error. */
int group_write(const struct group *g, const char *file, const char *text)
{
    int fd = open(group_file(g, file), O_WRONLY | O_CLOEXEC), err = 0;

    if (fd < 0)
        return errno;
    if (write(fd, text, strlen(text)) < 0)
        err = errno;
    (void)close(fd);
    return err;
}

void group_limit(const struct group *g, const char *file1, const char *file2, unsigned long value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%lu", value);
    SETUP(group_write(g, g->version == 1 ? file1 : file2, text) == 0);
}

int group_join(const struct group *g)
{
    return group_write(g, "cgroup.procs", "0");
}

unsigned long group_number(const struct group *g, const char *file, const char *name)
{
    char text[1024];
    const char *at = text;

    SETUP(file_read(group_file(g, file), text, sizeof(text)));
    if (name) {
        size_t len = strlen(name);

        while (at && (strncmp(at, name, len) != 0 || at[len] != ' ')) {
            at = strchr(at, '\n');
            at = at ? at + 1 : NULL;
        }
        SETUP(at != NULL);
        at += len;
    }
    return strtoul(at, NULL, 10);
}

bool group_has(const struct group *g, pid_t pid)
{
    char path[64], text[2048];

    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
    SETUP(file_read(path, text, sizeof(text)));
    return strstr(text, strrchr(g->path, '/')) != NULL;
}
