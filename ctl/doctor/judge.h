/* SPDX-License-Identifier: ISC */
/*
 * judge.h - from lines of attacks to a verdict.
 *
 * Reached where it must not be: FAIL. No line, or an answer that is neither yes nor no: UNKNOWN.
 * A refusal passes; how the same attempt went where nothing confines it is told beside it.
 */
#ifndef ATELIER_CTL_DOCTOR_JUDGE_H
#define ATELIER_CTL_DOCTOR_JUDGE_H

#include "ctl/doctor/attempts.h"

/* The doors that confine. */
#define JUDGE_NONE     (1u << PROBE_NONE)
#define JUDGE_PUBLIC   (1u << PROBE_PUBLIC)
#define JUDGE_SESSION  (1u << PROBE_SESSION)
#define JUDGE_CONFINED (JUDGE_NONE | JUDGE_PUBLIC | JUDGE_SESSION)

/* Was anything tried by these doors? Else UNKNOWN is said, with the reason. */
bool judge_is_ready(struct doctor *d, struct doctor_line *l, unsigned doors);

/* The number of those that were refused; anything else has been said. */
size_t judge_refused(struct doctor *d, struct doctor_line *l, unsigned doors, const char *name,
                     const char *target);

/* As judge_refused() for every line that a door has of this name, but those of @except. */
size_t judge_all_refused(struct doctor *d, struct doctor_line *l, unsigned doors, const char *name,
                         const char *const *except);

/* Did it reach it, where nothing confines it? */
bool judge_control(struct doctor *d, enum probe_door door, const char *name, const char *target);

/* Name of the errno that a door was refused with; "" if it was not. */
const char *judge_error(struct doctor *d, enum probe_door door, const char *name,
                        const char *target);

/**
 * judge_path() - A way over the network: refused by a rule for participants, open to root
 * @is_answered: Somebody is there and root must reach him; else nobody answers, and root is to be
 *               let through without an answer
 *
 * Return: 1 if it is refused where it has to be; 0 if something was said; -1 if even root has no
 * way there.
 */
int judge_path(struct doctor *d, struct doctor_line *l, unsigned doors, const char *name,
               const char *target, bool is_answered);

#endif
