/* SPDX-License-Identifier: ISC */
/* pam_fixture.h - a directory of the test's own, and a process in it that plays a daemon. */
#ifndef ATELIER_TESTS_PAM_FIXTURE_H
#define ATELIER_TESTS_PAM_FIXTURE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/pam_wire.h"

/* What the module that is built for the tests connects to, in the working directory. */
#define FAKE_PAM_SOCKET     "pam-under-test.sock"
#define FAKE_SESSION_SOCKET "session-under-test.sock"

/* Plays one connection, in the daemon's process; closes nothing that it did not open. */
typedef void fake_serve(int conn, const void *arg);

/* The daemon's process. */
struct fake {
    pid_t pid;
    int heard; /* read end: whatever the daemon wrote to fake_tell_fd */
};

/* In the daemon's process only: where it tells the test what it heard. */
extern int fake_tell_fd;

/* cmocka: one directory for the whole group. */
int dir_enter(void **state);
int dir_leave(void **state);

/* Listen at @path and play @serve for each connection, until fake_stop(). Fails the test. */
struct fake fake_start(const char *path, fake_serve *serve, const void *arg);

/* What the daemon told so far, at least @least bytes within a second. Return: bytes. */
size_t fake_heard(const struct fake *fake, void *buf, size_t size, size_t least);

void fake_stop(struct fake *fake);

/* A well-formed question with this secret, and the answer to it. */
struct pam_ask ask_make(enum pam_question question, const char *name, const char *secret);
struct pam_answer answer_make(enum pam_question question, uint32_t verdict);

/* How many descriptors this process has. */
size_t fds_count(void);

#endif
