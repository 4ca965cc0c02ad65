/* SPDX-License-Identifier: ISC */
/* task_clock.c - the processor time of a process and of all that come from it, by perf. */
#include "sessiond/monitor/task_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/banned.h"

int task_clock_open(pid_t pid, int *ret_fd)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .inherit = 1,
    };
    long fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (fd < 0)
        return -errno;
    *ret_fd = (int)fd;
    return 0;
}

int task_clock_least_us(int fd, uint64_t *ret_us)
{
    uint64_t ns;
    ssize_t n = read(fd, &ns, sizeof(ns));

    if (n != (ssize_t)sizeof(ns))
        return n < 0 ? -errno : -EPROTO;
    *ret_us = (ns - ns / TASK_CLOCK_STOLEN_PART) / 1000;
    return 0;
}
