/* SPDX-License-Identifier: ISC */
/* hostcheck.h - is a name or id taken by anybody on this host? */
#ifndef ATELIER_API_HOSTCHECK_H
#define ATELIER_API_HOSTCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/str.h"

/* A line of /etc/passwd that is to become one of ours. */
struct host_account {
    char name[NAME_SIZE]; /* "": there is none */
    uint32_t uid;
    uint32_t gid;
};

struct hostcheck {
    int64_t deadline_ms; /* clock_mono_ms(); later nothing is decided */
    struct host_account adopted;
};

/**
 * hostcheck_adopt() - Find the account whose name, and uid, count as free from now on
 * @check: Its .adopted is filled in
 * @name:  Valid
 *
 * The only line of /etc/passwd with this name, whatever other sources say.
 *
 * Return: 0, -ENOENT if there is none, -ENOTUNIQ if there are two, or a negative errno.
 */
int hostcheck_adopt(struct hostcheck *check, const char *name);

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
 * With an adopted account two entries count for nothing: the user of exactly its name, uid and gid,
 * and the group of its name (under an id: if it is the account's own, too). Everybody else who has
 * the name or the id has it.
 *
 * Return: 1 taken, 0 free, -ETIMEDOUT after the deadline, another negative errno: could not find
 * out.
 */
int hostcheck_taken(void *arg, const char *name, uint32_t id);

/* Parts of it: what the files say, and what the sources of nsswitch.conf say. 1, 0, or -errno. */
int hostcheck_files(const struct hostcheck *check, const char *name, uint32_t id);
int hostcheck_nss(const struct hostcheck *check, const char *name, uint32_t id);

#endif
