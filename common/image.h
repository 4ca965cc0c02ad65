/* SPDX-License-Identifier: ISC */
/* image.h - what sessiond, atelier-image and the atelier command know of the images of homes. */
#ifndef ATELIER_IMAGE_H
#define ATELIER_IMAGE_H

/* Root's, 0700: UID.img, UID.lock while somebody works on it, and UID.move while a home that is a
 * directory becomes an image. */
#define IMAGE_DIR     ATELIER_STATE_DIR "/disk"
#define IMAGE_PROGRAM ATELIER_PROGRAMS_DIR "/atelier-image"

/* Beside a home that has become an image: the directory that it was, until root has removed it. */
#define IMAGE_OLD_PREFIX ".old-"

/* What atelier-image says when it holds a home, and what it is then told on standard input. */
#define IMAGE_HELD "held\n"
#define IMAGE_GO   "go\n"

/* Exit codes of atelier-image; those of sysexits(3) besides. */
enum image_exit {
    IMAGE_DONE = 0,
    IMAGE_FAILED = 1,
    IMAGE_NONE = 3,      /* there is no image */
    IMAGE_DIRECTORY = 4, /* the home is a directory, and stays one */
    IMAGE_BUSY = 5,      /* somebody uses it */
};

#endif
