/* SPDX-License-Identifier: ISC */
/*
 * netrules_seen.h - are the rules of netrules.h the ones that a host has?
 *
 * iptables-save prints rules in a form of its own, which depends on its version and back end. So
 * what a host has is compared with what the same program printed of the same text in a place where
 * nothing else is: the normal form.
 */
#ifndef ATELIER_NETRULES_SEEN_H
#define ATELIER_NETRULES_SEEN_H

#include <stdbool.h>
#include <stddef.h>

#define NETRULES_LINE_SIZE     640u /* our longest is 110 bytes, or a path of NETRULES_CGROUP_SIZE */
#define NETRULES_CHAIN_SIZE    102400u /* ours is 3 KB, or 90 with all that a policy can list */
#define NETRULES_CHAIN_NO_SIZE 1024u
#define NETRULES_OUTPUT_MAX    3u    /* our lines of OUTPUT */
#define NETRULES_STALE_SIZE    4096u /* some of them, of all paths that there were */

/* What is wrong with the rules of one family; the first that is. X(NAME, words for the log) */
#define NETRULES_FAULTS(X)                                                                         \
    X(NONE, "nothing")                                                                             \
    X(JUMP, "the jump is not line 1 of OUTPUT")                                                    \
    X(CGROUP, "the jump by control group is not line 2 of OUTPUT")                                 \
    X(DROP, "the drop of SYN cookies is not behind the jumps in OUTPUT")                           \
    X(CHAIN, "chain ATELIER is another")                                                           \
    X(CHAIN_NO, "chain ATELIER-NO is another")

enum netrules_fault {
#define X(name, words) NETRULES_FAULT_##name,
    NETRULES_FAULTS(X)
#undef X
};

/* Our part of one table, each line as it was printed. */
struct netrules_form {
    unsigned output_count; /* 2, or 3: with the jump by control group; 0: not known yet */
    char output[NETRULES_OUTPUT_MAX][NETRULES_LINE_SIZE]; /* the first lines of OUTPUT */
    char chain[NETRULES_CHAIN_SIZE];
    char chain_no[NETRULES_CHAIN_NO_SIZE];
};

struct netrules_seen {
    struct netrules_form form;
    size_t output_count; /* rules in OUTPUT, others' too */
    size_t chain_used, chain_no_used;
    char stale[NETRULES_STALE_SIZE]; /* netrules_stale() of all of OUTPUT */
    bool jump_present;               /* anywhere in OUTPUT, as in the normal form */
    bool drop_present;
    bool is_cut;        /* longer than anything of ours: cannot be ours */
    bool is_unreadable; /* the program does not understand the table, or a comment has a newline */
};

/**
 * netrules_see() - Take in one line of `iptables-save -t filter`
 * @seen:   All zero before the first line
 * @normal: Borrowed, or NULL while it is being made: jump_present and drop_present stay false
 * @line:   With or without its newline; what is none of ours changes nothing
 */
void netrules_see(struct netrules_seen *seen, const struct netrules_form *normal, const char *line);

/**
 * netrules_form_is_whole() - Is this all of our rules, and nothing else in OUTPUT?
 * @has_cgroup: With the jump by control group
 */
bool netrules_form_is_whole(const struct netrules_seen *seen, bool has_cgroup);

/* The form of what is whole; it becomes a normal one. */
void netrules_form_take(const struct netrules_seen *seen, struct netrules_form *ret_normal);

/* @seen: after its last line. */
enum netrules_fault netrules_compare(const struct netrules_seen *seen,
                                     const struct netrules_form *normal);

/* Return: words for the log, static. */
const char *netrules_fault_words(enum netrules_fault fault);

#endif
