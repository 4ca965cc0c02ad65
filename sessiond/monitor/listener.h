/* SPDX-License-Identifier: ISC */
/*
 * listener.h - what the canary must not reach and root must.
 *
 * A process of its own that holds the only copies of two listening sockets, so that its death is a
 * dead listener and not a backlog that still accepts. A socket filter drops what does not come from
 * the very address it goes to, so that nobody outside the host sees an open port.
 */
#ifndef ATELIER_LISTENER_H
#define ATELIER_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LISTENER_BANNER_SIZE 16u

struct listener {
    pid_t pid;
    int pidfd;      /* -1: not running */
    uint16_t port4; /* host order */
    uint16_t port6; /* 0 if the kernel has no IPv6 */
    uint8_t banner[LISTENER_BANNER_SIZE];
};

/**
 * listener_start() - Fork the listener
 * @ret_l: Filled in; listener_stop() ends it
 *
 * The banner is random, so that root knows that it is this listener that answers.
 *
 * Return: 0 or a negative errno.
 */
int listener_start(struct listener *ret_l);

void listener_stop(struct listener *l);

/* False only where the kernel has no IPv6 at all; a host that merely has no address has it. */
bool kernel_has_ipv6(void);

#endif
