/* SPDX-License-Identifier: ISC */
/*
 * backup_file.h - copies between the registry's directory and a file of root.
 *
 * The api alone opens the registry; it leaves a copy in its directory, or takes one from there, and
 * we carry it between that directory and the admin's file. The directory belongs to the api's user,
 * whom root does not believe: nothing in it is opened through a link, and nothing is written but
 * into a new file.
 */
#ifndef ATELIER_CTL_BACKUP_FILE_H
#define ATELIER_CTL_BACKUP_FILE_H

#include <stdint.h>

#include "ctl/exit.h"

#define REGISTRY ATELIER_STATE_DIR "/registry"

/**
 * registry_lock() - Open the registry's directory, for one backup or restore at a time
 * @patience_s: How long to wait for another one; 0: not at all
 *
 * The two copies in it have names that all calls share.
 *
 * Return: a descriptor that holds the lock, -EBUSY, or another errno.
 */
int registry_lock(unsigned patience_s);

/* Say what registry_lock() returned. Return: the exit code. */
enum ctl_exit registry_lock_say(int error);

/**
 * backup_take() - Copy a file out of a directory that belongs to somebody else
 * @dir:    Borrowed
 * @name:   Must be a regular file with one link that belongs to the directory's owner
 * @bytes:  Its size; no more than that is read, however it grows
 * @target: Where to write; borrowed
 *
 * Return: 0, -EPERM if it is no such file or nearly all of it is a hole, -EIO for another size, or
 * another errno.
 */
int backup_take(int dir, const char *name, uint64_t bytes, int target);

/**
 * bytes_copy() - Copy a file that must have exactly so many bytes left
 *
 * Return: 0, -EIO if it has more (they are not copied) or fewer, or another errno.
 */
int bytes_copy(int from, int to, uint64_t bytes);

/**
 * backup_put() - Make a file in a directory that belongs to somebody else, who then owns it
 * @name:   What has this name is removed first
 * @source: What to read, to its end; borrowed
 *
 * It gets mode 0600 and is on the disk afterwards; on failure it is not there.
 *
 * Return: 0 or a negative errno.
 */
int backup_put(int dir, const char *name, int source);

/* fsync the directory of a path, which may be relative. Return: 0 or a negative errno. */
int parent_sync(const char *path);

#endif
