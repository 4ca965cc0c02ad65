/* SPDX-License-Identifier: ISC */
/*
 * nscd.h - a caching name service daemon forgets what it knows of users and groups.
 *
 * Where one runs, it keeps the answer "no such user" for 20 seconds and a user who is there for ten
 * minutes (nscd.conf(5)), whatever the index says meanwhile. It takes the order to forget from root
 * alone, which the api is not.
 */
#ifndef ATELIER_NSCD_H
#define ATELIER_NSCD_H

#include <event2/event.h>

struct nscd;

/**
 * nscd_new() - Nothing is connected to before nscd_changed()
 * @base: Loop, borrowed
 * @path: Its socket, borrowed for the whole life; NULL: where libc looks for it
 *
 * Return: 0 or -ENOMEM.
 */
int nscd_new(struct event_base *base, const char *path, struct nscd **ret_nscd);
void nscd_free(struct nscd *nscd);

/**
 * nscd_changed() - What NSS says has changed
 *
 * nscd is told at once, or NSCD_AGAIN_MS after the last time if that is later; and once more
 * NSCD_AGAIN_MS after that: a look-up that was under way when the change came is put into the cache
 * after the first order. However many changes come, it is told no more often. Nothing blocks and
 * nothing is read; without nscd it is one connect(2) that fails.
 */
#define NSCD_AGAIN_MS 100
void nscd_changed(struct nscd *nscd);

#endif
