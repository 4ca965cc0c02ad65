/* SPDX-License-Identifier: ISC */
/*
 * tree.h - build the file trees of policy/plan.h.
 *
 * Runs in the spawner and in the inits, never in the monitor. Every function stops at the first
 * step that fails and says which path it was about.
 */
#ifndef ATELIER_TREE_H
#define ATELIER_TREE_H

#include <stddef.h>

#include "sessiond/monitor/spawn_wire.h"

/* Text that the plan cannot know before the host is read; borrowed. */
struct tree_texts {
    const char *passwd; /* system lines */
    const char *group;
    const char *resolv_conf;
};

/**
 * tree_enter_base() - Make the prepared tree and live in it
 * @texts:    Content of generated files
 * @ret_what: On failure: the path it is about, borrowed, static
 *
 * Must: be called in the spawner, single-threaded, with the host's tree as root.
 * Leaves: an own mount namespace without propagation, the prepared tree as "/", read-only, the
 * host's tree detached.
 *
 * Return: 0 or a negative errno; the caller exits on failure.
 */
int tree_enter_base(const struct tree_texts *texts, const char **ret_what);

/**
 * tree_add_run() - Add what a run has for itself
 * @req:      Whose, borrowed
 * @texts:    As for tree_enter_base()
 * @work_fd:  Detached mount for HOME/work, or -1 for none
 * @tree_fds: Detached mounts of the trees of the plan
 * @ret_what: On failure: the path it is about, borrowed, static
 *
 * Must: be called in the init, in a new mount and PID namespace below the spawner's.
 * Must not: have given up its capabilities yet.
 *
 * Return: 0 or a negative errno.
 */
int tree_add_run(const struct spawn_request *req, const struct tree_texts *texts, int work_fd,
                 const int *tree_fds, const char **ret_what);

/**
 * tree_add_session() - Add what a session has for itself
 * @home_fd: Detached mount of the user's home
 *
 * As tree_add_run(), with terminals, the whole home, and the mark that the login shell looks for.
 */
int tree_add_session(const struct spawn_request *req, const struct tree_texts *texts, int home_fd,
                     const int *tree_fds, const char **ret_what);

#endif
