/* SPDX-License-Identifier: ISC */
/* net_names.h - the process that looks names up, and the file that keeps what it found. */
#ifndef ATELIER_NET_NAMES_H
#define ATELIER_NET_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sessiond/monitor/net.h"

/**
 * net_names_start() - Look up all names
 * @ret_pid: A child of ours, to be reaped
 * @ret_fd:  Where its answers come, non-blocking, to be closed
 *
 * Return: 0 or a negative errno.
 */
int net_names_start(const struct net_config *config, pid_t *ret_pid, int *ret_fd);

/**
 * net_names_read() - The next answer
 * @answered:   Bit n: name n has its answer; a second one is none
 * @ret_i:      Which of @count names it is about
 * @ret_answer: Checked: what is in it are addresses
 *
 * Return: 1; 0 at the end; -EAGAIN: there is none yet; -EBADMSG: that was none.
 */
int net_names_read(int fd, uint32_t count, uint64_t *answered, uint32_t *ret_i,
                   struct names_answer *ret_answer);

/* Return: 0 or a negative errno. */
int net_names_save(const struct names *names);

/* What was saved since this boot. Return: 0 or a negative errno, with @ret_names untouched. */
int net_names_restore(struct names *ret_names);

#endif
