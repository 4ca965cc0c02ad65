/* SPDX-License-Identifier: ISC */
/*
 * netcount_seen.c - what the kernel has counted.
 *
 * The sets are printed one after the other, and packets do not wait: a try can be in one and not
 * yet in the other. "tried" is printed first, so that a refusal is rather missing than invented.
 */
#include "policy/netcount_seen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ids.h"
#include "policy/netcount.h"
#include "policy/netreason.h"
#include "policy/netrules.h"

#include "common/banned.h"

#define USERS       (ID_NET_MAX - ID_NET_MIN + 1u)
#define ROWS_STEP   1024u
#define ROWS_MAX    (6u * NETCOUNT_REFUSED_MAX) /* of both families: of reasons, and of no ports */
#define WORDS_MAX   24u
#define NAME_MAX_   32u
#define ELEMENT_MAX 256u

/* enum tcp_state of include/net/tcp_states.h; UDP uses ESTABLISHED and CLOSE. */
#define TCP_TIME_WAIT 6u
#define TCP_CLOSE     7u
#define TCP_LISTEN    10u

struct count {
    uint64_t packets, bytes;
};

struct user {
    struct count tried, opened, limited, sent;
    uint64_t listed;
    uint32_t open;
};

struct rows {
    struct wire_net_refused *row;
    uint32_t count, room;
};

struct netcount_seen {
    struct user users[USERS];
    struct rows refused, leaked;
    uint32_t rule_count;
    struct wire_net_rule rules[WIRE_NET_RULES_MAX];
    bool is_cut;

    char set[NAME_MAX_]; /* whose lines these are, or "" */
    bool in_elements;
};

int netcount_seen_new(struct netcount_seen **ret_seen)
{
    struct netcount_seen *seen = calloc(1, sizeof(*seen));

    if (!seen)
        return -ENOMEM;
    *ret_seen = seen;
    return 0;
}

void netcount_seen_free(struct netcount_seen *seen)
{
    if (!seen)
        return;
    free(seen->refused.row);
    free(seen->leaked.row);
    free(seen);
}

/* --- words --------------------------------------------------------------------------------- */

static bool number_read(const char *word, int base, uint64_t most, uint64_t *ret)
{
    char *end;
    unsigned long long n;

    if (!strchr("0123456789abcdefABCDEF", word[0]) || !word[0])
        return false;
    errno = 0;
    n = strtoull(word, &end, base);
    if (errno != 0 || *end || n > most)
        return false;
    *ret = n;
    return true;
}

static struct user *user_of(struct netcount_seen *seen, uint64_t uid)
{
    return uid >= ID_NET_MIN && uid <= ID_NET_MAX ? &seen->users[uid - ID_NET_MIN] : NULL;
}

/* --- nft ----------------------------------------------------------------------------------- */

/* ... counter packets 3 bytes 142 ... Return: false if there is none. */
static bool count_read(char *const *words, size_t n, struct count *ret)
{
    for (size_t i = 0; i + 4 < n; i++) {
        if (strcmp(words[i], "counter") == 0 && strcmp(words[i + 1], "packets") == 0 &&
            strcmp(words[i + 3], "bytes") == 0)
            return number_read(words[i + 2], 10, UINT64_MAX, &ret->packets) &&
                   number_read(words[i + 4], 10, UINT64_MAX, &ret->bytes);
    }
    return false;
}

static bool user_see(struct netcount_seen *seen, char *const *words, size_t n)
{
    struct count count = {0};
    struct user *user;
    uint64_t uid;

    if (n < 1 || !number_read(words[0], 10, UINT32_MAX, &uid) || !count_read(words, n, &count))
        return false;
    user = user_of(seen, uid);
    if (!user)
        return false;
    if (strcmp(seen->set, "tried") == 0)
        user->tried = count;
    else if (strcmp(seen->set, "opened") == 0)
        user->opened = count;
    else if (strcmp(seen->set, "limited") == 0)
        user->limited = count;
    else
        user->sent = count;
    return true;
}

