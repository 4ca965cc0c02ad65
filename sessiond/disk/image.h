/* SPDX-License-Identifier: ISC */
/*
 * image.h - the home of a user as a file system of its own, in one sparse file.
 *
 * One at a time for each user: whoever calls these holds the user's lock (image_lock()).
 */
#ifndef ATELIER_DISK_IMAGE_H
#define ATELIER_DISK_IMAGE_H

#include <stdint.h>
#include <sys/stat.h>

#include "common/image.h"
#include "common/str.h"

struct image {
    uint32_t uid;
    char name[NAME_SIZE];
    int dir_fd;   /* IMAGE_DIR */
    int homes_fd; /* ATELIER_HOMES_DIR */
    int lock_fd;
    char file[24];        /* "UID.img" */
    char fresh[24];       /* ".UID.new", an image that is not whole yet */
    char said[256];       /* of a program that failed, for ret_what */
    const char *ret_what; /* of the last failure, static or said */
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

/* --- for those who make an image otherwise ------------------------------------------------- */

/* An image that is mounted nowhere yet; it goes with the descriptors. */
struct image_mount {
    int loop;  /* the device */
    int mount; /* the mount */
    int root;  /* what is in it */
};

#define IMAGE_MOUNT_NONE ((struct image_mount){.loop = -1, .mount = -1, .root = -1})

void image_mount_done(struct image_mount *m);
#define cleanup_image_mount __attribute__((cleanup(image_mount_done)))

/**
 * image_fresh() - Make an empty image in im->fresh, in place of one that is there
 * @bytes, @files: As for image_up()
 * @ret_m:         IMAGE_MOUNT_NONE before; image_mount_done() releases it in any case
 *
 * Return: descriptor of the file, or a negative errno.
 */
int image_fresh(struct image *im, uint64_t bytes, uint64_t files, struct image_mount *ret_m);

/**
 * image_mount_file() - Look after an image, and mount it nowhere yet
 * @file:     im->file or im->fresh
 * @image_fd: The same, open for reading and writing
 * @bytes:    Its least size
 * @ret_m:    As above
 *
 * Return: 0 or a negative errno.
 */
int image_mount_file(struct image *im, const char *file, int image_fd, uint64_t bytes,
                     struct image_mount *ret_m);

/* Give im->fresh its name, durably: from here on it is the user's home. Return: 0 or -errno. */
int image_name(struct image *im);

/* The home as it is seen now. Return: descriptor or a negative errno. */
int image_home(const struct image *im, struct stat *ret_st);

/* Make the place of the image, if it is not there, durably. Return: 0 or -errno. */
int image_place(struct image *im);

#endif
