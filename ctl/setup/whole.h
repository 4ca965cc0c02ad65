/* SPDX-License-Identifier: ISC */
/* whole.h - files that are all ours (drop-ins), and one option in a file of environment variables.
 */
#ifndef ATELIER_CTL_SETUP_WHOLE_H
#define ATELIER_CTL_SETUP_WHOLE_H

#include "ctl/setup/complaint.h"
#include "ctl/setup/text.h"

/* Whether the file has every line of @wanted that is neither blank nor a comment. */
bool whole_is_there(const struct text *file, const struct text *wanted);

/**
 * whole_unedit() - Take our lines out of a drop-in that others changed since
 * @ours:     The file as we wrote it
 * @ret_text: What others wrote, with the section headers that it needs; no bytes if that is nothing
 */
void whole_unedit(const struct text *now, const struct text *ours, struct text *ret_text);

/* An option of a daemon, and the variable that holds the daemon's options. */
struct option_name {
    const char *key, *option;
    const char *letter; /* "-x", or NULL */
};

/**
 * option_edit() - Put an option with its values into an environment file
 * @old:     The file; without bytes if there is none
 * @values:  At least one; the option is given with each of them. Nothing that needs quotes
 * @ret_why: Set for -EINVAL
 *
 * Values that it has are replaced, where the first of them stands.
 *
 * Return: 0, or -EINVAL for a line whose quoting we do not understand.
 */
int option_edit(const struct text *old, const struct option_name *name, const char *const *values,
                size_t count, struct text *ret_new, struct complaint *ret_why);

/* http:// or https://, a host, maybe a port and a path that ends in a slash or is empty. */
bool link_base_is_valid(const char *url);

#endif
