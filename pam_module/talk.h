/* SPDX-License-Identifier: ISC */
/* talk.h - one connection to one of the daemons, with a time limit over everything said on it. */
#ifndef ATELIER_PAM_TALK_H
#define ATELIER_PAM_TALK_H

#include <stddef.h>
#include <stdint.h>

#include "common/fd.h"

struct talk {
    int sock;            /* SEQPACKET, close-on-exec, non-blocking, never 0, 1 or 2; -1: closed */
    int64_t deadline_ms; /* CLOCK_MONOTONIC */
};

#define TALK_CLOSED ((struct talk){.sock = -1})

/**
 * talk_open() - Connect to a daemon
 * @path:       Of its socket, borrowed
 * @timeout_ms: For the connection and all that follows, together
 * @ret_talk:   The connection; talk_close() it
 *
 * Return: 0, -ETIMEDOUT, -ENAMETOOLONG for the path, or the negative errno of socket(2) and
 * connect(2).
 */
int talk_open(const char *path, int timeout_ms, struct talk *ret_talk);

/* Start a new time limit: the same connection, the next question. */
void talk_limit(struct talk *t, int timeout_ms);

/**
 * talk_send() - Send one packet
 *
 * Return: 0, -ETIMEDOUT, or a negative errno (-EPIPE, -ECONNRESET: the daemon is gone).
 */
int talk_send(const struct talk *t, const void *msg, size_t size);

/**
 * talk_recv() - Wait for one packet
 * @buf:       Room for @size bytes
 * @ret_n:     Length of the packet, never 0
 * @ret_extra: Descriptors with it; msg_extra_done() closes what is not taken
 *
 * Return: 0, -ETIMEDOUT, -ECONNRESET when the daemon closed the connection, -EMSGSIZE for a packet
 * that is too long, or a negative errno.
 */
int talk_recv(const struct talk *t, void *buf, size_t size, size_t *ret_n,
              struct msg_extra *ret_extra);

void talk_close(struct talk *t);

#endif