static bool row_add(struct rows *rows, const struct wire_net_refused *row)
{
    if (rows->count == ROWS_MAX)
        return false;
    if (rows->count == rows->room) {
        uint32_t room = rows->room + ROWS_STEP;
        void *more = reallocarray(rows->row, room, sizeof(*row));

        if (!more)
            return false;
        rows->row = more;
        rows->room = room;
    }
    rows->row[rows->count++] = *row;
    return true;
}

/* "10077 . 17 . 99 . 127.0.0.1 counter ...", or without the port. */
static bool destination_see(struct netcount_seen *seen, struct rows *rows, bool has_port,
                            enum wire_net_reason reason, char *const *words, size_t n)
{
    struct wire_net_refused row = {.reason = reason, .family = 4};
    const size_t keys = has_port ? 7 : 5;
    uint64_t uid, protocol, port = 0;
    struct count count = {0};
    struct user *user;

    if (n < keys)
        return false;
    for (size_t i = 1; i < keys; i += 2) {
        if (strcmp(words[i], ".") != 0)
            return false;
    }
    if (!number_read(words[0], 10, UINT32_MAX, &uid) ||
        !number_read(words[2], 10, UINT8_MAX, &protocol) ||
        (has_port && !number_read(words[4], 10, UINT16_MAX, &port)) ||
        !count_read(words + keys, n - keys, &count))
        return false;
    if (inet_pton(AF_INET, words[keys - 1], row.addr) != 1) {
        row.family = 6;
        if (inet_pton(AF_INET6, words[keys - 1], row.addr) != 1)
            return false;
    }
    user = user_of(seen, uid);
    if (!user)
        return false;
    row.uid = (uint32_t)uid;
    row.protocol = (uint8_t)protocol;
    row.port = (uint16_t)port;
    row.tries = count.packets;
    return row_add(rows, &row);
}

static bool reason_read(const char *key, enum wire_net_reason *ret)
{
    static const char *const keys[] = {
#define KEY(id, key, text) [WIRE_NET_REASON_##id] = key,
        WIRE_NET_REASONS(KEY)
#undef KEY
    };

    for (int i = 0; i < WIRE_NET_REASON__COUNT; i++) {
        if (strcmp(key, keys[i]) == 0) {
            *ret = (enum wire_net_reason)i;
            return true;
        }
    }
    return false;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(name, *names) == 0)
            return true;
    }
    return false;
}

