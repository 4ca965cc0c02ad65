/* SPDX-License-Identifier: ISC */
/*
 * convert.h - a home that is a directory becomes an image.
 *
 * Whoever calls these holds the user's lock (image_lock()).
 */
#ifndef ATELIER_DISK_CONVERT_H
#define ATELIER_DISK_CONVERT_H

#include "sessiond/disk/image.h"

/**
 * convert_home() - Make an image of a home, if its user has nothing that lives
 * @bytes, @files: As for image_up()
 *
 * Says IMAGE_HELD on standard output as soon as nothing starts any more, and goes on when it reads
 * IMAGE_GO: whoever called it knows what lives. An image is done already, and then nothing is said.
 *
 * Return: 0; -ENODATA (there is no home); -ECANCELED (no IMAGE_GO); or another negative errno, and
 * the home is what it was.
 */
int convert_home(struct image *im, uint64_t bytes, uint64_t files);

/* Finish what was interrupted, or take it back. Return: 0 or a negative errno. */
int convert_settle(struct image *im);

#endif
