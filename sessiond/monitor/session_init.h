/* SPDX-License-Identifier: ISC */
/* session_init.h - PID 1 of a session: builds the rest of its tree, reaps, ends with the login. */
#ifndef ATELIER_SESSION_INIT_H
#define ATELIER_SESSION_INIT_H

#include "sessiond/monitor/spawn_wire.h"
#include "sessiond/monitor/spawner.h"

/**
 * session_init_main() - Be PID 1 of a session
 * @setup: Texts, read-only
 * @req:   Whose session
 * @fds:   enum spawn_session_fd, owned
 *
 * Should: end when the login's process does, whoever else lives: it watches that process itself.
 * Must not: return; outlive the monitor before it said "go"; die with it after; change its
 * credentials; keep a descriptor that leads into the host's tree.
 */
_Noreturn void session_init_main(const struct spawner_setup *setup, const struct spawn_request *req,
                                 const int fds[SPAWN_SESSION_FD_COUNT], const int *tree_fds);

#endif
