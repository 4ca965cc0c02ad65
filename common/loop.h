/* SPDX-License-Identifier: ISC */
/*
 * loop.h - block devices that are files.
 *
 * Source: loop(4), linux/loop.h; Documentation/admin-guide/devices.txt of the kernel (major 7, the
 * minor is the number, for lack of partitions).
 */
#ifndef ATELIER_LOOP_H
#define ATELIER_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define LOOP_CONTROL "/dev/loop-control"

/* Is this a loop device, by its number? */
bool loop_is(dev_t dev);

/**
 * loop_has() - Is this the device of this file?
 * @dev:       As st_dev of what is mounted from it
 * @image:     Status of the file
 * @ret_bytes: Size of the device; may be NULL
 *
 * Asked of the kernel by device and inode: paths are others' in another mount namespace.
 *
 * Return: 1, 0, or a negative errno.
 */
int loop_has(dev_t dev, const struct stat *image, uint64_t *ret_bytes);

/**
 * loop_find() - The device of a file, if there is one
 * @ret_dev: Its number
 *
 * Return: descriptor of the device, -ENOENT, or another negative errno.
 */
int loop_find(const struct stat *image, dev_t *ret_dev);

/**
 * loop_attach() - Make a device of a file; it goes when nobody has it open or mounted any more
 * @image_fd: Open for reading and writing
 *
 * Return: descriptor of the device, or a negative errno.
 */
int loop_attach(int image_fd, dev_t *ret_dev);

#endif
