/* SPDX-License-Identifier: ISC */
/* image.h - what sessiond, atelier-image and the atelier command know of the images of homes. */
#ifndef ATELIER_IMAGE_H
#define ATELIER_IMAGE_H

/* Root's, 0700: UID.img, and UID.lock while somebody works on it. */
#define IMAGE_DIR     ATELIER_STATE_DIR "/disk"
#define IMAGE_PROGRAM ATELIER_PROGRAMS_DIR "/atelier-image"

/* Exit codes of atelier-image; those of sysexits(3) besides. */
enum image_exit {
    IMAGE_DONE = 0,
    IMAGE_FAILED = 1,
    IMAGE_NONE = 3,      /* there is no image */
    IMAGE_DIRECTORY = 4, /* the home is a directory, and stays one */
    IMAGE_BUSY = 5,      /* somebody uses it */
};

#endif
