/* SPDX-License-Identifier: ISC */
/* home_image.h - homes that are images, for root on the host: sessiond mounts them only for use. */
#ifndef ATELIER_CTL_HOME_IMAGE_H
#define ATELIER_CTL_HOME_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Is the home of this user an image? @ret_st: of its file; may be NULL. */
bool home_image_is(uid_t uid, struct stat *ret_st);

/* Mount it where the home is. Return: 0, or -EIO with a sentence in @ret_why, heap. */
int home_image_open(uid_t uid, const char *name, char **ret_why);

/* Remove it, with all that is in it. Return: 0, or -EIO with a sentence in @ret_why, heap. */
int home_image_remove(uid_t uid, const char *name, char **ret_why);

#endif
