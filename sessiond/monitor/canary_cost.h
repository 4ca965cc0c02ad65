/* SPDX-License-Identifier: ISC */
/*
 * canary_cost.h - what the canary costs: rounds, wall and processor time.
 *
 * Three processes work for a round: the probe, the listener, and sessiond. Of the first two the
 * kernel has a clock each; of sessiond what counts lies between cost_own_begin() and
 * cost_own_end(), which do not nest: what a verdict sets off is not the canary's.
 */
#ifndef ATELIER_CANARY_COST_H
#define ATELIER_CANARY_COST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/wire.h"

/* A process of the canary, and what those before it came to. */
struct cost_part {
    pid_t pid; /* 0: none */
    uint64_t seen_us, gone_us;
};

struct canary_cost {
    struct wire_canary_cost sum;
    struct cost_part probe, listener;
    int64_t own_ns;    /* begin of what is counted now; 0: nothing is */
    uint64_t total_ns; /* of sessiond itself */
    int64_t round_us;  /* begin of the round; 0: none */
    uint64_t round_cpu_us;
};

/* From here on this process is meant; 0: none, it has ended, what it came to stays. */
void cost_part_set(struct cost_part *part, pid_t pid);

void cost_own_begin(struct canary_cost *c);
void cost_own_end(struct canary_cost *c);

void cost_round_begin(struct canary_cost *c);
void cost_round_end(struct canary_cost *c);

/* The counters, with the times of this moment. */
void cost_report(struct canary_cost *c, struct wire_canary_cost *ret_cost);

#endif
