/* SPDX-License-Identifier: ISC */
/*
 * session.h - the life of a session in the root process, and its door session.sock.
 *
 *   GREETING --OPEN--> ASKING --ALLOW--> CANARY --holds--> SPAWNING --ready--> OPENED
 *      |                  |                 |                  |                  |
 *      +------------------+-----------------+------------------+------ DENIED ----+--LEASE, receipt
 *                                                                                 |
 *                        gone <--init reaped-- ENDING <--close, login gone, kill-- LIVE
 *
 * Until it is LIVE a session belongs to the connection and to this process: the end of either is
 * its end. A LIVE session belongs to the login's process alone. Its init watches that process, so
 * the session ends with it even while no sessiond runs; sessiond watches it to write the records,
 * keeps what it needs for that in a file (session_store.h), and finds it again after a restart.
 */
#ifndef ATELIER_SESSION_H
#define ATELIER_SESSION_H

#include <stdbool.h>

#include "common/wire.h"
#include "sessiond/monitor/monitor.h"

/**
 * session_init() - Take over what lives, then serve the door
 * @m:         Monitor with its base, canary and core; borrowed
 * @listen_fd: session.sock, borrowed
 * @ret_what:  On failure: what it is about, static
 *
 * Return: 0 or a negative errno.
 */
int session_init(struct monitor *m, int listen_fd, const char **ret_what);

/* The api's answer to a question. One that nobody asked, or asks no more, is ignored. */
void session_answer(struct monitor *m, const struct wire_session_answer *msg);

/* There is a new api: name every LIVE session, then SESSION_SYNCED. */
void session_announce(struct monitor *m);

/* The api is gone: whoever waits for its answer is denied. The living stay. */
void session_api_gone(struct monitor *m);

/* SESSION_ENDED follows. An id that nobody has is fine: it just ended. */
void session_kill(struct monitor *m, const char *session_id);

/* Every session of a user, and every login of theirs that is on its way. */
void session_kill_user(struct monitor *m, uint32_t uid);

/* Is there a session, or one on its way? */
bool session_any(const struct monitor *m);

/* The network rules stopped to hold: every session relies on them. */
void session_kill_unsafe(struct monitor *m);

/* LIVE ones. */
uint32_t session_count(const struct monitor *m);

#endif
