/* SPDX-License-Identifier: ISC */
/*
 * doctor.h - `atelier doctor` at session.sock: throw-away participants who attack this host.
 *
 * One at a time, root's only. What it starts are runs and sessions like all others, by the same
 * path: policy, plan, canary, spawner, control group, filter, rules, receipt. It chooses one of a
 * few uids that are in no registry, the network, the time, and the arguments of one program. The
 * api knows nothing of it, and no record of it is written but in the log.
 *
 *   GREETING (session_door.c) --DOCTOR--> at work --PROBE...--> connection or process gone: all of
 *   it is killed
 */
#ifndef ATELIER_DOCTOR_H
#define ATELIER_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/wire.h"
#include "sessiond/monitor/monitor.h"

/**
 * doctor_begin() - Take a connection over that said DOCTOR
 * @m:    Monitor
 * @conn: Taken in every case
 * @pid:  Its peer
 *
 * Answers by itself.
 */
void doctor_begin(struct monitor *m, int conn, pid_t pid);

/* Is this a uid whose session needs nobody's leave now? */
bool doctor_has_uid(const struct monitor *m, uint32_t uid);

/* What the api would have said of a session of such a uid. */
void doctor_allow(uint32_t uid, struct wire_session_answer *ret_answer);

#endif