static bool element_see(struct netcount_seen *seen, char *text)
{
    static const char *const users[] = {"tried", "opened", "limited", "sent", NULL};
    static const char *const others[] = {"other4", "other6", NULL};
    static const char *const leaked[] = {"leaked4", "leaked6", NULL};
    enum wire_net_reason reason;
    char *words[WORDS_MAX], *save = NULL;
    size_t n = 0;

    for (char *w = strtok_r(text, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) {
        if (n == WORDS_MAX)
            return false;
        words[n++] = w;
    }
    if (n == 0)
        return true;
    if (is_one_of(seen->set, users))
        return user_see(seen, words, n);
    if (is_one_of(seen->set, others))
        return destination_see(seen, &seen->refused, false, WIRE_NET_REASON_PROTOCOL, words, n);
    if (is_one_of(seen->set, leaked))
        return destination_see(seen, &seen->leaked, true, WIRE_NET_REASON_OTHER, words, n);
    if (strncmp(seen->set, "no", 2) == 0 && (seen->set[2] == '4' || seen->set[2] == '6') &&
        seen->set[3] == '-' && reason_read(seen->set + 4, &reason))
        return destination_see(seen, &seen->refused, true, reason, words, n);
    return true; /* none that counts */
}

static void elements_see(struct netcount_seen *seen, const char *text)
{
    while (*text && *text != '\n') {
        size_t length = strcspn(text, ",}\n");
        char copy[ELEMENT_MAX];

        if (length >= sizeof(copy)) {
            seen->is_cut = true;
        } else {
            memcpy(copy, text, length);
            copy[length] = '\0';
            if (!element_see(seen, copy))
                seen->is_cut = true;
        }
        text += length;
        if (*text == '}') {
            seen->in_elements = false;
            return;
        }
        text += *text == ',';
    }
}

void netcount_see_table(struct netcount_seen *seen, const char *line)
{
    static const char set[] = "set ", elements[] = "elements = {";
    size_t length;

    line += strspn(line, " \t");
    if (seen->in_elements) {
        elements_see(seen, line);
    } else if (strncmp(line, set, sizeof(set) - 1) == 0) {
        line += sizeof(set) - 1;
        length = strcspn(line, " {\n");
        seen->set[0] = '\0';
        if (length < sizeof(seen->set)) {
            memcpy(seen->set, line, length);
            seen->set[length] = '\0';
        }
    } else if (line[0] == '}') {
        seen->set[0] = '\0';
    } else if (seen->set[0] && strncmp(line, elements, sizeof(elements) - 1) == 0) {
        seen->in_elements = true;
        elements_see(seen, line + sizeof(elements) - 1);
    }
}

/* --- iptables-save ------------------------------------------------------------------------- */

/* Printable ASCII only: others' comments do not come here, but nothing else is promised. */
static void rule_text(char ret[WIRE_NET_TEXT_SIZE], const char *text, size_t length)
{
    size_t n = length < WIRE_NET_TEXT_SIZE - 1 ? length : WIRE_NET_TEXT_SIZE - 1;

    for (size_t i = 0; i < n; i++)
        ret[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    ret[n] = '\0';
}

void netcount_see_rule(struct netcount_seen *seen, bool is_v6, const char *line)
{
    static const char chain[] = "-A " NETRULES_CHAIN " ";
    struct wire_net_rule rule = {.family = is_v6 ? 6 : 4};
    enum wire_net_reason reason;
    char *end;

    /* [packets:bytes] -A CHAIN ... */
    if (line[0] != '[')
        return;
    rule.packets = strtoull(line + 1, &end, 10);
    if (*end != ':')
        return;
    rule.bytes = strtoull(end + 1, &end, 10);
    if (end[0] != ']' || end[1] != ' ' || !netreason_of(end + 2, &reason))
        return;
    if (seen->rule_count == WIRE_NET_RULES_MAX) {
        seen->is_cut = true;
        return;
    }
    rule.reason = reason;
    line = end + 2 + sizeof(chain) - 1;
    rule_text(rule.text, line, strcspn(line, "\n"));
    seen->rules[seen->rule_count++] = rule;
}

/* --- sockets ------------------------------------------------------------------------------- */

void netcount_see_socket(struct netcount_seen *seen, const char *line)
{
    unsigned state, uid;
    struct user *user;

    /* sl local remote st tx:rx tr:when retrnsmt uid ...; the head of the list has no number */
    if (sscanf(line, " %*u: %*s %*s %x %*s %*s %*s %u", &state, &uid) != 2)
        return;
    user = user_of(seen, uid);
    if (user && state != TCP_LISTEN && state != TCP_CLOSE && state != TCP_TIME_WAIT)
        user->open++;
}

/* --- rows ---------------------------------------------------------------------------------- */

static int key_compare(const void *left, const void *right)
{
    const struct wire_net_refused *a = left, *b = right;

    if (a->uid != b->uid)
        return a->uid < b->uid ? -1 : 1;
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if (a->protocol != b->protocol)
        return a->protocol < b->protocol ? -1 : 1;
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    return memcmp(a->addr, b->addr, sizeof(a->addr));
}

static int tries_compare(const void *left, const void *right)
{
    const struct wire_net_refused *a = left, *b = right;

    if (a->tries + a->passed != b->tries + b->passed)
        return a->tries + a->passed > b->tries + b->passed ? -1 : 1;
    return key_compare(left, right);
}

static int user_compare(const void *left, const void *right)
{
    const struct wire_net_user *a = left, *b = right;

    if (a->refused != b->refused)
        return a->refused > b->refused ? -1 : 1;
    if (a->packets != b->packets)
        return a->packets > b->packets ? -1 : 1;
    return a->uid < b->uid ? -1 : a->uid > b->uid;
}

/* Of what should have been refused, take out what passed. */
static void leaks_join(struct netcount_seen *seen)
{
    struct rows *r = &seen->refused;

    if (r->count == 0)
        return;
    qsort(r->row, r->count, sizeof(*r->row), key_compare);
    for (uint32_t i = 0; i < seen->leaked.count; i++) {
        const struct wire_net_refused *leak = &seen->leaked.row[i];
        struct wire_net_refused *row =
            bsearch(leak, r->row, r->count, sizeof(*r->row), key_compare);

        if (!row)
            continue;
        row->passed = leak->tries < row->tries ? leak->tries : row->tries;
        row->tries -= row->passed;
    }
    seen->leaked.count = 0;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Of all users those that are told first are kept, without sorting all of them. */
static void user_tell(struct netcount_result *ret, const struct wire_net_user *user)
{
    if (ret->user_count < WIRE_NET_USERS_MAX) {
        ret->users[ret->user_count++] = *user;
        if (ret->user_count == WIRE_NET_USERS_MAX)
            qsort(ret->users, ret->user_count, sizeof(*user), user_compare);
        return;
    }
    ret->sum.is_cut = true;
    for (uint32_t i = WIRE_NET_USERS_MAX; i > 0; i--) {
        if (user_compare(user, &ret->users[i - 1]) >= 0)
            return;
        if (i < WIRE_NET_USERS_MAX)
            ret->users[i] = ret->users[i - 1];
        ret->users[i - 1] = *user;
    }
}

static void limited_tell(struct netcount_result *ret, const struct count *limited)
{
    struct wire_net_rule *rule;

    if (ret->rule_count == WIRE_NET_RULES_MAX)
        return;
    rule = &ret->rules[ret->rule_count++];
    *rule = (struct wire_net_rule){.reason = WIRE_NET_REASON_CONNECTIONS,
                                   .packets = limited->packets,
                                   .bytes = limited->bytes};
    (void)snprintf(rule->text, sizeof(rule->text), "table inet " NETCOUNT_TABLE);
}

void netcount_tell(struct netcount_seen *seen, uint32_t uid, struct netcount_result *ret)
{
    struct count limited = {0};

    leaks_join(seen);
    ret->user_count = ret->refused_count = 0;
    ret->sum.is_cut = seen->is_cut;
    for (uint32_t i = 0; i < seen->refused.count; i++)
        seen->users[seen->refused.row[i].uid - ID_NET_MIN].listed += seen->refused.row[i].tries;
    for (uint32_t i = 0; i < USERS; i++) {
        const struct user *u = &seen->users[i];
        struct wire_net_user row = {.uid = ID_NET_MIN + i,
                                    .open = u->open,
                                    .opened = u->opened.packets,
                                    .refused = minus(u->tried.packets, u->opened.packets),
                                    .limited = u->limited.packets,
                                    .listed = u->listed,
                                    .packets = u->opened.packets + u->sent.packets,
                                    .bytes = u->opened.bytes + u->sent.bytes};

        limited.packets += u->limited.packets;
        limited.bytes += u->limited.bytes;
        if ((uid == 0 || uid == row.uid) && (u->tried.packets || u->sent.packets || u->open))
            user_tell(ret, &row);
    }
    qsort(ret->users, ret->user_count, sizeof(ret->users[0]), user_compare);
    if (seen->refused.count > 0)
        qsort(seen->refused.row, seen->refused.count, sizeof(seen->refused.row[0]), tries_compare);
    for (uint32_t i = 0; i < seen->refused.count; i++) {
        if (uid != 0 && seen->refused.row[i].uid != uid)
            continue;
        if (ret->refused_count == WIRE_NET_REFUSED_MAX) {
            ret->sum.is_cut = true;
            break;
        }
        ret->refused[ret->refused_count++] = seen->refused.row[i];
    }
    ret->rule_count = seen->rule_count;
    memcpy(ret->rules, seen->rules, sizeof(ret->rules));
    limited_tell(ret, &limited);
}
