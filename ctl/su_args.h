/* SPDX-License-Identifier: ISC */
/* su_args.h - from the arguments of `atelier su` to the call of ssh. */
#ifndef ATELIER_CTL_SU_ARGS_H
#define ATELIER_CTL_SU_ARGS_H

#include "ctl/args.h"

#define SU_SSH         "/usr/bin/ssh"
#define SU_HOST        "127.0.0.1"
#define SU_PORT        "2222"
#define SU_KNOWN_HOSTS ATELIER_SYSCONF_DIR "/atelier/known_hosts"
#define SU_ASKPASS     ATELIER_PROGRAMS_DIR "/askpass"

struct su_args {
    struct options *opt;
    const char *name, *port;
    char **command; /* NULL-terminated; NULL for a shell; borrowed */
};

/* Parameters as for run_args_parse(). Return: 0 or -EINVAL. */
int su_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                  struct su_args *ret_args);

/* What execve(2) gets; NULL-terminated, owned. */
struct su_exec {
    char **argv, **envp;
};

/**
 * su_exec_make() - The call of ssh for a login
 * @code:     Of the link; goes into the environment of ssh, which askpass inherits, and nowhere
 *            else: arguments can be read by everybody
 * @is_tty:   Whether our standard input is a terminal
 * @envp:     Our environment, borrowed: TERM and the locale are handed on
 * @ret_exec: su_exec_done()
 */
void su_exec_make(const struct su_args *args, const char *code, bool is_tty, char *const *envp,
                  struct su_exec *ret_exec);

void su_exec_done(struct su_exec *exec);

/**
 * words_quote() - One line from which a shell makes the same words again
 * @words: NULL-terminated, borrowed; any bytes
 *
 * Return: heap.
 */
char *words_quote(char *const *words);

#endif
