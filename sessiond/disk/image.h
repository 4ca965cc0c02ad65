/* SPDX-License-Identifier: ISC */
/*
 * image.h - the home of a user as a file system of its own, in one sparse file.
 *
 * One at a time for each user: whoever calls these holds the user's lock (image_lock()).
 */
#ifndef ATELIER_DISK_IMAGE_H
#define ATELIER_DISK_IMAGE_H

#include <stdint.h>

#include "common/image.h"
#include "common/str.h"

struct image {
    uint32_t uid;
    char name[NAME_SIZE];
    int dir_fd;   /* IMAGE_DIR */
    int homes_fd; /* ATELIER_HOMES_DIR */
    int lock_fd;
    char file[24];        /* "UID.img" */
    const char *ret_what; /* of the last failure, static */
};

/* Open the directories, make that of the images, wait for the lock. Return: 0 or -errno. */
int image_lock(struct image *im);
void image_unlock(struct image *im);

/**
 * image_up() - Mount the home; make its image if there is none
 * @bytes: 0: only one that exists is mounted, as it is. Else its least size; it never shrinks, and
 *         grows only while it is not mounted
 * @files: Of a new one
 *
 * Return: 0; -ENODATA (there is none); -EEXIST (the home is a directory); or another negative
 * errno. What was mounted already is fine.
 */
int image_up(struct image *im, uint64_t bytes, uint64_t files);

/* Unmount it, and give the blocks that are free in it back. Return: 0, -EBUSY, or -errno. */
int image_down(struct image *im);

/* Unmount it whoever uses it, and remove it with all that is in it. Return: 0 or -errno. */
int image_remove(struct image *im);

#endif
