/* SPDX-License-Identifier: ISC */
/* disk_backend.h - what of this host can hold a user to `disk` and `disk_files`. */
#ifndef ATELIER_DISK_BACKEND_H
#define ATELIER_DISK_BACKEND_H

#include "common/wire.h"
#include "policy/policy.h"

/**
 * disk_backend() - Which one the host has of those that a policy wants
 * @homes:   Parent of the homes, open for reading
 * @ret_why: What the others lack, one after the other; ASCII, may be empty
 *
 * Asked of the kernel, each time. A policy that wants none has none.
 */
enum wire_disk disk_backend(const struct policy_disk *policy, int homes,
                            char ret_why[WIRE_PATH_SIZE]);

#endif
