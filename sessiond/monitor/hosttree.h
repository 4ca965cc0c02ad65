/* SPDX-License-Identifier: ISC */
/*
 * hosttree.h - directories of the host that a profile shows, read-only: trees at the same path,
 * skills below PLAN_SKILLS_DIR.
 *
 * The spawner has no way to the host's tree any more: the monitor opens each directory for each run
 * or session, as a detached mount, and the init attaches it. What is mounted below the directory on
 * the host is not in a tree, so that no proc, sysfs or home comes along; in a skill, which is
 * root's own, it is in it, and read-only as well.
 *
 * "fds" are plan_mount_count() of them everywhere: trees, then skills.
 */
#ifndef ATELIER_HOSTTREE_H
#define ATELIER_HOSTTREE_H

#include <stdio.h>
#include <sys/types.h>

#include "policy/plan.h"

/**
 * hosttree_check() - Does a path lead through a file system that somebody else answers for?
 * @mountinfo: As /proc/self/mountinfo; source: proc(5)
 * @path:      Of a plan
 *
 * A server that keeps silent would stop whoever looks at its files, and with the monitor all of
 * sessiond: so it is asked of the kernel, which knows types without a server. That of / is not
 * asked for, sessiond itself is there.
 *
 * Return: 0, -EREMOTE, or -EBADMSG (a line that is not understood).
 */
int hosttree_check(FILE *mountinfo, const char *path);

/**
 * hosttree_open() - Detached mounts of the trees and skills of a plan
 * @ret_fds:  Owned by the caller
 * @ret_what: On failure: which, borrowed from the plan
 *
 * In the monitor. A symbolic link anywhere in a path is refused, as are file systems of the kernel
 * and what hosttree_check() refuses. A skill must be root's, and nobody else's to write.
 *
 * Return: 0, -ELOOP, -ENOENT, -EPERM (a file system of the kernel), -EREMOTE, or another negative
 * errno.
 */
int hosttree_open(const struct plan *plan, int ret_fds[PLAN_MOUNTS_MAX], const char **ret_what);

/* As hosttree_open() of one tree, without a mount: is it there, and with which mode? */
int hosttree_look(const char *path, mode_t *ret_mode);

/* Which directory a tree or skill is. */
struct hosttree_id {
    dev_t dev;
    ino_t ino;
};

/* Of what hosttree_open() gave. Return: 0 or a negative errno. */
int hosttree_identify(const struct plan *plan, const int fds[],
                      struct hosttree_id ret_ids[PLAN_MOUNTS_MAX]);

/**
 * hosttree_verify() - Are the directories that a process has in the places of a plan these?
 * @pid: Stands still; asked of the kernel through /proc/PID/root
 *
 * Return: 0, -EPERM (another directory), or a negative errno: the run must not go on.
 */
int hosttree_verify(pid_t pid, const struct plan *plan, const struct hosttree_id ids[]);

/* Close what hosttree_open() gave. */
void hosttree_close(const struct plan *plan, int fds[PLAN_MOUNTS_MAX]);

/**
 * hosttree_attach() - Make the places of the trees, and attach them
 * @fds:      As they came from hosttree_open()
 * @ret_what: On failure: which, borrowed from the plan
 *
 * In the init, in a root of its own that can still be written to (ownroot.h).
 *
 * Return: 0 or a negative errno.
 */
int hosttree_attach(const struct plan *plan, const int fds[], const char **ret_what);

/* The same for the skills, in PLAN_SKILLS_DIR, which has to be there. */
int hosttree_attach_skills(const struct plan *plan, const int fds[], const char **ret_what);

#endif
