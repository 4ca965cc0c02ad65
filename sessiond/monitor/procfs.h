/* SPDX-License-Identifier: ISC */
/*
 * procfs.h - the /proc of a run or session: its own processes, and of the rest what policy/proc.def
 * leaves open.
 */
#ifndef ATELIER_PROCFS_H
#define ATELIER_PROCFS_H

/**
 * procfs_learn() - What is to be masked on this kernel
 *
 * In the spawner, once, while the host's /proc is there: what proc.def masks, and whatever it does
 * not know that others than root can read.
 *
 * Return: 0, -E2BIG (more names than anybody has seen), or another negative errno.
 */
int procfs_learn(void);

/**
 * procfs_mount() - A /proc of the new PID namespace, with its masks
 * @ret_what: On failure: what it is about, static
 *
 * In the init. A masked file or directory is there, and can be opened by nobody.
 *
 * Return: 0 or a negative errno.
 */
int procfs_mount(const char **ret_what);

/**
 * procfs_close() - Nothing in /proc can be written to any more
 *
 * For runs, after what we write there ourselves. Not for sessions: sshd and PAM write to files of
 * their own processes; there procfs_close_sys() closes the switches of the kernel.
 *
 * Return: 0 or a negative errno.
 */
int procfs_close(void);
int procfs_close_sys(void);

#endif
