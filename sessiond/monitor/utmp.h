/* SPDX-License-Identifier: ISC */
/*
 * utmp.h - sessions in the host's utmp and wtmp, for who(1) and last(1).
 *
 * sshd writes its own records from inside the session's tree, where these files are not: sessiond
 * writes them instead. Lines are "atelier/N", which is no terminal of the host; ut_id is made from
 * N, so that two sessions never share a record. Source: utmp(5).
 *
 * Written by hand, because pututxline(3) waits up to ten seconds for a lock that every reader of
 * the file can hold: here a lock that is not free within UTMP_LOCK_MS is done without. Nobody else
 * has our ids, and a record is appended by one write.
 */
#ifndef ATELIER_UTMP_H
#define ATELIER_UTMP_H

#include <stdint.h>
#include <sys/types.h>

#define UTMP_LOCK_MS   20
#define UTMP_SLOTS_MAX 4096u

struct utmp_entry {
    uint32_t slot;     /* N, 0..UTMP_SLOTS_MAX - 1; unique among the living */
    pid_t pid;         /* login's process on the host */
    const char *user;  /* borrowed */
    const char *rhost; /* borrowed, "" if local */
    int64_t at_us;     /* Unix microseconds */
};

/* ut_line of a slot, NUL-terminated. */
#define UTMP_LINE_SIZE 32u
void utmp_line(uint32_t slot, char ret_line[UTMP_LINE_SIZE]);

/**
 * utmp_login() - Write the records of a login, utmp_logout() - those of its end
 *
 * A host without one of the files gets no record there.
 *
 * Return: 0 or a negative errno; the other file is written all the same.
 */
int utmp_login(const struct utmp_entry *entry);
int utmp_logout(const struct utmp_entry *entry);

#endif
