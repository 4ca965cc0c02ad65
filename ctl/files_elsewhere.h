/* SPDX-License-Identifier: ISC */
/* files_elsewhere.h - files of some UIDs, anywhere on the local file systems of the host. */
#ifndef ATELIER_CTL_FILES_ELSEWHERE_H
#define ATELIER_CTL_FILES_ELSEWHERE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* A file system that is mounted. */
struct mount {
    char *device; /* "8:1" */
    char *root;   /* what of it is mounted, as a path in it */
    char *point;
    char *type;
};

struct mounts {
    struct mount *all;
    size_t used, room;
};

enum mount_kind {
    MOUNT_LOCAL,
    MOUNT_PSEUDO, /* has no files of anybody: proc and the like */
    MOUNT_REMOTE, /* of another host, or answered by a program: it could lie, or never answer */
};

enum mount_kind mount_kind(const char *type);

/**
 * mounts_read() - The mounts that have to be looked at to see each file once
 * @mountinfo:  As /proc/self/mountinfo; source: proc(5)
 * @ret_mounts: mounts_done(). Without pseudo file systems, without what is mounted over, and
 *              without what a larger part of the same file system shows
 *
 * Return: 0, or -EINVAL for a line that makes no sense.
 */
int mounts_read(FILE *mountinfo, struct mounts *ret_mounts);

void mounts_done(struct mounts *mounts);

struct elsewhere {
    const uid_t *uids;
    size_t uid_count;
    const char *const *skips; /* directories that are not looked into; NULL at the end */
    size_t paths_max;         /* of each UID; from then on @path is NULL */

    /* Called for each file that belongs to uids[i]. @path is for people: see tree_path(). */
    void (*found)(void *arg, size_t i, const char *path);
    /* Called for what was not looked at, with the reason. */
    void (*unseen)(void *arg, const char *path, const char *why);
    void *arg;
};

/**
 * files_elsewhere() - Look at every file of every local file system
 *
 * What is in them is for others to choose. The cost is a constant for each file, however deep it
 * lies, and memory is taken for paths_max of them.
 *
 * Return: 0 or a negative errno.
 */
int files_elsewhere(const struct elsewhere *w);

#endif
