/* SPDX-License-Identifier: ISC */
/* app.h - what the parts of sessiond-api share: one loop, one registry, one line to sessiond. */
#ifndef ATELIER_API_APP_H
#define ATELIER_API_APP_H

#include <event2/event.h>
#include <stdbool.h>

#include "registry/registry.h"

struct audit;
struct core;
struct door;
struct health;
struct lock_queue;
struct run_table;

enum door_kind {
    DOOR_API,   /* callers, by their row */
    DOOR_ADMIN, /* UID 0 */
    DOOR__COUNT,
};

/* Everything is on one thread. Owned by main(), borrowed by everybody else. */
struct app {
    struct event_base *base;
    struct registry *reg;
    struct audit *audit;
    struct core *core;
    struct health *health;
    struct lock_queue *locks;
    struct run_table *runs;
    struct door *doors[DOOR__COUNT];
    bool is_stopping; /* no new run or lock from here on */
};

#endif
