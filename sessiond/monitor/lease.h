/* SPDX-License-Identifier: ISC */
/*
 * lease.h - is the login's process as confined as it was told to be?
 *
 * pam_atelier takes the steps in the login's own process; whether it did is read from /proc, while
 * that process waits for the answer. A module that is broken, replaced or placed wrongly in its
 * stack opens no session.
 */
#ifndef ATELIER_LEASE_H
#define ATELIER_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/wire.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/hosttree.h"

/* What has to be known before, to compare with. */
struct lease_terms {
    uint32_t filters_before; /* of the login's process, at OPEN */
    uint64_t init_ns[WIRE_NS__COUNT];
    pid_t init;
    const struct plan *plan;
    const struct hosttree_id *mounts; /* of the plan, as they were opened */
    const struct cgroup_leaf *leaf;   /* where both processes have to be; NULL: none */
};

/* What of a receipt itself is not as it was told to be: NULL, or its name, static. */
const char *lease_fault(const struct wire_receipt *r, const struct lease_terms *terms);

/**
 * lease_verify() - Read the receipt of a login's process and compare it
 * @holder:   The process, waiting
 * @terms:    Borrowed
 * @ret_r:    The receipt, but for what the canary knows; set on success
 * @ret_what: On failure: what differs, static
 *
 * Also refuses an open directory: sshd forks the participant's part from this process without
 * exec, and a directory there is a way into the host's tree (shown by a forwarding to
 * /proc/self/fd/N/..).
 *
 * Return: 0; -EPERM (differs); or a negative errno, which denies as well.
 */
int lease_verify(pid_t holder, const struct lease_terms *terms, struct wire_receipt *ret_r,
                 const char **ret_what);

/**
 * lease_is_stopped() - Has a child of the login's process been stopped?
 *
 * sshd's part for the participant has the participant's UID: stopped by its own user, it would
 * never notice that the client has gone. Source: proc(5), children and stat.
 *
 * Return: false also if it cannot be found out.
 */
bool lease_is_stopped(pid_t holder);

#endif
