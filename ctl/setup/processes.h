/* SPDX-License-Identifier: ISC */
/* processes.h - what still runs: processes of some uids, and control groups that are not empty. */
#ifndef ATELIER_CTL_SETUP_PROCESSES_H
#define ATELIER_CTL_SETUP_PROCESSES_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    uid_t uid; /* the first of the four that is in the range */
    char name[64];
};

/**
 * processes_each() - Processes that have a uid of a range, as any of their four
 * @proc: "/proc", or a directory like it
 *
 * Return: how many there are, or a negative errno.
 */
int processes_each(const char *proc, uid_t min, uid_t max,
                   void (*one)(void *arg, const struct process *p), void *arg);

/* Is it one of them, now? Return: 1, 0 (also if it is gone), or a negative errno. */
int process_look(const char *proc, pid_t pid, uid_t min, uid_t max, struct process *ret);

/**
 * process_is_outside() - Whether a process has the mount namespace of the host
 *
 * What a run or session is has one of its own.
 *
 * Return: 1, 0 (also if it is gone), or a negative errno.
 */
int process_is_outside(pid_t pid);

/**
 * processes_list() - Processes that have a uid of a range, as any of their four
 * @proc: "/proc", or a directory like it
 * @out:  Gets "PID (uid UID, NAME)" of each, with a comma between
 *
 * Return: how many there are, or a negative errno.
 */
int processes_list(const char *proc, uid_t min, uid_t max, FILE *out);

/**
 * cgroup_is_populated() - Whether anything lives in a control group, or below it
 * @directory: In the unified hierarchy
 *
 * Return: 1, 0 (also where there is no such group), or a negative errno.
 */
int cgroup_is_populated(const char *directory);

#endif
