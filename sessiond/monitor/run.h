/* SPDX-License-Identifier: ISC */
/*
 * run.h - the life of a run in the root process.
 *
 *   CANARY --holds--> SPAWNING --ready, receipt--> RUNNING --init reaped--> gone
 *      |                 |                            |
 *      +-- RUN_FAILED    +-- RUN_FAILED when reaped   +-- RUN_ENDED
 *
 * Each start request is answered by exactly one of RUN_FAILED and RUN_ENDED, when nothing of the
 * run is left; RUN_STARTED comes before RUN_ENDED.
 */
#ifndef ATELIER_RUN_H
#define ATELIER_RUN_H

#include <stdbool.h>

#include "common/fd.h"
#include "common/wire.h"
#include "sessiond/monitor/monitor.h"

/* Who asked for a run and is told of it; outlives its runs, or has them killed. */
struct run_owner {
    void (*tell)(void *arg, struct wire_head *msg); /* RUN_STARTED, RUN_FAILED, RUN_ENDED */
    void *arg;
    bool is_doctor; /* uids of the doctor's alone, with a home that goes with the run */
};

/**
 * run_start() - Check a request and begin
 * @m:     Monitor
 * @owner: Borrowed; tags are its own
 * @msg:   The request as received, its size already checked; copied
 * @extra: Its descriptors; taken if the run begins
 *
 * Answers by itself in every case.
 */
void run_start(struct monitor *m, const struct run_owner *owner, const struct wire_run_start *msg,
               struct msg_extra *extra);

/* Kill by tag; RUN_ENDED (or RUN_FAILED) follows. A tag that nobody has is fine: it just ended. */
void run_kill(struct monitor *m, const struct run_owner *owner, uint32_t tag);

/* Kill every run of a user; each is answered as by run_kill(). */
void run_kill_user(struct monitor *m, uint32_t uid);

/* Is there a run that relies on the network rules? */
bool run_any_public(const struct monitor *m);

/* The rules do not hold: end every run that relies on them. Those that wait for the canary hear
 * from it themselves. */
void run_kill_public(struct monitor *m);

/* Who asked is gone: kill every run of it, tell nobody. */
void run_kill_all(struct monitor *m, const struct run_owner *owner);

/* How many it has. */
uint32_t run_count_of(const struct monitor *m, const struct run_owner *owner);

#endif
