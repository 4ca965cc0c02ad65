/* SPDX-License-Identifier: ISC */
/*
 * home.h - homes on the host: made once, then touched only by descriptor.
 *
 * ATELIER_HOMES_DIR is root's, 0700: only the mounts that sessiond makes reach what is in it.
 */
#ifndef ATELIER_HOME_H
#define ATELIER_HOME_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * home_init() - Open the parent of the homes and sweep what a crash left half made
 * @ret_what: On failure: what is wrong, static
 *
 * Return: 0, -ENOENT, -EPERM (not root's, or open to others), or a negative errno.
 */
int home_init(const char **ret_what);

/* The parent of the homes, open for reading; borrowed. */
int home_dir(void);

enum home_part {
    HOME_WHOLE, /* for a session */
    HOME_WORK,  /* its directory `work`, for a run */
};

/**
 * home_tree() - Detached mount of a user's home, or of work in it
 * @name:     Checked user name
 * @uid:      Owner that home and work must have
 * @gid:      Group of a new home
 * @is_mount: An image is mounted there; where none is, a mount is refused
 * @ret_tree: Detached mount, nosuid and nodev, for move_mount(2); owned by the caller
 * @ret_what: On failure: which directory, static
 *
 * Makes the home at the first call: as root, 0700, under a temporary name, then given away by
 * descriptor and renamed without replacing anything. Afterwards root only opens `work` below it,
 * following no link and crossing no mount, and looks at the owner.
 *
 * Return: 0, -EPERM (another owner), or a negative errno.
 */
int home_tree(const char *name, uid_t uid, gid_t gid, enum home_part part, bool is_mount,
              int *ret_tree, const char **ret_what);

#endif
