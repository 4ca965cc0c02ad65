/* SPDX-License-Identifier: ISC */
/*
 * program.h - programs of the host: by path, without a shell, with an environment of our own.
 */
#ifndef ATELIER_CTL_SETUP_PROGRAM_H
#define ATELIER_CTL_SETUP_PROGRAM_H

#include <sys/types.h>

#include "ctl/setup/text.h"

/**
 * program_run() - Run a program to its end
 * @argv:       Absolute path and arguments, NULL at the end
 * @timeout_s:  Afterwards it is killed
 * @ret_output: Standard output and error together, owned by the caller; may be NULL
 *
 * Standard input is empty, the language C, and debconf asks nobody.
 *
 * Return: its exit code, 128 + N after signal N, or -ENOENT if there is no such program,
 * -ETIMEDOUT, or another errno.
 */
int program_run(const char *const *argv, unsigned timeout_s, struct text *ret_output);

/**
 * program_start() - The same by parts, for who has to talk with it
 * @talk:   Becomes its standard input and output; -1: the input is empty, the output is @output
 * @output: Of memfd_create(2): becomes its standard error
 *
 * Return: 0 or a negative errno.
 */
int program_start(const char *const *argv, int talk, int output, pid_t *ret_pid);

/* @timeout_s: 0: none. Return: as program_run(). */
int program_wait(pid_t pid, unsigned timeout_s);

/* What it has written. The caller's. */
struct text program_output(int output);

/**
 * program_why() - Why a program failed, for a sentence
 * @result: What program_run() returned, not 0
 * @output: What it wrote, or NULL
 *
 * "pwd.lock held (exit code 10)"; "was killed by signal 11 (Segmentation fault)"; heap.
 */
char *program_why(int result, const struct text *output);

/* The last line that is not blank, for a sentence; escaped by say_error(). Heap. */
char *output_last_line(const struct text *output);

/* "systemctl reload ssh": the words with a blank between. Heap. */
char *argv_text(const char *const *argv);

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
