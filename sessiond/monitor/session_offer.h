/* SPDX-License-Identifier: ISC */
/* session_offer.h - OPENED: what a login is given to join and confine itself with. */
#ifndef ATELIER_SESSION_OFFER_H
#define ATELIER_SESSION_OFFER_H

#include "policy/plan.h"
#include "sessiond/monitor/scope.h"

/* Compile the filter and fill in what is the same for all. Return: 0 or a negative errno. */
int session_offer_init(void);

/**
 * session_offer_send() - Send OPENED
 * @conn:       To the login
 * @session_id: 32 hex digits, borrowed
 * @plan:       Its limits; borrowed
 * @pidfd:      Of the session's init, borrowed
 * @scope:      Borrowed
 *
 * Return: 0 or a negative errno.
 */
int session_offer_send(int conn, const char *session_id, const struct plan *plan, int pidfd,
                       const struct scope *scope);

#endif
