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
struct lockout;
struct magic_link;
struct network;
struct pam_door;
struct run_table;
struct session_table;

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
    struct lockout *lockout;
    struct magic_link *links;
    const char *link_base; /* of the links that are minted, for magic_link_url() */
    struct network *network;
    struct pam_door *pam;
    struct run_table *runs;
    struct session_table *sessions;
    struct door *doors[DOOR__COUNT];
    bool is_stopping; /* no new run, lock, link or login from here on */
};

#endif
