/* SPDX-License-Identifier: ISC */
/* fd.h - descriptors: whole writes, messages with descriptors, kinds of files. */
#ifndef ATELIER_FD_H
#define ATELIER_FD_H

#include <stddef.h>
#include <sys/types.h>

#define FD_PASS_MAX 28

/**
 * fd_write_full() - Write all bytes to a blocking descriptor
 *
 * Return: 0 or a negative errno; after a failure any part may have been written.
 */
int fd_write_full(int fd, const void *buf, size_t size);

/**
 * fd_read_full() - Read until @size bytes or end of file
 * @ret_n: Bytes read, fewer than @size only at end of file
 *
 * Return: 0 or a negative errno.
 */
int fd_read_full(int fd, void *buf, size_t size, size_t *ret_n);

/**
 * file_read_text() - The text of a small file below a directory, of /proc or a control group
 * @dir:  Directory
 * @file: Below it, borrowed
 * @buf:  Room for @size bytes, the last of which is for a NUL; a longer text is cut
 *
 * Return: 0 or a negative errno.
 */
int file_read_text(int dir, const char *file, char *buf, size_t size);

/**
 * msg_send() - Send one packet, with descriptors
 * @sock: SOCK_SEQPACKET socket
 * @fds:  Descriptors to pass, borrowed; may be NULL if @nfds is 0
 * @nfds: At most FD_PASS_MAX
 *
 * Never raises SIGPIPE.
 *
 * Return: 0 or a negative errno (-EAGAIN: the peer's queue is full).
 */
int msg_send(int sock, const void *buf, size_t size, const int *fds, size_t nfds);

/* What msg_recv() got besides the bytes. */
struct msg_extra {
    int fds[FD_PASS_MAX]; /* close-on-exec, owned by the caller */
    size_t nfds;
    pid_t pid; /* sender as the kernel sees it, if SO_PASSCRED is on; else 0 */
    uid_t uid;
};

/**
 * msg_recv() - Receive one packet, with descriptors
 * @sock:      SOCK_SEQPACKET socket
 * @buf:       Room for @size bytes
 * @ret_n:     Length of the packet; 0 at end of connection
 * @ret_extra: Descriptors and credentials; msg_extra_done() closes what is not taken
 *
 * A packet longer than @size, or with more than FD_PASS_MAX descriptors, is -EMSGSIZE and nothing
 * of it is kept.
 *
 * Return: 0 or a negative errno (-EAGAIN: nothing there on a non-blocking socket).
 */
int msg_recv(int sock, void *buf, size_t size, size_t *ret_n, struct msg_extra *ret_extra);

/* Close what is left in @x; a received socket's SO_LINGER cannot make this block. */
void msg_extra_done(struct msg_extra *x);

#endif
