/* SPDX-License-Identifier: ISC */
/* init.h - PID 1 of a run: builds the rest of its tree, starts the payload, reaps, reports. */
#ifndef ATELIER_INIT_H
#define ATELIER_INIT_H

#include "sessiond/monitor/spawn_wire.h"
#include "sessiond/monitor/spawner.h"

/**
 * init_main() - Be PID 1 of a run
 * @setup: Filter and texts, read-only
 * @req:   Whose run
 * @fds:   enum spawn_fd, owned
 *
 * Should: bind its life to the spawner's before anything else; leave uid 0 in place (a change of
 * credentials would disarm the death signal, PR_SET_PDEATHSIG(2const)); give up every capability
 * once the payload exists.
 * Must not: return; start the payload when any step failed.
 */
_Noreturn void init_main(const struct spawner_setup *setup, const struct spawn_request *req,
                         int fds[SPAWN_FD_COUNT], const int *tree_fds);

#endif
