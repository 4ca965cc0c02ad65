/* SPDX-License-Identifier: ISC */
/* request.h - checks of fields that come from the api or from a login. */
#ifndef ATELIER_REQUEST_H
#define ATELIER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire.h"

/* Are these 32 lower-case hex digits, and NULs after them? */
bool request_id_is_valid(const char id[WIRE_SESSION_ID_SIZE]);

/**
 * request_groups_are_valid() - Groups of the range only, each with a name, none twice
 * @gid: The primary one, which must not be among them
 *
 * One place of WIRE_GROUPS_MAX is left for the primary group in a receipt's list.
 */
bool request_groups_are_valid(uint32_t gid, const struct wire_group groups[WIRE_GROUPS_MAX],
                              uint32_t count);

/* Is this "" or an absolute path of printable ASCII that a line of passwd(5) can hold? */
bool request_shell_is_valid(const char shell[WIRE_PATH_SIZE]);

/* Can everybody here be given the least that was asked for? Nobody gets less than @have. */
bool request_mode_is_met(uint32_t wanted, enum wire_cgroup_mode have);

/**
 * request_text_take() - Copy a text field if it is one
 * @field:   @size bytes: printable ASCII and a NUL
 * @ret_dst: @size bytes; filled with NULs after the text, untouched on failure
 *
 * Return: true if it was.
 */
bool request_text_take(const char *field, char *ret_dst, size_t size);

#endif
