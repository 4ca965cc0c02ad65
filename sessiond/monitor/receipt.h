/* SPDX-License-Identifier: ISC */
/*
 * receipt.h - what the kernel says of a payload at its stop point, and whether that is the plan.
 *
 * Nothing here is filled in from a request: a receipt that is not read back proves nothing.
 */
#ifndef ATELIER_RECEIPT_H
#define ATELIER_RECEIPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/wire.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/spawn_wire.h"

/* Remember the host's own namespaces; call once at start. Return: 0 or a negative errno. */
int receipt_init(void);

/**
 * receipt_learn_spawner() - Its mount namespace counts as nobody's own
 * @pid: Stands in its tree; what is cloned without a namespace of its own would be in the same
 *
 * Return: 0 or a negative errno.
 */
int receipt_learn_spawner(pid_t pid);

/**
 * receipt_read() - Read everything about a process that stands still
 * @pid:   The payload, on the host; it waits for "go", so the number is its own
 * @leaf:  Where it should be; NULL without control groups
 * @ret_r: Filled in but for net_revision and canary_age_ms, which the canary knows, and for the
 *         filter, which filter_proof.h does
 *
 * Source: proc(5), namespaces(7).
 *
 * Return: 0 or a negative errno.
 */
int receipt_read(pid_t pid, const struct cgroup_leaf *leaf, struct wire_receipt *ret_r);

/**
 * receipt_read_login() - receipt_read() of a login's process: as PID namespace, that of its
 * children
 * @pid: A process that waits for an answer of ours
 */
int receipt_read_login(pid_t pid, const struct cgroup_leaf *leaf, struct wire_receipt *ret_r);

/* Namespaces of a process. Return: 0 or a negative errno. */
int receipt_namespaces(pid_t pid, uint64_t ret_inodes[WIRE_NS__COUNT]);

/* How many filters a process has loaded. Return: 0 or a negative errno. */
int receipt_filters(pid_t pid, uint32_t *ret_filters);

/* The inode of one of the host's own namespaces. */
uint64_t receipt_host_namespace(enum wire_ns ns);

/* Are the limits that a receipt shows those of the plan, or less? */
bool receipt_limits_match(const struct wire_receipt *r, const struct plan *plan);

/**
 * receipt_places_fault() - What a receipt has no field for: sizes of file systems, trees
 * @pid:   The process of the receipt, which still stands still
 *
 * Asked of the kernel through /proc/PID/root, where nobody but root has made anything yet.
 *
 * Return: NULL if all is as the plan says, else what is not, static.
 */
const char *receipt_places_fault(pid_t pid, const struct plan *plan);

/* What of a receipt itself is not as asked for: NULL, or its name, static. No system call. */
const char *receipt_fault(const struct wire_receipt *r, const struct spawn_request *req,
                          const struct cgroup_leaf *leaf);

/**
 * receipt_verify() - Compare a receipt with what was asked for
 * @r:        The receipt, borrowed
 * @req:      What was asked for, with its plan, borrowed
 * @leaf:     The process has to be in it
 * @ret_what: On failure: the property that differs, static
 *
 * Return: 0, or -EPERM: the run must not go on.
 */
int receipt_verify(const struct wire_receipt *r, const struct spawn_request *req,
                   const struct cgroup_leaf *leaf, const char **ret_what);

/* What hosttree_verify() has found to be so. */
void receipt_note_skills(struct wire_receipt *r, const struct plan *plan);

#endif
