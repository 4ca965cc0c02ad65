/* SPDX-License-Identifier: ISC */
/* bait_socket.h - services of the bait: TCP, UDP, and AF_UNIX with and without a path. */
#ifndef ATELIER_CTL_DOCTOR_BAIT_SOCKET_H
#define ATELIER_CTL_DOCTOR_BAIT_SOCKET_H

#include "ctl/doctor/bait.h"

enum bait_service {
    BAIT_TCP4,
    BAIT_TCP6,
    BAIT_UDP4,
    BAIT_UDP6,
    BAIT_PATH,
    BAIT_ABSTRACT,
    BAIT_SERVICES,
};

struct bait_sockets {
    int fds[BAIT_SERVICES]; /* -1: could not be opened */
};

/* Open what can be opened, and say in the bait which ports and names. */
void bait_sockets_open(struct bait *b, struct bait_sockets *ret_s);

/* Answer everybody with @word until the other end of @lifeline is closed. */
void bait_sockets_serve(const struct bait_sockets *s, int lifeline, const char *word);

#endif
