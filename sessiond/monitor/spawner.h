/* SPDX-License-Identifier: ISC */
/*
 * spawner.h - the small process that clones the inits.
 *
 * It lives in the prepared tree, single-threaded and without a heap worth copying, so that a clone
 * is cheap and none of the monitor's state is in it. It knows no sockets but its own pair with the
 * monitor, and parses one fixed struct. It dies with the monitor, and every init dies with it.
 */
#ifndef ATELIER_SPAWNER_H
#define ATELIER_SPAWNER_H

#include <linux/filter.h>
#include <stddef.h>

#include "sessiond/monitor/tree.h"

/* What the spawner is given when it is forked; borrowed by the child for good. */
struct spawner_setup {
    struct tree_texts texts;
    struct sock_filter *filter; /* FILTER_RUN */
    size_t filter_count;
};

/**
 * spawner_start() - Fork the spawner and wait until it lives in the prepared tree
 * @setup:    Read-only data for it
 * @ret_sock: SOCK_SEQPACKET to it, blocking with a send limit of a second; owned by the caller
 * @ret_pidfd: Its pidfd, owned by the caller
 * @ret_what: On failure: what it is about, borrowed, static
 *
 * Must: be called before the event base, the listener and any thread exist.
 *
 * Return: 0 or a negative errno.
 */
int spawner_start(const struct spawner_setup *setup, int *ret_sock, int *ret_pidfd,
                  const char **ret_what);

#endif
