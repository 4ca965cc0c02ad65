/* SPDX-License-Identifier: ISC */
/* when.h - moments and durations as an administrator writes them. */
#ifndef ATELIER_CTL_WHEN_H
#define ATELIER_CTL_WHEN_H

#include <stdint.h>

/* A hundred years: longer is a slip of the finger. */
#define DURATION_MAX_S ((int64_t)36525 * 24 * 60 * 60)

/**
 * duration_parse() - "90s", "15m", "2h", "14d", "1w" in seconds
 * @text:  A number and one unit, borrowed
 * @ret_s: 1..DURATION_MAX_S
 *
 * Return: 0, -EINVAL for what is no duration, -ERANGE for one that is zero or too long.
 */
int duration_parse(const char *text, int64_t *ret_s);

/**
 * moment_parse() - A day, a moment, or a duration from now
 * @text:  "2026-11-30" (the last second of that day, UTC), "2026-11-30T18:00:00+01:00" (RFC 3339,
 *         without fractions), or "+14d"
 * @now_s: Unix seconds
 * @ret_s: Unix seconds, 1 or more
 *
 * Return: 0, -EINVAL for what is none of these or no day of the calendar, -ERANGE for a duration
 * that is too long.
 */
int moment_parse(const char *text, int64_t now_s, int64_t *ret_s);

#endif
