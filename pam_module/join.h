/* SPDX-License-Identifier: ISC */
/* join.h - a login's process enters its session and confines itself. */
#ifndef ATELIER_PAM_JOIN_H
#define ATELIER_PAM_JOIN_H

#include <stdbool.h>

#include "common/session_wire.h"
#include "pam_module/open.h"
#include "pam_module/options.h"

/* One table: enum, name in the log and in tests/sabotage. In the order in which they are taken. */
#define JOIN_STEPS(X)                                                                              \
    X(ALONE, "alone")                                                                              \
    X(RLIMIT, "rlimit")                                                                            \
    X(JOIN, "join")                                                                                \
    X(CAPS, "caps")                                                                                \
    X(NNP, "nnp")                                                                                  \
    X(LANDLOCK, "landlock")                                                                        \
    X(FILTER, "filter")                                                                            \
    X(LEASE, "lease")

enum join_step {
#define JOIN_STEP_ENUM(id, key) JOIN_STEP_##id,
    JOIN_STEPS(JOIN_STEP_ENUM)
#undef JOIN_STEP_ENUM
        JOIN_STEP__COUNT,
};

/* Name of a step; "?" for a number that is none. */
const char *join_step_key(unsigned step);

/**
 * join_enter() - Take every step but LEASE
 * @options:       Steps that are left out, in the tests' build
 * @opened:        Checked by open_check()
 * @fds:           Closed here, whatever happens
 * @ret_step:      The step that failed; set only then
 * @ret_is_joined: The process is in the namespaces, from where there is no way back; set always
 * @ret_is_scoped: Abstract names outside are out of reach, as the probe has shown; set on success
 *
 * Changes the calling process for ever: on failure too, it must not serve the user any more.
 *
 * Return: 0, or the negative errno of the step. -EINVAL of ALONE: the process has threads.
 */
int join_enter(const struct options *options, const struct session_opened *opened,
               struct open_fds *fds, enum join_step *ret_step, bool *ret_is_joined,
               bool *ret_is_scoped);

#endif
