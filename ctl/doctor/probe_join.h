/* SPDX-License-Identifier: ISC */
/* probe_join.h - this process joins a session, as a login's does. */
#ifndef ATELIER_CTL_DOCTOR_PROBE_JOIN_H
#define ATELIER_CTL_DOCTOR_PROBE_JOIN_H

#include <stdint.h>

/**
 * probe_join() - OPEN, join, LEASE
 * @uid:      A uid of the doctor's
 * @ret_conn: The connection; CLOSE is said by probe_leave()
 * @ret_step: On failure: which step, static
 *
 * Changes the calling process for ever: it is root, and confined.
 *
 * Return: 0 or a negative errno; -EACCES: sessiond denied it.
 */
int probe_join(uint32_t uid, int *ret_conn, const char **ret_step);

void probe_leave(int conn);

#endif
