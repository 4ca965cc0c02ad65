/* SPDX-License-Identifier: ISC */
/*
 * scope.h - abstract AF_UNIX names end at the session, where the kernel can do that.
 *
 * Abstract names belong to the network namespace, which sessions share with the host. Landlock can
 * keep a process from those made outside its domain since ABI 6 (Linux 6.12). The ruleset is made
 * here once; each login restricts itself with it, which makes a domain of its own each time. A
 * listener of ours shows the login whether it works. Source: landlock(7), "IPC scoping".
 */
#ifndef ATELIER_SCOPE_H
#define ATELIER_SCOPE_H

#include <event2/event.h>
#include <stdint.h>

struct scope {
    uint32_t abi;        /* of the kernel; 0: no Landlock */
    int ruleset_fd;      /* -1: the kernel cannot scope */
    char probe_name[32]; /* without the leading NUL of an abstract name */
    int probe_fd;
    struct event *probe_event;
};

/**
 * scope_init() - Ask the kernel, make the ruleset and the listener
 * @base: Event base, borrowed
 *
 * Return: 0, also where the kernel has no Landlock; or a negative errno.
 */
int scope_init(struct scope *scope, struct event_base *base);

#endif
