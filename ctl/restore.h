/* SPDX-License-Identifier: ISC */
/* restore.h - a backup that lies before the api: what it would change, the question, and the act.
 */
#ifndef ATELIER_CTL_RESTORE_H
#define ATELIER_CTL_RESTORE_H

#include <stdbool.h>

#include "ctl/args.h"
#include "ctl/exit.h"

struct restore_args {
    struct options *opt;
    const char *file;
    bool is_dry_run, is_yes;
};

/**
 * restore_do() - Have the api rehearse, ask, and have it do just that
 *
 * The rehearsal comes with a digest of the file, which the act repeats: what was agreed to is what
 * is done, or nothing.
 *
 * Return: exit code; whatever went wrong has been said.
 */
enum ctl_exit restore_do(const struct restore_args *args);

#endif
