/* SPDX-License-Identifier: ISC */
/* outcome.h - what sessiond says of the end of a run, in the words of the API. */
#ifndef ATELIER_API_OUTCOME_H
#define ATELIER_API_OUTCOME_H

#include <stdbool.h>
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
