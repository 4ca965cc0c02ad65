/* SPDX-License-Identifier: ISC */
/* status.h - the closed list of words that say how a request or a run came out. */
#ifndef ATELIER_API_STATUS_H
#define ATELIER_API_STATUS_H

/* One table: enum, word in the API and in the audit. */
#define STATUSES(X)                                                                                \
    X(OK, "ok")                                                                                    \
    X(EXIT, "exit")                                                                                \
    X(SIGNAL, "signal")                                                                            \
    X(TIMEOUT_WALL, "timeout_wall")                                                                \
    X(TIMEOUT_CPU, "timeout_cpu")                                                                  \
    X(OOM, "oom")                                                                                  \
    X(PIDS, "pids")                                                                                \
    X(DISK, "disk")                                                                                \
    X(OUTPUT_FLOOD, "output_flood")                                                                \
    X(CANCELLED, "cancelled")                                                                      \
    X(BAD_REQUEST, "bad_request")                                                                  \
    X(UNKNOWN_USER, "unknown_user")                                                                \
    X(LOCKED, "locked")                                                                            \
    X(NOT_ALLOWED, "not_allowed")                                                                  \
    X(BUSY, "busy")                                                                                \
    X(SETUP_FAILED, "setup_failed")                                                                \
    X(INTERNAL, "internal")

enum status {
#define STATUS_ENUM(id, key) STATUS_##id,
    STATUSES(STATUS_ENUM)
#undef STATUS_ENUM
        STATUS__COUNT,
};

/* The word; borrowed, static. */
const char *status_key(enum status status);

#endif
