/* SPDX-License-Identifier: ISC */
/* filter.h - the system call filter: a deny-list as a table, and as a program for seccomp(2). */
#ifndef ATELIER_FILTER_H
#define ATELIER_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum filter_profile {
    FILTER_RUN = 0,   /* a run: AF_UNIX only as a connected pair */
    FILTER_LOGIN = 1, /* a session: AF_UNIX too */
};

#define FILTER_IN(profile) (1u << (profile))
#define FILTER_CMP_MAX     2

/* Holds if (argument & mask) is one of first..last, or is not 0. */
struct filter_cmp {
    unsigned int arg; /* 0..5 */
    uint64_t mask;
    uint32_t first;
    uint32_t last;
    bool is_nonzero; /* the whole argument; mask, first and last are of no meaning */
};

/* One row of syscalls.def. All conditions must hold; a row without any always applies. */
struct filter_rule {
    unsigned int profiles; /* FILTER_IN(profile) | ... */
    const char *name;
    int nr_first; /* numbers on this architecture; negative: it has no such call */
    int nr_last;
    size_t cmp_count;
    struct filter_cmp cmp[FILTER_CMP_MAX];
    int error; /* positive errno that the caller sees; 0: success without effect */
    const char *reason;
    const char *source;
};

/**
 * filter_rule_get() - One row of the table, for the manual page and the tests
 * @i: Row, from 0
 *
 * Return: the row (static), or NULL past the end.
 */
const struct filter_rule *filter_rule_get(size_t i);

/**
 * filter_build() - Compile the table for one profile
 * @profile:   Which rows count
 * @ret_insns: The program for seccomp(SECCOMP_SET_MODE_FILTER), heap, free() it
 * @ret_count: Its instructions, 1..BPF_MAXINSNS
 *
 * Everything that no row names is allowed. Calls by another architecture's entry (i386, x32) are
 * ENOSYS. Nothing is loaded: the caller sets no_new_privs and loads the program, as often as it
 * likes. Uses a memfd for a moment (libseccomp exports to descriptors only); at home in start-up
 * code, not in the path of a run.
 *
 * Return: 0, -EINVAL for an unknown profile, -ENOMEM, or libseccomp's negative errno.
 */
int filter_build(enum filter_profile profile, struct sock_filter **ret_insns, size_t *ret_count);

/* --- text, filter_show.c */

/**
 * filter_when_put() - The conditions of a row in words: "family is 2 and type & 0xf is 3"
 * @r: The row
 * @to: Where to; "always" if there is none
 *
 * Return: 0, -ENOENT if an argument of the call has no name yet (filter_show.c), or -EIO.
 */
int filter_when_put(const struct filter_rule *r, FILE *to);

/* What the caller gets, by name: "EPERM" ... or "success". Static. */
const char *filter_error_name(const struct filter_rule *r);

/**
 * filter_show() - The rows of one profile, a line each, in the order of the table
 * @profile: Which
 * @to: Where to
 *
 * Call (or numbers "471-511"), conditions, what it gives, reason and source, between tabs. Rows of
 * calls that this architecture does not have are left out.
 *
 * Return: 0, or as filter_when_put().
 */
int filter_show(enum filter_profile profile, FILE *to);

#endif
