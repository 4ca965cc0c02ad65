/* SPDX-License-Identifier: ISC */
/* home_image.h - homes that are images, for root on the host: sessiond mounts them only for use. */
#ifndef ATELIER_CTL_HOME_IMAGE_H
#define ATELIER_CTL_HOME_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Is the home of this user an image? @ret_st: of its file; may be NULL. */
bool home_image_is(uid_t uid, struct stat *ret_st);

/**
 * home_image_place() - Whose image is mounted here, when it is mounted
 * @homes: Parent of the homes
 *
 * A place is root's, with the group of the user; it is there before the image and after it, so it
 * leads to what an interrupted removal has left.
 *
 * Return: 0, -ENOENT (no place of an image), or another negative errno.
 */
int home_image_place(const char *homes, const char *name, uid_t *ret_uid);

/* Mount it where the home is. Return: 0, or -EIO with a sentence in @ret_why, heap. */
int home_image_open(uid_t uid, const char *name, char **ret_why);

/* The directory that a home was before it became an image: its name beside it. Heap. */
char *home_image_old(const char *name);

/* Remove what is left of that directory. Return: 0, also if there is none, or a negative errno with
 * a sentence in @ret_why, heap. */
int home_image_old_remove(uid_t uid, const char *name, char **ret_why);

/* Finish a conversion that was interrupted, or take it back; without one it does nothing. Return:
 * 0, or -EIO with a sentence in @ret_why, heap. */
int home_image_settle(uid_t uid, const char *name, char **ret_why);

/* Remove it, with all that is in it. Return: 0, or -EIO with a sentence in @ret_why, heap. */
int home_image_remove(uid_t uid, const char *name, char **ret_why);

#endif
