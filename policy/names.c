/* SPDX-License-Identifier: ISC */
/* names.c - what the names of the policy's allow stand for, from answer to answer. */
#include "policy/names.h"

#include <string.h>

#include "common/banned.h"

const char *names_state_word(enum names_state state)
{
    static const char *const words[] = {
#define WORD(id, word) [NAMES_##id] = word,
        NAMES_STATES(WORD)
#undef WORD
    };

    return words[state];
}

/* Not the Internet, or refused by the policy. */
static bool is_refused(const struct prefix *p, const struct prefix *denied, size_t count)
{
    if (!prefix_is_address(p) || prefix_refused(p))
        return true;
    for (size_t i = 0; i < count; i++) {
        if (prefix_is_within(p, &denied[i]))
            return true;
    }
    return false;
}

static void address_drop(struct names_entry *e, uint32_t i)
{
    e->addresses[i] = e->addresses[--e->count];
    memset(&e->addresses[e->count], 0, sizeof(e->addresses[e->count]));
}

static struct names_address *address_find(struct names_entry *e, const struct prefix *p)
{
    for (uint32_t i = 0; i < e->count; i++) {
        if (prefix_is_same(&e->addresses[i].prefix, p))
            return &e->addresses[i];
    }
    return NULL;
}

/* Of those that are not in the answer of now, the one that was not seen for longest. */
static struct names_address *address_oldest(struct names_entry *e, int64_t now_ms)
{
    struct names_address *oldest = NULL;

    for (uint32_t i = 0; i < e->count; i++) {
        struct names_address *a = &e->addresses[i];

        if (a->seen_ms < now_ms && (!oldest || a->seen_ms < oldest->seen_ms))
            oldest = a;
    }
    return oldest;
}

static struct names_entry *entry_find(struct names *names, const char *host)
{
    for (uint32_t i = 0; i < names->count; i++) {
        if (strcmp(names->entries[i].host, host) == 0)
            return &names->entries[i];
    }
    return NULL;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void names_follow(struct names *names, const struct policy_net *net, int64_t now_ms)
{
    struct names next = {0};
    uint32_t named = 0;

    for (uint32_t i = 0; i < net->allow_count; i++)
        named += net->allow[i].host[0] != '\0';
    for (uint32_t i = 0; i < net->allow_count; i++) {
        const char *host = net->allow[i].host;
        struct names_entry *e, *before;

        if (host[0] == '\0' || entry_find(&next, host))
            continue;
        e = &next.entries[next.count++];
        before = entry_find(names, host);
        if (before)
            *e = *before;
        else
            (void)str_copy(e->host, sizeof(e->host), host);
        e->due_ms = now_ms;
        e->room = least_of(NAMES_ADDRESSES_MAX, NAMES_TOTAL_MAX / named);
        while (e->count > e->room)
            address_drop(e, e->count - 1);
    }
    *names = next;
    (void)names_refuse(names, net->deny, net->deny_count);
}

static bool entry_refuse(struct names_entry *e, const struct prefix *denied, size_t count)
{
    bool changed = false;

    for (uint32_t i = 0; i < e->count;) {
        if (is_refused(&e->addresses[i].prefix, denied, count)) {
            address_drop(e, i);
            changed = true;
        } else {
            i++;
        }
    }
    return changed;
}

bool names_refuse(struct names *names, const struct prefix *denied, size_t denied_count)
{
    bool changed = false;

    for (uint32_t i = 0; i < names->count; i++)
        changed |= entry_refuse(&names->entries[i], denied, denied_count);
    return changed;
}

static void entry_fail(struct names_entry *e, int64_t now_ms)
{
    int64_t wait_ms = NAMES_RETRY_MS;

    for (uint32_t i = 0; i < e->failures && wait_ms < NAMES_TTL_LEAST_MS; i++)
        wait_ms *= 2;
    e->failures++;
    e->state = NAMES_FAILED;
    e->due_ms = now_ms + (wait_ms < NAMES_TTL_LEAST_MS ? wait_ms : NAMES_TTL_LEAST_MS);
}

/* Return: whether it is new. */
static bool address_take(struct names_entry *e, const struct prefix *p, int64_t now_ms)
{
    struct names_address *a = address_find(e, p);
    bool is_new = !a;

    if (!a && e->count < e->room)
        a = &e->addresses[e->count++];
    if (!a)
        a = address_oldest(e, now_ms);
    if (!a) {
        e->left_out++;
        return false;
    }
    *a = (struct names_address){.prefix = *p, .seen_ms = now_ms};
    return is_new;
}

static bool addresses_age(struct names_entry *e, int64_t now_ms)
{
    bool changed = false;

    for (uint32_t i = 0; i < e->count;) {
        if (now_ms - e->addresses[i].seen_ms > NAMES_KEEP_MS) {
            address_drop(e, i);
            changed = true;
        } else {
            i++;
        }
    }
    return changed;
}

bool names_take(struct names *names, uint32_t i, const struct names_answer *answer,
                const struct prefix *denied, size_t denied_count, int64_t now_ms)
{
    int64_t ttl_ms = (int64_t)answer->ttl_s * 1000;
    struct names_entry *e;
    bool changed = false;

    if (i >= names->count)
        return false;
    e = &names->entries[i];
    if (answer->state != NAMES_FOUND && answer->state != NAMES_EMPTY) {
        entry_fail(e, now_ms);
        return false;
    }
    if (ttl_ms < NAMES_TTL_LEAST_MS || answer->state == NAMES_EMPTY)
        ttl_ms = NAMES_TTL_LEAST_MS;
    if (ttl_ms > NAMES_TTL_MOST_MS)
        ttl_ms = NAMES_TTL_MOST_MS;
    e->state = answer->state;
    e->failures = 0;
    e->due_ms = now_ms + ttl_ms;
    e->refused = 0;
    e->left_out = answer->left_out;
    for (uint32_t k = 0; k < answer->count && k < NAMES_ADDRESSES_MAX; k++) {
        const struct prefix *p = &answer->addresses[k];

        if (!is_refused(p, denied, denied_count))
            changed |= address_take(e, p, now_ms);
        else if (e->refused++ == 0)
            e->first_refused = *p;
    }
    return addresses_age(e, now_ms) || changed;
}

int64_t names_due_ms(const struct names *names)
{
    int64_t due_ms = INT64_MAX;

    for (uint32_t i = 0; i < names->count; i++) {
        if (names->entries[i].due_ms < due_ms)
            due_ms = names->entries[i].due_ms;
    }
    return due_ms;
}

size_t names_allowed(const struct names *names, const struct policy_net *net,
                     struct netrules_allowed ret_allowed[NETRULES_ALLOWED_MAX])
{
    size_t n = 0;

    for (uint32_t i = 0; i < net->allow_count; i++) {
        const struct policy_allow *a = &net->allow[i];

        if (a->host[0] == '\0' && n < NETRULES_ALLOWED_MAX)
            ret_allowed[n++] = (struct netrules_allowed){.prefix = a->prefix, .port = a->port};
        for (uint32_t k = 0; a->host[0] != '\0' && k < names->count; k++) {
            const struct names_entry *e = &names->entries[k];

            if (strcmp(e->host, a->host) != 0)
                continue;
            for (uint32_t j = 0; j < e->count && n < NETRULES_ALLOWED_MAX; j++)
                ret_allowed[n++] =
                    (struct netrules_allowed){.prefix = e->addresses[j].prefix, .port = a->port};
        }
    }
    return n;
}
