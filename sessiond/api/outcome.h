/* SPDX-License-Identifier: ISC */
/* outcome.h - what sessiond says of the end of a run, in the words of the API. */
#ifndef ATELIER_API_OUTCOME_H
#define ATELIER_API_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire.h"
#include "sessiond/api/status.h"

/* Exit codes of a shell for a program that cannot be started (POSIX, 2.8.2). */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

/* Why we asked for the end of a run. */
enum kill_reason {
    KILL_NOT_ASKED,
    KILL_CLIENT_GONE,
    KILL_FLOOD,
    KILL_STOPPING,
    KILL_LOCKED, /* the user was locked, or their time is over */
};

struct outcome {
    enum status status;
    int32_t exit_code; /* -1: none */
    int32_t signal;    /* 0: none */
    const char *step;  /* only for setup_failed; static */
    char message[512]; /* "" for none */
    struct {
        uint64_t wall_ms;
        uint64_t cpu_us;
        uint64_t rss_peak_kib;
        struct wire_usage group; /* of its control group */
    } usage;
};

/**
 * outcome_of_end() - RUN_ENDED in the words of the API
 * @m:       Message, checked
 * @asked:   Why we sent RUN_KILL, if we did
 * @program: argv[0], for the message of a program that could not be started
 */
struct outcome outcome_of_end(const struct wire_run_ended *m, enum kill_reason asked,
                              const char *program);

/* RUN_FAILED in the words of the API. */
struct outcome outcome_of_failure(const struct wire_run_failed *m);

/**
 * outcome_step_message() - One sentence about a step that failed
 * @step:  Known
 * @error: Positive errno, or 0
 * @what:  WIRE_PATH_SIZE bytes with a NUL; may be ""
 */
void outcome_step_message(uint32_t step, uint32_t error, const char *what, char *ret_message,
                          size_t size);

/* Word for how a session ended, in the audit and the log; "lost" for a value that is not known. */
const char *outcome_session_end_key(uint32_t end);

/* The connection to sessiond broke, and with it the run ended. */
struct outcome outcome_of_loss(void);

/* The request could not be handed to sessiond for want of room. */
struct outcome outcome_of_busy(const char *message);

/* Name without "SIG", e.g. "KILL"; "RTMIN+n"; valid until the next call. NULL for 0. */
const char *outcome_signal_name(int signal);

/* Are the enum values of these messages known? Anything else ends the connection. */
bool outcome_end_is_known(uint32_t end);
bool outcome_step_is_known(uint32_t step);

#endif
