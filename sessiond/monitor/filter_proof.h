/* SPDX-License-Identifier: ISC */
/*
 * filter_proof.h - which filter has a process? The kernel gives the program back.
 *
 * PTRACE_SECCOMP_GET_FILTER tells root of the program that seccomp(2) was given, of a process that
 * is traced and stopped. The process stands at its stop point anyway, in read(2) or poll(2), which
 * go on as if nothing had been. Nothing here waits for it: it has to be scheduled to stop, and who
 * shares its processor is another participant's business.
 *
 *   begin    attach and ask for a stop; whatever is read from /proc next is read meanwhile
 *   finish   if it has stopped: read, let go, tell. Else look again, by a timer
 *
 * The process of a proof cannot be reaped by anybody else before it was let go, and the init of a
 * run does not end before its processes are reaped: whoever begins a proof finishes or cancels it
 * before it waits for anything. One that nobody wants any more lives on until the process is free.
 *
 * Where the kernel does not have this call (CONFIG_CHECKPOINT_RESTORE), or does not let us use it
 * (a filter on sessiond itself, Yama's scope 3), that is found out once, at the start, with a child
 * of our own. Then every receipt says "loaded"; it is never decided anew for a single process.
 */
#ifndef ATELIER_FILTER_PROOF_H
#define ATELIER_FILTER_PROOF_H

#include <event2/event.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/wire.h"
#include "policy/filter.h"

struct filter_proof;

/* @result: 0; -EBADMSG, another program than ours; or another -errno: it could not be found out. */
typedef void (*filter_proof_fn)(void *arg, int result);

/* Which program a profile has; @insns is borrowed for good. */
void filter_proof_program(enum filter_profile profile, const struct sock_filter *insns,
                          size_t count);

/**
 * filter_proof_init() - Find out whether this kernel gives a program back
 * @base: Borrowed for good
 *
 * Forks a child for a moment, which loads the program of FILTER_RUN.
 *
 * Return: 0; -EBADMSG, another program came back; or a negative errno.
 */
int filter_proof_init(struct event_base *base);

/* What the proofs of this host are worth. */
enum wire_filter_how filter_proof_how(void);

/**
 * filter_proof_begin() - Attach to a process that stands still
 * @pid:       On the host; its newest filter is the one that is asked for
 * @profile:   Which one it should be
 * @ret_proof: To be finished or cancelled; NULL where nothing is given back
 *
 * Return: 0 or a negative errno. From here on the number is not given to another process; whether
 * it was the right one before, the caller has to find out now.
 */
int filter_proof_begin(pid_t pid, enum filter_profile profile, struct filter_proof **ret_proof);

/**
 * filter_proof_finish() - Tell as soon as it is known
 * @proof: Taken; may be NULL, then the result is 0
 * @fn:    Called once: before this returns, or later, unless the proof is cancelled first. The
 *         process goes on when it is called
 *
 * The caller forgets @proof when @fn is called.
 */
void filter_proof_finish(struct filter_proof *proof, filter_proof_fn fn, void *arg);

/* Nobody wants to know any more; NULL is fine. */
void filter_proof_cancel(struct filter_proof *proof);

/* Fill filter_how and filter_sha256, of a process for which the result was 0. */
void filter_proof_fill(enum filter_profile profile, struct wire_receipt *r);

#endif
