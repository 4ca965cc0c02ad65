/* SPDX-License-Identifier: ISC */
/* ids.h - the number ranges that every part of atelier agrees on. */
#ifndef ATELIER_IDS_H
#define ATELIER_IDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Outer bound: nothing outside it is ever ours, whatever a file says.
 * Allocation ends at 59899. 60000 and up belongs to others: Debian's static ids 60000-64999
 * (base-passwd), systemd-homed 60001-60513 and DynamicUser 61184-65519 (systemd's UIDS-GIDS).
 */
#define ID_OUTER_MIN 10000u
#define ID_OUTER_MAX 65000u
#define ID_ALLOC_MIN 10000u
#define ID_ALLOC_MAX 59899u

/* Reserved for our own probes; never in the registry, but under the network rules. */
#define ID_RESERVED_MIN 59900u
#define ID_RESERVED_MAX 59999u
#define ID_CANARY       59900u
#define ID_DOCTOR_MIN   59910u /* throw-away participants of `atelier doctor` */
#define ID_DOCTOR_MAX   59913u
#define ID_RESOLVE      59949u /* looks names up for sessiond */
#define ID_TEST_MIN     59950u

/* What the network rules match: participants, canary, doctor, tests. */
#define ID_NET_MIN ID_ALLOC_MIN
#define ID_NET_MAX ID_RESERVED_MAX

/* The group that every user is in; its gid comes from the counter like any other. */
#define GROUP_ALL_USERS "atelier-users"

static inline bool id_is_outer(uint32_t id)
{
    return id >= ID_OUTER_MIN && id <= ID_OUTER_MAX;
}

static inline bool id_is_allocatable(uint32_t id)
{
    return id >= ID_ALLOC_MIN && id <= ID_ALLOC_MAX;
}

static inline bool id_is_doctors(uint32_t id)
{
    return id >= ID_DOCTOR_MIN && id <= ID_DOCTOR_MAX;
}

#endif
