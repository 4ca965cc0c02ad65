/* SPDX-License-Identifier: ISC */
/* home_archive.h - what becomes of the home of a user who is removed. */
#ifndef ATELIER_CTL_HOME_ARCHIVE_H
#define ATELIER_CTL_HOME_ARCHIVE_H

#include <sys/stat.h>
#include <sys/types.h>

/* Where archives go without a FILE; root's alone. */
#define HOME_ARCHIVES ATELIER_STATE_DIR "/archive"

/**
 * home_stat() - What a home is, no link followed
 * @homes: Parent of the homes
 *
 * Return: 0, -ENOENT if there is none, -ENOTDIR for anything else than a directory, or another
 * errno.
 */
int home_stat(const char *homes, const char *name, struct stat *ret_st);

/* Whose directory it is. Return: as home_stat(). */
int home_owner(const char *homes, const char *name, uid_t *ret_uid);

/**
 * home_archive() - Write a home into a compressed tar file
 * @uid:      Whom it has to belong to
 * @file:     Path of a file that is not there yet; it gets mode 0600, and is on the disk afterwards
 * @ret_why:  On failure a sentence, heap; then there is no such file
 *
 * Owners are stored as numbers; what is mounted below the home is left out.
 *
 * Return: 0 or a negative errno.
 */
int home_archive(const char *homes, const char *name, uid_t uid, const char *file, char **ret_why);

/* Path of a new file in HOME_ARCHIVES, which is made if need be: NAME-UID-MOMENT.tar.gz. Heap.
 * NULL: it has been said why there cannot be one. */
char *home_archive_path(const char *name, uid_t uid);

/**
 * home_remove() - Remove a home and all that is in it
 * @uid:     Whom it has to belong to
 * @ret_why: On failure what could not be removed, heap
 *
 * No link is followed, no mount point is entered. What can be removed is removed.
 *
 * Return: 0 or a negative errno.
 */
int home_remove(const char *homes, const char *name, uid_t uid, char **ret_why);

#endif
