/* SPDX-License-Identifier: ISC */
/*
 * procs.h - what all processes below an init come to, by /proc of the host.
 *
 * For hosts where no control group counts them. The tree of children is the PID namespace, for
 * a session with that of the login's process, whose children are born in it: who loses its parent
 * becomes the init's child. It changes while it is read: a process that comes or
 * goes meanwhile may be missed, none is counted that is not below the init. Only numbers that the
 * kernel writes are read: of /proc/PID/stat nothing before the last parenthesis, where the name
 * ends.
 *
 * Source: proc(5): stat, children (CONFIG_PROC_CHILDREN), status, smaps_rollup (Pss_Anon:
 * Linux 5.9).
 */
#ifndef ATELIER_PROCS_H
#define ATELIER_PROCS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/plan.h"

struct procs {
    uint32_t tasks;     /* processes and threads, the init too */
    uint64_t cpu_us;    /* of all that live, and of those that somebody waited for */
    uint64_t rss_bytes; /* pages that several have count for each */
    pid_t largest;      /* process with the most of them, below the two; 0: there is none */
    bool is_cut; /* there are more than was asked for, or room for: the rest was not looked at */
};

/*
 * Room for so many processes below one init: as many as a policy allows a user (POLICY_KEYS, pids)
 * and RLIMIT_NPROC on top of that (policy_plan.c), the init, the login's process, and those that
 * come and go while the others are listed. No tree is larger for more than a moment; one that is
 * hides something, and is_cut has to be the end of it.
 */
#ifndef PROCS_ROOM
#define PROCS_ROOM 16640u
#endif

/* Does this kernel list children? Return: 0 or a negative errno. */
int procs_check(void);

/**
 * procs_look() - Count
 * @init: PID 1 of the namespace, as this process sees it
 * @login: The login's process, 0 for none
 * @most: Stop when there are more tasks than that; bounds the time that this takes
 *
 * Return: 0; -ESRCH: there is no such init any more; or a negative errno.
 */
int procs_look(pid_t init, pid_t login, uint32_t most, struct procs *ret_procs);

/**
 * procs_memory() - The memory of those that procs_look() has counted last
 * @places:      procs_places(), read at the same time
 * @patience_us: How long shared pages are counted in parts, so that each counts once
 *
 * For that the kernel takes a lock on the memory of each process, which its owner can hold, and
 * sessiond has one thread. What is left when the time is up counts in full, for which no lock is
 * taken: who makes a look slow has more than he has.
 *
 * Return: bytes of anonymous memory, swap, and the larger of what is mapped of shared memory and
 * @places; pages of programs and other files are the host's cache.
 */
uint64_t procs_memory(uint64_t places, int64_t patience_us);

/* Bytes in the file systems in memory that a run or session has. */
uint64_t procs_places(pid_t init, const struct plan *plan);

#endif
