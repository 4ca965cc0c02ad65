/* SPDX-License-Identifier: ISC */
/* shells.h - which programs are login shells of this host. */
#ifndef ATELIER_API_SHELLS_H
#define ATELIER_API_SHELLS_H

#include <stdbool.h>

/**
 * shells_has() - Is this path listed in a file in the form of shells(5)?
 * @file:    Path of it; SHELLS_FILE
 * @ret_has: The answer, set when 0 is returned
 *
 * Return: 0 or a negative errno; callers refuse on both.
 */
#define SHELLS_FILE "/etc/shells"
int shells_has(const char *file, const char *shell, bool *ret_has);

#endif
