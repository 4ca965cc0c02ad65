/* SPDX-License-Identifier: ISC */
/*
 * index_write.h - put the index file of NSS in place.
 *
 * Three steps, so that a COMMIT fits between them: index_write() leaves a complete, fsynced
 * temporary file; index_rename() makes it the index; index_sweep() removes it instead. @dir_fd is
 * the directory of the index, owned by the effective user.
 */
#ifndef ATELIER_INDEX_WRITE_H
#define ATELIER_INDEX_WRITE_H

#include <stdbool.h>

#include "registry/index_image.h"

#define INDEX_TMP_NAME ".index.tmp"
#define INDEX_MODE     0644

/**
 * index_write() - Write INDEX_TMP_NAME, mode 0644, and fsync it
 *
 * An older temporary file is replaced.
 *
 * Return: 0 or a negative errno, and then the temporary file is gone.
 */
int index_write(int dir_fd, const struct index_image *image);

/* Rename INDEX_TMP_NAME to INDEX_FILE_NAME and fsync the directory. Return: 0 or -errno. */
int index_rename(int dir_fd);

/* Remove INDEX_TMP_NAME if it is there. Return: 0 or a negative errno. */
int index_sweep(int dir_fd);

/* Remove the files of version 1 if they are there. Return: 0 or a negative errno. */
int index_sweep_old(int dir_fd);

/**
 * index_is_current() - Is the index there, as NSS asks it to be, with these bytes?
 *
 * Return: false also if the file is missing or cannot be read.
 */
bool index_is_current(int dir_fd, const struct index_image *image);

#endif
