/* SPDX-License-Identifier: ISC */
/*
 * net_news.h - the kernel says when somebody changes the tables that our rules are in.
 *
 * Only nf_tables does, which iptables-nft uses; of a table of iptables-legacy there is no news.
 */
#ifndef ATELIER_NET_NEWS_H
#define ATELIER_NET_NEWS_H

#include <stdbool.h>

/* Return: non-blocking netlink socket, close-on-exec, or a negative errno. */
int net_news_open(void);

/**
 * net_news_read() - Take in what is there
 *
 * Changes of other tables than ours are none. That news was lost, or is not understood, may be
 * one. Not all of it at once if it is much: the socket stays readable.
 *
 * Return: whether our tables may have changed.
 */
bool net_news_read(int fd);

#endif
