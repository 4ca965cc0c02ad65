/* SPDX-License-Identifier: ISC */
/* hostcheck.h - is a name or id taken by anybody on this host? */
#ifndef ATELIER_API_HOSTCHECK_H
#define ATELIER_API_HOSTCHECK_H

#include <stdint.h>

struct hostcheck {
    int64_t deadline_ms; /* clock_mono_ms(); later nothing is decided */
};

/**
 * hostcheck_taken() - A registry_taken_fn
 * @arg:  struct hostcheck
 * @name: User or group name, or NULL
 * @id:   UID or GID, or 0
 *
 * With neither name nor id only the deadline is looked at, and nothing blocks: the question of
 * the registry before COMMIT.
 *
 * Asks every source of nsswitch.conf, and reads /etc/passwd and /etc/group themselves, which are
 * what useradd looks at whatever nsswitch.conf says. Blocks for as long as these sources do.
 *
 * Return: 1 taken, 0 free, -ETIMEDOUT after the deadline, another negative errno: could not find
 * out.
 */
int hostcheck_taken(void *arg, const char *name, uint32_t id);

#endif
