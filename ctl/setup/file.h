/* SPDX-License-Identifier: ISC */
/*
 * file.h - files of the host, read and replaced whole.
 *
 * A file is replaced by rename(2), so that every reader sees the old bytes or the new ones, and so
 * does whoever looks after a crash. Owner, mode and extended attributes of what is replaced are
 * kept.
 */
#ifndef ATELIER_CTL_SETUP_FILE_H
#define ATELIER_CTL_SETUP_FILE_H

#include <sys/stat.h>
#include <time.h>

#include "ctl/setup/text.h"

/* What file_write() leaves behind in a crash, and file_sweep() takes away: no glob of a *.d
 * directory matches it. */
#define FILE_NEW_SUFFIX ".atelier-new"

struct file {
    struct text text; /* without bytes: there is no such file */
    mode_t mode;
    uid_t uid;
    gid_t gid;
    struct timespec mtime;
};

void file_done(struct file *f);
#define cleanup_file __attribute__((cleanup(file_done)))

/**
 * file_read() - Read a whole file
 * @ret: Owned by the caller; that there is none is no error
 *
 * Return: 0, -ELOOP for a symbolic link, -EINVAL for anything else that is not a regular file,
 * -EFBIG, or another errno.
 */
int file_read(const char *path, struct file *ret);

/**
 * file_obstacle() - Why a file could not be replaced without loss
 *
 * Looked for: links of both kinds, an immutable or append-only file or directory, a file system
 * mounted read-only.
 *
 * Return: a sentence's end ("is a symbolic link"), or NULL. Static.
 */
const char *file_obstacle(const char *path);

/**
 * file_write() - Make or replace a file, durably
 * @f: Text, mode, owner; @mtime is set where it is not zero
 *
 * Return: 0 or a negative errno; then the file is as it was.
 */
int file_write(const char *path, const struct file *f);

/* Remove a file, durably; that there is none is no error. Return: 0 or a negative errno. */
int file_remove(const char *path);

/* Remove what an interrupted file_write() left. */
void file_sweep(const char *path);

/* fsync the directory of a path. Return: 0 or a negative errno. */
int file_sync_directory(const char *path);

/* The directory of an absolute path. Heap. */
char *file_directory(const char *path);

#endif
