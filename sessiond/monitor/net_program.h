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

typedef void (*net_line_fn)(void *arg, const char *line);

/**
 * net_program_read() - Run a program that prints, without input, its standard error nowhere
 * @argv: argv[0] may be NULL, for a program that is not there
 * @fn:   Called for each line, with its newline
 *
 * Return: exit code, -ENOENT (no such program), or a negative errno (-EPROTO: a signal).
 */
int net_program_read(const char *const argv[], net_line_fn fn, void *arg);

/**
 * net_program_feed() - Run a program with a text as its input
 * @argv:     argv[0] may be NULL, for a program that is not there
 * @is_quiet: What it says goes nowhere
 *
 * Return: 0, -ENOENT (no such program), -EPROTO (refused, or a signal), -errno.
 */
int net_program_feed(const char *const argv[], const char *text, bool is_quiet);

/**
 * net_child_settle() - In a child of ours that runs such programs: leader of its process group,
 * dies with its parent, has no descriptors but the first three
 *
 * Ends the process if it cannot.
 */
void net_child_settle(const char *name, pid_t parent);

/**
 * net_text_load() - Hand a text to iptables-restore: one transaction
 *
 * Return: 0, -ENOENT (no such program), -EPROTO (refused; its words are on stderr), -errno.
 */
int net_text_load(const struct net_family *f, const char *text);

#endif
