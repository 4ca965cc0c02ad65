/* SPDX-License-Identifier: ISC */
/*
 * core.h - core.sock: one api at a time, a table of requests, and what each is allowed to be.
 *
 * The peer must be the owner of the registry directory. A message that is not exactly what
 * common/wire.h says, or comes before HELLO, closes the connection; with it end its runs and the
 * password lock.
 */
#ifndef ATELIER_CORE_H
#define ATELIER_CORE_H

#include <stdbool.h>

#include "common/wire.h"
#include "sessiond/monitor/monitor.h"

/**
 * core_new() - Serve a listening socket
 * @m:         Monitor, borrowed
 * @listen_fd: From LISTEN_FDS, borrowed
 *
 * Return: 0 or a negative errno. m->core is set.
 */
int core_new(struct monitor *m, int listen_fd);

/* Close the connection (ending its runs) and stop listening. */
void core_free(struct core *core);

/* Is there an api that has greeted? */
bool core_is_up(const struct core *core);

/**
 * core_send() - Queue a message for the api
 * @head: First member of a complete message; version is filled in here
 *
 * Without a connection it is dropped. An api that does not read for too long loses the connection.
 */
void core_send(struct core *core, struct wire_head *head);

/* What STATUS says, but for its head. */
void core_status(const struct monitor *m, struct wire_status *ret_status);

#endif
