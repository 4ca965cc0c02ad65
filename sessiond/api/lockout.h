/* SPDX-License-Identifier: ISC */
/*
 * lockout.h - end what a user has when they are locked or their time is over.
 *
 * The order: the state is stored, so that nothing new begins; then the runs are marked, so that
 * they end as `locked` and not as cancelled; then sessiond is told to kill. sessiond ends what
 * runs, what is being built, and the logins that stand in open_session.
 */
#ifndef ATELIER_API_LOCKOUT_H
#define ATELIER_API_LOCKOUT_H

#include <stdint.h>

struct app;
struct lockout;

/* Looks at each expiry, and every 30 seconds. */
int lockout_new(struct app *app, struct lockout **ret_lockout);
void lockout_free(struct lockout *lockout);

/**
 * lockout_user() - End every run and session of a user
 *
 * Call when the new state is stored. Without sessiond the runs are gone, and the sessions are
 * looked at when it is back.
 */
void lockout_user(struct app *app, uint32_t uid);

/**
 * lockout_look() - End what belongs to those who may not have it any more
 *
 * Of all who have a run or a session; also whoever is in the registry no longer.
 */
void lockout_look(struct lockout *lockout);

/* Somebody's expiry was set: wait for the first one anew. */
void lockout_rearm(struct lockout *lockout);

#endif
