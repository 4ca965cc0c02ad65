/* SPDX-License-Identifier: ISC */
/*
 * exit.h - how the atelier command ends, and what each answer of the API means for it.
 *
 * One table: enum, number, sentence of the help text. The manual atelier(1) lists the same rows,
 * and a unit test compares them. Numbers from 64 on are those of sysexits.h; 124 to 127 and 128+n
 * are those of timeout(1), env(1) and the shell; 255 is ssh(1)'s.
 */
#ifndef ATELIER_CTL_EXIT_H
#define ATELIER_CTL_EXIT_H

#include <stdbool.h>

#define CTL_EXITS(X)                                                                               \
    X(OK, 0, "done")                                                                               \
    X(NO, 1, "the answer is no: degraded, not found, taken, locked")                               \
    X(USAGE, 64, "wrong arguments")                                                                \
    X(UNAVAILABLE, 69, "a daemon cannot be reached")                                               \
    X(INTERNAL, 70, "an internal error, or the output cannot be written")                          \
    X(BUSY, 75, "busy for a moment, try again")                                                    \
    X(NOPERM, 77, "permission denied")                                                             \
    X(POLICY, 78, "policy: something is wrong with it")                                            \
    X(RUN_TIMEOUT, 124, "run: the wall time or the processor time was used up")                    \
    X(RUN_FAILED, 125, "run: refused, or ended by something else than the program")                \
    X(RUN_NO_EXEC, 126, "run: the program cannot be started")                                      \
    X(RUN_NOT_FOUND, 127, "run: the program does not exist")                                       \
    X(RUN_SIGNAL, 128, "run: plus the number of the signal that ended the program")                \
    X(SU_FAILED, 255, "su: the login failed, or a signal ended the command")

enum ctl_exit {
#define CTL_EXIT_ENUM(id, number, text) CTL_##id = (number),
    CTL_EXITS(CTL_EXIT_ENUM)
#undef CTL_EXIT_ENUM
};

/**
 * exit_of_http() - What a refusal of the API means for everything but `run`
 * @http: HTTP status code
 * @word: "status" of the error body, or NULL if there is none
 *
 * Return: CTL_OK for 2xx, else the exit code.
 */
enum ctl_exit exit_of_http(long http, const char *word);

/**
 * exit_of_connect() - What a failed connect(2) means
 * @error: Positive errno, 0 if unknown
 */
enum ctl_exit exit_of_connect(int error);

/**
 * exit_of_end() - Exit code of `run` from the fields of the `end` event
 * @status:   Closed list of the API; a word that is not known counts as a failure
 * @has_exit: Whether there is an exit code
 * @code:     The exit code, 0..255
 * @signal:   Name without SIG, or NULL
 *
 * Return: 0..255; CTL_RUN_FAILED also for an event that contradicts itself.
 */
int exit_of_end(const char *status, bool has_exit, long long code, const char *signal);

/**
 * signal_number() - Number of a signal from its name
 * @name: "KILL", "RTMIN+3", or a decimal number
 *
 * Return: the number, or 0 if there is no such signal.
 */
int signal_number(const char *name);

#endif
