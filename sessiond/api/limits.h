/* SPDX-License-Identifier: ISC */
/*
 * limits.h - what a run may ask for, by the policy that sessiond goes by.
 *
 * sessiond checks again; this is for an answer that names the field. The file is looked at for
 * each question and read when it is another one: there is no message for a reload.
 */
#ifndef ATELIER_API_LIMITS_H
#define ATELIER_API_LIMITS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct limits {
    uint32_t wall_ms, wall_ms_max; /* of a run that asks for none, and the most */
    uint32_t cpu_ms, cpu_ms_max;   /* 0: none */
    uint32_t out_kb, out_kb_max;
};

/**
 * limits_of() - The limits of a user's runs
 * @gids: Supplementary groups
 *
 * Without a file that can be read: as it was read last, or what is shipped.
 */
void limits_of(uint32_t uid, const uint32_t *gids, size_t count, struct limits *ret_limits);

/* Those that somebody's runs or sessions cannot start without: bits of enum wire_limit. */
uint32_t limits_required(void);

/* Another file, of another owner; for tests. */
void limits_source(const char *path, uid_t owner);

#endif
