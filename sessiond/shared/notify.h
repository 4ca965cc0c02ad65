/* SPDX-License-Identifier: ISC */
/*
 * notify.h - what a daemon tells the service manager: readiness, its end, and that it still turns.
 *
 * The protocol is that of sd_notify(3) and sd_watchdog_enabled(3): datagrams of NAME=VALUE lines to
 * the socket in NOTIFY_SOCKET. Without a service manager everything here does nothing.
 */
#ifndef ATELIER_SESSIOND_NOTIFY_H
#define ATELIER_SESSIOND_NOTIFY_H

#include <stdint.h>

/**
 * notify_init() - Take over what the environment says, once, before anything is forked
 *
 * Unsets NOTIFY_SOCKET, WATCHDOG_PID and WATCHDOG_USEC: a child that inherited them could speak for
 * this process. Opens one descriptor, close-on-exec, so that a process that is out of descriptors
 * can still say that it lives. A value that cannot be right counts as not set.
 */
void notify_init(void);

/* Tell the service manager, e.g. "READY=1"; several lines are one message. Failure is nobody's
 * problem. */
void notify_send(const char *state);

/* Every how many milliseconds "WATCHDOG=1" is due: half of what is allowed. 0: nobody watches. */
uint32_t notify_watchdog_ms(void);

#endif
