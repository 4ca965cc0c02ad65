/* SPDX-License-Identifier: ISC */
/*
 * lock.h - one at a time under the password lock of the host, which sessiond takes for us.
 *
 * Names and ids are given out while nobody else (useradd, adduser, packages) can give them out.
 * The lock is ours for a second at most, so a job that finds itself late fails.
 */
#ifndef ATELIER_API_LOCK_H
#define ATELIER_API_LOCK_H

#include <stdint.h>

#include "common/wire.h"

struct app;
struct lock_queue;

/* sessiond takes the lock away after 1000 ms; what is not decided by then is refused. */
#define LOCK_HELD_MS 900

/**
 * lock_fn - Do the work
 * @got: 0: the lock is held until this returns; -EBUSY: somebody else has it; -ENOTCONN: sessiond
 *       is gone
 * @deadline_ms: clock_mono_ms() after which nothing may be decided any more
 */
typedef void (*lock_fn)(void *arg, int got, int64_t deadline_ms);

int lock_queue_new(struct app *app, struct lock_queue **ret_q);
/* No job may be left: lock_queue_down() first. */
void lock_queue_free(struct lock_queue *q);

/**
 * lock_queue_add() - Run @fn under the lock, after all that were added before
 *
 * @fn is called exactly once, always from the loop, never from here.
 *
 * Return: 0, -ENOTCONN, -ENOMEM; then @fn is not called.
 */
int lock_queue_add(struct lock_queue *q, lock_fn fn, void *arg);

/* Called by the line to sessiond. */
void lock_queue_event(struct lock_queue *q, enum wire_type type);
void lock_queue_down(struct lock_queue *q);

#endif
