/* SPDX-License-Identifier: ISC */
/* listen_fds.h - sockets by the protocol of sd_listen_fds(3). */
#ifndef ATELIER_SESSIOND_LISTEN_FDS_H
#define ATELIER_SESSIOND_LISTEN_FDS_H

#include <stddef.h>

/* One socket that the program wants, by its LISTEN_FDNAMES name. */
struct listen_fd {
    const char *name;
    int type; /* SOCK_STREAM or SOCK_SEQPACKET */
    int fd;   /* result */
};

/**
 * listen_fds_take() - Find the named listening sockets among those that were passed
 * @wanted: Names and types; @fd is filled in, close-on-exec and non-blocking
 * @count:  Number of entries
 * @ret_name: On failure: the name that is missing or of the wrong kind, or "LISTEN_FDS"
 *
 * Checks LISTEN_PID, and that each is a listening AF_UNIX socket of the type. Unsets the three
 * variables. Passed sockets that nobody wants are closed.
 *
 * Return: 0, -ENOENT (not passed), -EPROTOTYPE (another kind of socket), -EINVAL (bad variables).
 */
int listen_fds_take(struct listen_fd *wanted, size_t count, const char **ret_name);

#endif
