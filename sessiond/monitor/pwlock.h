/* SPDX-License-Identifier: ISC */
/*
 * pwlock.h - the host's password lock, held for the api while it allocates an id.
 *
 * useradd, groupadd and passwd take an fcntl lock on /etc/.pwd.lock (lckpwdf(3)). Holding it means
 * that no local account appears between our check and our commit. The api may not open the file;
 * sessiond takes the lock for it, waits for WAIT at most, and gives it back by itself after HOLD.
 * Between two holds it is left alone for as long as the first one was, so that an api which asks
 * all the time cannot keep useradd out.
 */
#ifndef ATELIER_PWLOCK_H
#define ATELIER_PWLOCK_H

#include <event2/event.h>

#define PWLOCK_WAIT_MS 2000
#define PWLOCK_HOLD_MS 1000

enum pwlock_result {
    PWLOCK_TAKEN,
    PWLOCK_BUSY, /* somebody else had it for all of PWLOCK_WAIT_MS, or it could not be opened */
    PWLOCK_LOST, /* PWLOCK_HOLD_MS are over */
};

typedef void (*pwlock_fn)(void *arg, enum pwlock_result result);

struct pwlock;

/* Return: the lock, to release with pwlock_free(), or NULL when out of memory. */
struct pwlock *pwlock_new(struct event_base *base, pwlock_fn fn, void *arg);
void pwlock_free(struct pwlock *lock);

/* Ask for it; fn is called with TAKEN or BUSY, later with LOST if it was held too long. */
void pwlock_take(struct pwlock *lock);

/* Give it back, or stop waiting; fine if neither holds. */
void pwlock_drop(struct pwlock *lock);

#endif
