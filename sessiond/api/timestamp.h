/* SPDX-License-Identifier: ISC */
/* timestamp.h - moments as text: RFC 3339, UTC, whole seconds. */
#ifndef ATELIER_API_TIMESTAMP_H
#define ATELIER_API_TIMESTAMP_H

#include <stdint.h>

#define TIMESTAMP_SIZE 21u /* "2026-11-29T12:00:00Z" and a NUL */

/**
 * timestamp_format() - Write a moment
 * @s: Unix seconds
 *
 * Return: 0, or -ERANGE before 1970 or after 9999, with @ret_text "".
 */
int timestamp_format(int64_t s, char ret_text[TIMESTAMP_SIZE]);

/**
 * timestamp_parse() - Read a moment
 * @text:  "2026-11-29T12:00:00Z"; a fraction of a second may come before the Z, and is cut off.
 *         No other offset: who writes one thinks of a local time, and is better told
 * @ret_s: Unix seconds, 0 or more; untouched on failure
 *
 * Return: 0 or -EINVAL, also for days that there are not and for leap seconds.
 */
int timestamp_parse(const char *text, int64_t *ret_s);

#endif
