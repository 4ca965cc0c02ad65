/* SPDX-License-Identifier: ISC */
/* processes.h - what still runs: processes of some uids, and control groups that are not empty. */
#ifndef ATELIER_CTL_SETUP_PROCESSES_H
#define ATELIER_CTL_SETUP_PROCESSES_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

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
