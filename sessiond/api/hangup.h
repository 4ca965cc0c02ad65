/* SPDX-License-Identifier: ISC */
/*
 * hangup.h - notice that the other side of a stream socket closed it or stopped to send.
 *
 * An epoll set of our own in the loop, because EV_CLOSED of libevent is not enough: for a peer that
 * closes with unread data the kernel says EPOLLERR with EPOLLRDHUP, which libevent 2.1.12 turns
 * into "readable and writable" alone, so that the callback never comes and the loop spins.
 */
#ifndef ATELIER_API_HANGUP_H
#define ATELIER_API_HANGUP_H

#include <event2/event.h>

struct hangup_set;

/* @fn: called once for each descriptor added, from the loop; it must not free what is watched. */
int hangup_set_new(struct event_base *base, void (*fn)(void *what), struct hangup_set **ret_set);
void hangup_set_free(struct hangup_set *set);

/* Data that arrives meanwhile is left alone. Return: 0 or a negative errno. */
int hangup_add(struct hangup_set *set, int fd, void *what);

/* Before the descriptor is closed. */
void hangup_del(struct hangup_set *set, int fd);

#endif
