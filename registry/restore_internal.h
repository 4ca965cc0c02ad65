/* SPDX-License-Identifier: ISC */
/* restore_internal.h - what the files of a restore share. */
#ifndef ATELIER_RESTORE_INTERNAL_H
#define ATELIER_RESTORE_INTERNAL_H

#include <stdbool.h>

#include "common/ids.h"
#include "registry/registry_internal.h"

/* What is restored, into what, and how. */
struct restore {
    struct registry *reg;
    struct registry *in; /* the file; borrows the directory of @reg */
    int in_fd;           /* of the file, to be read as it is */
    const struct restore_how *how;
    bool is_checked; /* this very file was found good a moment ago */
    bool has_asked;  /* the host, for somebody who comes to life */
    struct registry_restored result;
    bool seen[ID_ALLOC_MAX - ID_ALLOC_MIN + 1]; /* of the ids of @reg */
    bool used[ID_ALLOC_MAX - ID_ALLOC_MIN + 1]; /* of the ids of @in */
};

/* The sentence of the file's connection is the one of the restore. Return: @r. */
int restore_fail(struct restore *x, int r);

/**
 * restore_merge() - What the file does not know, and what must not come back with it
 *
 * Inside an open change of the file, which is checked and of the current schema.
 *
 * Return: 0, -EEXIST with the sentence in @x->reg, what a function of @x->how returned, or a
 * negative errno.
 */
int restore_merge(struct restore *x);

#endif
