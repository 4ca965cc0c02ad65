/* SPDX-License-Identifier: ISC */
/*
 * names.h - what the names of the policy's allow stand for, from answer to answer.
 *
 * Pure data: somebody else asks, and says what the time is. An address is let through, not a name:
 * whatever else is at that address is let through as well.
 *
 * An address that is in no answer any more is kept for NAMES_KEEP_MS, since connections use it, and
 * because big names give another part of their addresses each time. While there is no answer at
 * all, nothing goes. What is refused for everybody, or by the policy, is never taken, whatever the
 * answer says; nor more addresses of a name than there is room for: those not seen for longest go.
 */
#ifndef ATELIER_NAMES_H
#define ATELIER_NAMES_H

#include "policy/netrules.h"
#include "policy/policy.h"

#define NAMES_ADDRESSES_MAX 32u  /* of one name */
#define NAMES_TOTAL_MAX     256u /* of all, each counted once for each port */
#define NAMES_KEEP_MS       3600000
#define NAMES_TTL_LEAST_MS  60000
#define NAMES_TTL_MOST_MS   3600000
#define NAMES_RETRY_MS      5000 /* after the first failure; doubled up to NAMES_TTL_LEAST_MS */
_Static_assert(NAMES_TOTAL_MAX + POLICY_ALLOW_MAX <= NETRULES_ALLOWED_MAX, "there is room for all");
_Static_assert(NAMES_TOTAL_MAX >= POLICY_ALLOW_MAX, "each name has room for one");

/* X(id, word for those who look) */
#define NAMES_STATES(X)                                                                            \
    X(UNKNOWN, "not looked up yet")                                                                \
    X(FOUND, "found")                                                                              \
    X(EMPTY, "has no address")                                                                     \
    X(FAILED, "no answer")

enum names_state {
#define NAMES_STATE_ENUM(id, word) NAMES_##id,
    NAMES_STATES(NAMES_STATE_ENUM)
#undef NAMES_STATE_ENUM
};

struct names_address {
    struct prefix prefix;
    int64_t seen_ms; /* in the last answer that had it */
};

struct names_entry {
    char host[POLICY_HOST_SIZE];
    enum names_state state;
    int64_t due_ms; /* when it is to be looked up again */
    uint32_t failures;
    uint32_t count, room;
    struct names_address addresses[NAMES_ADDRESSES_MAX];
    uint32_t refused, left_out; /* of the last answer: not taken, for what they are, or for room */
    struct prefix first_refused;
};

struct names {
    uint32_t count;
    struct names_entry entries[POLICY_ALLOW_MAX];
};

/* What a look-up came to. */
struct names_answer {
    enum names_state state; /* all but UNKNOWN */
    uint32_t ttl_s;
    uint32_t count;
    struct prefix addresses[NAMES_ADDRESSES_MAX];
    uint32_t left_out; /* addresses for which there was no room in here */
};

const char *names_state_word(enum names_state state);

/**
 * names_follow() - The names of another policy
 * @names: All zero, or as it was
 *
 * Names that stay keep what they have, less what is refused now. All of them are due.
 */
void names_follow(struct names *names, const struct policy_net *net, int64_t now_ms);

/**
 * names_take() - An answer about entry @i
 * @denied: What is refused besides what always is
 *
 * Return: whether the addresses are others than before.
 */
bool names_take(struct names *names, uint32_t i, const struct names_answer *answer,
                const struct prefix *denied, size_t denied_count, int64_t now_ms);

/* Drop what is refused now. Return: whether there was any. */
bool names_refuse(struct names *names, const struct prefix *denied, size_t denied_count);

/* When the next one is due; INT64_MAX: there are no names. */
int64_t names_due_ms(const struct names *names);

/**
 * names_allowed() - All that the policy lets through, names as what they stand for now
 *
 * Return: how many.
 */
size_t names_allowed(const struct names *names, const struct policy_net *net,
                     struct netrules_allowed ret_allowed[NETRULES_ALLOWED_MAX]);

#endif
