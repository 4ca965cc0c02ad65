/* SPDX-License-Identifier: ISC */
/* child.h - the process that becomes the user and then the program. */
#ifndef ATELIER_CHILD_H
#define ATELIER_CHILD_H

#include "sessiond/monitor/spawn_wire.h"
#include "sessiond/monitor/spawner.h"

/**
 * child_main() - Take the steps from init's child to the user's program
 *
 * Must not: return; pass a step that failed; reach exec (or the probe's loop) before the monitor
 * has read the receipt and said "go".
 */
_Noreturn void child_main(const struct spawner_setup *setup, const struct spawn_request *req,
                          int fds[SPAWN_FD_COUNT]);

/* Send REPORT_FAILED and exit; shared by the init and its child (init.c). */
_Noreturn void run_step_failed(int sock, enum wire_step step, int error, const char *what);

/* The canary's side of a round (canary_probe.c). Serves until its socket closes. */
_Noreturn void probe_main(int sock);

#endif
