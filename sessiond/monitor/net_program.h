/* SPDX-License-Identifier: ISC */
/*
 * net_program.h - the host's own iptables: found in fixed places, with one variable in the
 * environment.
 *
 * All of this waits for the program. At start that is as it should be; later it is done by a
 * process of its own (net_look.h).
 */
#ifndef ATELIER_NET_PROGRAM_H
#define ATELIER_NET_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "policy/netrules.h"

#define NET_LOCK_WAIT_S "5" /* for /run/xtables.lock */

/* The programs of one family, in the places where Debian has had them. */
struct net_family {
    enum netrules_family family;
    const char *name;         /* for the log: IPv4 or IPv6 */
    const char *restore_name; /* for the log, too */
    const char *restore[2];
    const char *single[2];
    const char *save[2];
};

#define NET_FAMILIES 2
extern const struct net_family net_families[NET_FAMILIES];

/* IPv6 is left out only if the kernel has none. */
bool net_family_exists(const struct net_family *f);

/* Return: one of the places, or NULL. */
const char *net_program_find(const char *const places[2]);

/**
 * net_program_start() - Start the program argv[0]
 * @argv:      Its name matters: one binary serves both families and chooses by it
 * @stdin_fd:  Borrowed
 * @stdout_fd: Borrowed; -1: what is there stays
 * @is_quiet:  Standard error, and without @stdout_fd standard output, go nowhere
 *
 * Return: 0 or a negative errno.
 */
int net_program_start(const char *const argv[], int stdin_fd, int stdout_fd, bool is_quiet,
                      pid_t *ret_pid);

/* Wait for its end. Return: exit code, or a negative errno (-EPROTO: a signal). */
int net_program_wait(pid_t pid);

/**
 * net_text_load() - Hand a text to iptables-restore: one transaction
 *
 * Return: 0, -ENOENT (no such program), -EPROTO (refused; its words are on stderr), -errno.
 */
int net_text_load(const struct net_family *f, const char *text);

#endif
