/* SPDX-License-Identifier: ISC */
/*
 * spawned.h - the monitor's hold on something that the spawner made: a run or the probe.
 *
 * Two handles: the socket to its processes, and the pidfd of its init. "Dead" means that the init
 * is reaped, and with it, by the kernel, every process of its PID namespace.
 */
#ifndef ATELIER_SPAWNED_H
#define ATELIER_SPAWNED_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/fd.h"
#include "sessiond/monitor/spawn_wire.h"

struct spawned_ops {
    /* A packet from the init or the payload; @extra has the sender's pid and uid. Must not call
     * spawned_done(). */
    void (*on_packet)(void *arg, const void *buf, size_t size, const struct msg_extra *extra);
    /* The pidfd is known; packets may have come before. NULL: of no interest. Must not call
     * spawned_done(). */
    void (*on_spawned)(void *arg);
    /* Everything is gone; nothing is called afterwards. spawned_done() may be called from here. */
    void (*on_dead)(void *arg);
};

struct spawned {
    int sock;  /* -1: not in use */
    int pidfd; /* -1: not cloned yet */
    pid_t pid; /* the init's; with the pidfd */
    bool kill_wanted;
    struct event *sock_event;
    struct event *pidfd_event;
    struct event_base *base;
    const struct spawned_ops *ops;
    void *arg;
};

/**
 * spawned_start() - Ask the spawner
 * @s:            To fill in
 * @base:         Event base, borrowed
 * @spawner_sock: From spawner_start(), borrowed
 * @req:          What, borrowed
 * @fds:          Descriptors from SPAWN_FD_PAYLOAD on, borrowed; none for a probe. Behind them
 *                those of the control groups
 * @nfds:         Their number
 *
 * Return: 0, then @ops are called; or a negative errno and nothing is.
 */
int spawned_start(struct spawned *s, struct event_base *base, int spawner_sock,
                  const struct spawn_request *req, const int *fds, size_t nfds,
                  const struct spawned_ops *ops, void *arg);

/* Let the payload pass its stop point. Return: 0 or a negative errno. */
int spawned_go(struct spawned *s);

/* SIGKILL for the init, now or as soon as its pidfd is known. on_dead follows. */
void spawned_kill(struct spawned *s);

/* Give the pidfd away and let the rest go; kills nothing. Return: the pidfd, or -1. */
int spawned_release(struct spawned *s);

/* Release the handles; kills what is still alive. */
void spawned_done(struct spawned *s);

#endif
