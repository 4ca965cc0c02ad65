/* SPDX-License-Identifier: ISC */
/*
 * nsswitch.h - the word "atelier" in nsswitch.conf(5), and out of it again.
 *
 * It goes last on the lines passwd and group, and on initgroups where there is one, so that every
 * source of the host's own is asked before ours. Nothing else of the file changes, not a blank.
 */
#ifndef ATELIER_CTL_SETUP_NSSWITCH_H
#define ATELIER_CTL_SETUP_NSSWITCH_H

#include "ctl/setup/complaint.h"
#include "ctl/setup/text.h"

/**
 * nsswitch_edit() - Let the host ask our module
 * @old:     The file; without bytes if there is none
 * @ret_new: The edited text, owned by the caller; the same bytes if nothing is missing
 * @ret_why: Set for -EINVAL
 *
 * Return: 0, or -EINVAL for a file in which our word would not work: no line passwd or group, no
 * "files" or "compat" on it, ours before it, or an action that ends the search on NOTFOUND.
 */
int nsswitch_edit(const struct text *old, struct text *ret_new, struct complaint *ret_why);

/* The file without our word, and without what was written behind it for our module alone. */
void nsswitch_unedit(const struct text *now, struct text *ret_text);

/**
 * nsswitch_services() - The other sources of a database
 * @database: "passwd" or "group"
 * @ret:      Words with a NUL behind each, as the text; owned by the caller
 *
 * Without "files", "compat", "systemd" and our own.
 */
void nsswitch_services(const struct text *file, const char *database, struct text *ret);

#endif
