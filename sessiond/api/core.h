/* SPDX-License-Identifier: ISC */
/*
 * core.h - the line to sessiond: core.sock, the client side of common/wire.h.
 *
 * It is connected, or it is being connected again every 200 ms. Messages that the kernel does not
 * take at once wait in order; nothing blocks and nothing is lost while the connection lives. What
 * sessiond sends is checked whole before anybody sees it; a message that does not fit ends the
 * connection, and with it every run. Sessions live on.
 */
#ifndef ATELIER_API_CORE_H
#define ATELIER_API_CORE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/wire.h"
#include "common/wire_net.h"

struct core;

/* Whom to tell. All are called from the loop, never from inside core_send(). */
struct core_events {
    void (*down)(void *arg); /* the connection was ready and is gone */
    /* The run of this tag: -ENOENT if there is none in a state to get this message. */
    int (*run_started)(void *arg, const struct wire_run_started *m);
    int (*run_failed)(void *arg, const struct wire_run_failed *m);
    int (*run_ended)(void *arg, const struct wire_run_ended *m);
    void (*session_ask)(void *arg, const struct wire_session_ask *m);
    /* -ENOENT if no login in open_session can get this message. */
    int (*session_started)(void *arg, const struct wire_session_started *m);
    int (*session_failed)(void *arg, const struct wire_session_failed *m);
    int (*session_ended)(void *arg, const struct wire_session_ended *m);
    void (*session_synced)(void *arg);
    void (*lock)(void *arg, enum wire_type type); /* LOCK_TAKEN, LOCK_BUSY or LOCK_LOST */
    void (*status)(void *arg, const struct wire_status *m);
    int (*net_page)(void *arg, const struct wire_net_page *m); /* -ENOENT: it was not asked */
};

/**
 * core_new() - Start to connect, and go on trying for ever
 * @base:   Loop, borrowed
 * @path:   Of core.sock, borrowed for the whole life
 * @events: Borrowed for the whole life
 * @arg:    For all of @events
 *
 * Return: 0, -ENAMETOOLONG (path), -ENOMEM.
 */
int core_new(struct event_base *base, const char *path, const struct core_events *events, void *arg,
             struct core **ret_core);

/* Closes; does not tell anybody. */
void core_free(struct core *core);

/* HELLO was answered by a WELCOME of our version. */
bool core_is_ready(const struct core *core);

/**
 * core_send() - Send a message, or put it behind those that wait
 * @msg:  Begins with a head whose type and tag are set; version and size are filled in here
 * @size: At most sizeof(struct wire_run_start)
 * @fds:  Descriptors, taken over: closed here in every case
 *
 * If there is no memory to let it wait, the connection is given up (from the loop, later): a lost
 * RUN_KILL would be worse.
 *
 * Return: 0, -ENOTCONN, -ENOMEM; -ETOOMANYREFS if the kernel has too many descriptors of ours in
 * flight.
 */
int core_send(struct core *core, void *msg, size_t size, const int *fds, size_t nfds);

/* core_send() of a message that is a head alone. */
int core_send_head(struct core *core, enum wire_type type, uint32_t tag);

#endif
