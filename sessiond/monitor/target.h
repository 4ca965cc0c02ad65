/* SPDX-License-Identifier: ISC */
/* target.h - an address and port that the canary and its control both try. */
#ifndef ATELIER_TARGET_H
#define ATELIER_TARGET_H

#include <stddef.h>

#include "sessiond/monitor/spawn_wire.h"

/**
 * target_connect() - Begin a TCP connection without waiting
 * @t:      Where to
 * @ret_fd: The socket, or -1; set in every case, owned by the caller
 *
 * Return: 0 connected at once, -EINPROGRESS, or the negative errno that ended it.
 */
int target_connect(const struct probe_target *t, int *ret_fd);

/* "127.0.0.1" or "::1", for messages. @size of INET6_ADDRSTRLEN is enough. */
void target_text(const struct probe_target *t, char *buf, size_t size);

#endif
