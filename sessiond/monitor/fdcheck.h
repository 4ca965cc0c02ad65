/* SPDX-License-Identifier: ISC */
/*
 * fdcheck.h - is a received descriptor what it should be?
 *
 * A run gets pipes and sealed memfds, never a socket (one made by another uid escapes the owner
 * rules), a directory or an O_PATH handle.
 */
#ifndef ATELIER_FDCHECK_H
#define ATELIER_FDCHECK_H

#include <stddef.h>
#include <sys/types.h>

/**
 * fdcheck_pipe_out() - A pipe, open for writing alone; then give it to the user
 *
 * It must belong to the run's user, or /dev/stdout cannot be opened in the run.
 *
 * Return: 0, -EBADF (another kind of file or access mode), or a negative errno.
 */
int fdcheck_pipe_out(int fd, uid_t uid, gid_t gid);

/**
 * fdcheck_memfd() - A memfd with the SEAL, SHRINK, GROW and WRITE seals, of @size_max at most
 *
 * Return: 0, -EBADF, -E2BIG, or a negative errno.
 */
int fdcheck_memfd(int fd, size_t size_max);

#endif
