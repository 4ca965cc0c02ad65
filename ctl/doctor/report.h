/* SPDX-License-Identifier: ISC */
/*
 * report.h - what a check of atelier doctor found, and how it is printed.
 *
 * A check looks at one thing and says what it saw, with numbers. A check that could not find out
 * says so (DOCTOR_UNKNOWN), which counts as a failure: what was not seen is not known to hold. One
 * that says nothing is unknown, too.
 */
#ifndef ATELIER_CTL_DOCTOR_REPORT_H
#define ATELIER_CTL_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ctl/args.h"

/* Verdict: word of the table, word of --json; from the best to the worst. */
#define DOCTOR_VERDICTS(X)                                                                         \
    X(SKIP, "skip", "skip")                                                                        \
    X(PASS, "ok", "pass")                                                                          \
    X(WARN, "warn", "warn")                                                                        \
    X(UNKNOWN, "unknown", "unknown")                                                               \
    X(FAIL, "FAIL", "fail")

enum doctor_verdict {
#define DOCTOR_VERDICT_ENUM(id, shown, word) DOCTOR_##id,
    DOCTOR_VERDICTS(DOCTOR_VERDICT_ENUM)
#undef DOCTOR_VERDICT_ENUM
};

#define DOCTOR_GROUPS(X)                                                                           \
    X(HOST, "host")                                                                                \
    X(SERVICE, "service")                                                                          \
    X(NETWORK, "network")                                                                          \
    X(ISOLATION, "isolation")                                                                      \
    X(ATTACK, "attack")

enum doctor_group {
#define DOCTOR_GROUP_ENUM(id, word) DOCTOR_GROUP_##id,
    DOCTOR_GROUPS(DOCTOR_GROUP_ENUM)
#undef DOCTOR_GROUP_ENUM
};

struct doctor;
struct doctor_line;

/* A row of checks.def. */
struct doctor_check {
    const char *id; /* stable and documented: atelier-doctor(8) */
    enum doctor_group group;
    bool is_short;    /* one of those at the start of the services */
    const char *what; /* what is shown if it passes */
    const char *mend; /* command or sentence that mends it */
    void (*look)(struct doctor *d, struct doctor_line *l);
};

/* One line of the report. */
struct doctor_line {
    const struct doctor_check *check; /* static */
    enum doctor_verdict verdict;
    bool is_said;
    char *evidence; /* escaped for a terminal; heap */
    char *mend;     /* instead of the check's own, escaped; heap, or NULL */
};

/* What the checks of one report share. Members are owned by those who fill them. */
struct doctor {
    const struct options *opt;
    bool is_short;
    struct doctor_facts *facts; /* facts.h: asked once for all checks */
    struct probe_host *probe;   /* probe.h: likewise */
};

/**
 * doctor_say() - What was seen, and what it means
 * @v:      Verdict
 * @format: Evidence in a few words, with numbers; escaped here, so that anybody's text may be in it
 *
 * A check may say several things: a worse verdict takes the place of what was said before, an equal
 * one is added behind a semicolon, a better one is dropped.
 */
void doctor_say(struct doctor_line *l, enum doctor_verdict v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What mends just this, instead of the sentence of checks.def; the last one holds. */
void doctor_mend(struct doctor_line *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the verdict counts as a failure of the whole report. */
static inline bool doctor_is_bad(enum doctor_verdict v)
{
    return v == DOCTOR_FAIL || v == DOCTOR_UNKNOWN;
}

/* "pass" and so on. Static. */
const char *doctor_verdict_word(enum doctor_verdict v);
const char *doctor_group_word(enum doctor_group g);

struct report {
    struct doctor_line *lines;
    size_t count;
};

/* A report of @count lines of nothing. Out of memory ends the program. */
void report_init(struct report *r, size_t count);
void report_done(struct report *r);
#define cleanup_report __attribute__((cleanup(report_done)))

/* How lines are written. */
struct report_form {
    size_t columns;  /* width to wrap at; 0: every check stays on one line */
    bool is_colour;  /* the verdict is coloured, which adds nothing to the word */
    bool is_journal; /* each line begins with its level, as journald reads it (sd-daemon(3)) */
};

/**
 * report_wrap() - Write text whose first line begins in column @at, and break it before @limit
 * @limit: Columns of a line; 0: it is not broken
 *
 * Between words; goes on in column @at. A word that is longer than a line stays whole, so that it
 * can be copied.
 */
void report_wrap(FILE *out, const char *text, size_t at, size_t limit);

/**
 * report_print() - A line for each check, and below it what mends it if it is not well
 *
 * The last line counts the verdicts.
 */
void report_print(const struct report *r, FILE *out, const struct report_form *form);

/* One object: {"verdict": "pass" or "fail", "checks": [...], and the number of each verdict}. */
void report_print_json(const struct report *r);

/* Whether nothing failed, and nothing is unknown. */
bool report_is_well(const struct report *r);

#endif
