/* SPDX-License-Identifier: ISC */
/* sshd.h - what sshd_config(5) and the output of sshd -T say about a drop-in. */
#ifndef ATELIER_CTL_SETUP_SSHD_H
#define ATELIER_CTL_SETUP_SSHD_H

#include <stdbool.h>

#include "ctl/setup/complaint.h"
#include "ctl/setup/text.h"

#define SSHD_DROP_IN "/etc/ssh/sshd_config.d/50-atelier.conf"

#define SSHD_PROGRAM "/usr/sbin/sshd"

/**
 * sshd_run() - Run the host's sshd to look at its configuration (sshd -t, -T)
 *
 * It wants its directory to exist even for that, which is made when its service starts.
 *
 * Return: as program_run().
 */
int sshd_run(const char *const *argv, struct text *ret_output);

/**
 * sshd_include_check() - Whether sshd_config reads a drop-in for everybody
 * @path: Absolute path of the drop-in
 *
 * An Include behind a Match line would hold for some logins only.
 *
 * Return: 0, or -EINVAL with the line where an Include should be.
 */
int sshd_include_check(const struct text *config, const char *path, struct complaint *ret_why);

/**
 * sshd_match_denials() - Where a list of groups that are refused stands in a Match block
 * @path: Configuration to begin with, included files are followed
 * @out:  Gets "FILE:LINE" of each, with a comma between
 *
 * For the logins that such a block is for, its list replaces that of all others, ours with it; and
 * sshd -T without a login does not show it. Source: sshd_config(5), servconf.c of OpenSSH 9.2.
 *
 * Return: how many there are.
 */
size_t sshd_match_denials(const char *path, FILE *out);

/* Whether the output of sshd -T says that PAM is asked. */
bool sshd_uses_pam(const struct text *effective);

/* Whether /etc/default/ssh makes sshd read another configuration. Return: 0 or -EINVAL. */
int sshd_options_check(const struct text *defaults, struct complaint *ret_why);

/* Whether the output of sshd -T has this group among those that are refused. */
bool sshd_denies(const struct text *effective, const char *group);

/* The first group or user that is refused before and not after, or NULL. Heap. */
char *sshd_denied_missing(const struct text *before, const struct text *after);

#endif
