/* SPDX-License-Identifier: ISC */
/*
 * net_link.h - the networks that the host is in: those that it reaches without a gateway.
 *
 * Asked of the kernel's routing tables, all of them, and asked again when the kernel says that
 * routes, addresses or links have changed. What the rules refuse always is left out, and so are
 * default routes, also those in parts (shorter than /8, or /16 of IPv6): a tunnel that takes
 * everything is no network of neighbours.
 */
#ifndef ATELIER_NET_LINK_H
#define ATELIER_NET_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/prefix.h"

/* Return: non-blocking netlink socket, close-on-exec, or a negative errno. */
int net_link_open(void);

/* Take in what is there. Return: whether networks may have changed; true of what is not understood.
 */
bool net_link_read(int fd);

/**
 * net_link_list() - The networks of now, sorted, each once
 * @room:    How many fit into @ret; what is more is counted, too
 *
 * Return: how many there are, @room at most, or a negative errno.
 */
int net_link_list(struct prefix *ret, size_t room);

/* One message of the kernel about a route, for unit tests. Return: whether it is such a network. */
struct nlmsghdr;
bool net_link_route(const struct nlmsghdr *head, struct prefix *ret_prefix);

#endif
