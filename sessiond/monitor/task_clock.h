/* SPDX-License-Identifier: ISC */
/*
 * task_clock.h - the processor time of a process and of all that come from it, by perf.
 *
 * For hosts where no control group counts. /proc has the time of a process that ended only if
 * somebody waited for it: of children whose parent ignores SIGCHLD the kernel drops it, and a chain
 * of short ones would use a processor without a trace. The kernel's event "task clock", inherited
 * by every child, counts them however they end, and adds what they came to when they do.
 *
 * Two things keep it from being the only count:
 *   - It is the time that they held a processor, with that in which the host of a virtual machine
 *     had taken it away, and with interrupts; the kernel's own counts leave that out. So a part is
 *     taken off (task_clock_least_us()): who is counted by it alone has that part more.
 *   - A process leaves it by executing a file that it may not read, and takes its later children
 *     along (doc/kernel.md).
 *
 * The event is opened by sessiond, and read by nobody else; in runs and sessions the call is
 * refused (K7). It costs each process of the run about two KiB of kernel memory.
 *
 * Source: perf_event_open(2): inherit; kernel/events/core.c: inherit_event(), sync_child_event();
 * fs/exec.c: begin_new_exec().
 */
#ifndef ATELIER_TASK_CLOCK_H
#define ATELIER_TASK_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

/* One part in so many may have been taken away by who runs this machine. */
#define TASK_CLOCK_STOLEN_PART 4

/**
 * task_clock_open() - Count from now on
 * @pid:    With one thread, and no child that is to be counted; 0: this one
 * @ret_fd: The caller's
 *
 * Return: 0; -EACCES, -EPERM, -ENOSYS and others: not on this host; -ESRCH: it is gone.
 */
int task_clock_open(pid_t pid, int *ret_fd);

/* What they have used at least, those that are gone, too. Return: 0 or a negative errno. */
int task_clock_least_us(int fd, uint64_t *ret_us);

#endif
