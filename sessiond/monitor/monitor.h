/* SPDX-License-Identifier: ISC */
/* monitor.h - what the parts of the root process share. */
#ifndef ATELIER_MONITOR_H
#define ATELIER_MONITOR_H

#include <event2/event.h>
#include <stdint.h>

struct canary;
struct core;
struct run;

struct monitor {
    struct event_base *base;
    int spawner_sock;
    struct canary *canary;
    struct core *core;
    uint32_t net_revision; /* of the rules that were loaded last */
    struct run *runs;      /* list, run.c */
    uint32_t run_count;
};

#endif
