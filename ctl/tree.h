/* SPDX-License-Identifier: ISC */
/*
 * tree.h - walk a directory tree that others may have filled, as root.
 *
 * What must hold whatever is in it, also while somebody changes it: no symbolic link is followed,
 * no mount point is crossed (not even of a bind mount), a tree of any depth takes one descriptor,
 * and the way back up leads to where it came from.
 */
#ifndef ATELIER_CTL_TREE_H
#define ATELIER_CTL_TREE_H

#include <sys/stat.h>

struct tree;

struct tree_entry {
    int dir_fd;       /* of the directory that it is in; borrowed */
    const char *name; /* in that directory */
    int fd;           /* of the directory itself for TREE_ENTER, else -1; borrowed */
    struct stat st;   /* as lstat(2) says; nothing for TREE_LEAVE, TREE_BARRIER, TREE_UNREADABLE */
    const struct tree *tree;
};

enum tree_visit {
    TREE_FILE,       /* anything but a directory */
    TREE_ENTER,      /* a directory, before what is in it */
    TREE_LEAVE,      /* the same, afterwards; not after TREE_SKIP */
    TREE_BARRIER,    /* a mount point: it is not looked into */
    TREE_UNREADABLE, /* a directory that cannot be opened; errno says why */
};

#define TREE_SKIP 1 /* answer to TREE_ENTER: leave this directory out */

/* Return: 0 to go on, TREE_SKIP, or a negative errno, which ends the walk. */
typedef int (*tree_fn)(void *arg, enum tree_visit visit, const struct tree_entry *e);

/**
 * tree_walk() - Visit everything below a directory, but not the directory itself
 * @dir_fd: Borrowed
 * @path:   Of that directory, for tree_path(); borrowed
 *
 * Return: 0, what @fn returned, -ESTALE if a directory was moved away meanwhile, or another errno.
 */
int tree_walk(int dir_fd, const char *path, tree_fn fn, void *arg);

/* The path of an entry, for a message. One that is longer than PATH_MAX, which no call takes, ends
 * with "/..." instead: whoever filled the tree must not choose what a message costs. Heap. */
char *tree_path(const struct tree_entry *e);

/**
 * tree_open_absolute() - Open a directory by an absolute path without following a link
 *
 * Return: a descriptor, or a negative errno (-ELOOP, or -ENOTDIR at the end of
 * the path: there is a symbolic link).
 */
int tree_open_absolute(const char *path);

#endif
