/* SPDX-License-Identifier: ISC */
/*
 * netcount.c - who reached what, and how many connections one user may have.
 *
 * The rules of netrules.c are between two chains of this table: "tried" meets a packet of ours
 * right before them (their hook has priority 0), "passed" right behind. What is counted here and
 * not there was refused, by whatever rule: so the number of refusals is never that of other rules
 * than those that the host has. What else is told of a try, its destination and the reason, comes
 * from the rules as netrules_text() wrote them, each translated into the same match of nft, in the
 * same order, with the same ways out. If a try that they refuse gets to "passed" all the same,
 * somebody has taken the rules away, and it is counted with its destination.
 *
 * Counted are tries: packets of which conntrack knows no connection yet, and answers to others'.
 * Those of known connections only meet three cheap matches and one counter.
 *
 * The limit comes last, so that refused tries, which no connection becomes of, do not count. The
 * kernel keeps a list of each user's connections (ct count) and leaves out TCP connections that are
 * closed, though its table keeps those for two minutes. Therefore the second limit: so many new
 * ones in a row, then so many a second. Who has met a limit is refused for a moment without a look
 * at the list: each look lengthens it, and old kernels shorten it by eight entries a tick
 * (nf_conncount.c, CONNCOUNT_GC_MAX_NODES), which a flood would outrun.
 */
#include "policy/netcount.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "policy/netreason.h"
#include "policy/netrules.h"

#include "common/banned.h"

/* All rules that netrules.c can make, twice at most 100 bytes each, and 300 chains of 700. */
#define CHAIN_SIZE 131072u
#define TEXT_SIZE  524288u
#define TYPES_SIZE 256u
#define LINE_SIZE  512u
#define BEGIN      "-A " NETRULES_CHAIN " "

#define NET_MIN 10000
#define NET_MAX 59999
_Static_assert(ID_NET_MIN == NET_MIN && ID_NET_MAX == NET_MAX, "the range is that of ids.h");

#define STR_(x)      #x
#define STR(x)       STR_(x)
#define RANGE        STR(NET_MIN) "-" STR(NET_MAX)
#define USERS_SIZE   "65536" /* more than there are UIDs in the range */
#define OVER_TIMEOUT "100ms"
/*
 * New destinations of one user: a scan fills the list with 848 of its own in an hour at most. One
 * that is tried on and on is new again after an hour.
 */
#define NOISY "limit rate over 12/minute burst 128 packets"
/* After so many new connections in a row, 1/16 of them a second: NETCOUNT_CONNECTIONS: 128. */
#define FRESH_SHARE 16u
/* Of what all together may have: so much is each one's own. */
#define SPARE_SHARE 64u
/* How long conntrack keeps a closed TCP connection. Source: nf_conntrack_tcp_timeout_time_wait */
#define CLOSED_S 120u

struct text {
    char *buf;
    size_t size, used;
    bool overflow;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->buf + t->used, t->size - t->used, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->size - t->used) {
        t->overflow = true;
        return;
    }
    t->used += (size_t)n;
}

/* --- one rule of netrules.c ---------------------------------------------------------------- */

struct match {
    char text[LINE_SIZE];
    bool is_strange;
};

static void match_add(struct match *m, const char *before, const char *value)
{
    size_t used = strlen(m->text);
    int n = snprintf(m->text + used, sizeof(m->text) - used, "%s%s ", before, value);

    if (n < 0 || (size_t)n >= sizeof(m->text) - used)
        m->is_strange = true;
}

/* One word, and its value: both of them of iptables(8), iptables-extensions(8). */
static const struct word {
    const char *word;
    const char *value; /* the only one that is understood, or NULL: any */
    const char *nft;   /* before the value, or all of it if value is set */
} words[] = {
    {"-p", NULL, "meta l4proto "},
    {"--dport", NULL, "th dport "},
    {"--dst-type", "LOCAL", "fib daddr type local"},
    {"--dst-type", "BROADCAST", "fib daddr type broadcast"},
    {"--dst-type", "MULTICAST", "fib daddr type multicast"},
    {"--ctdir", "REPLY", "ct direction reply"},
    {"-m", "rt", "exthdr rt exists"},
    {"-m", "tcp", ""},
    {"-m", "udp", ""},
    {"-m", "addrtype", ""},
    {"-m", "comment", ""},
    {"--comment", "on-link", ""},
    {"-m", "conntrack", ""},
};

static bool word_translate(struct match *m, const char *word, const char *value)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i].word) != 0)
            continue;
        if (!words[i].value)
            match_add(m, words[i].nft, value);
        else if (strcmp(value, words[i].value) != 0)
            continue;
        else if (words[i].nft[0])
            match_add(m, words[i].nft, "");
        return true;
    }
    return false;
}

/*
 * @line: words of one rule behind the chain's name, written to
 * Return: the target, or NULL for a rule that is not understood.
 */
static const char *rule_translate(char *line, bool is_v6, struct match *ret_match)
{
    const char *daddr = is_v6 ? "ip6 daddr " : "ip daddr ";
    const char *daddr_not = is_v6 ? "ip6 daddr != " : "ip daddr != ";
    char *save = NULL, *word;

    *ret_match = (struct match){0};
    for (word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        bool is_not = strcmp(word, "!") == 0;
        const char *value;

        if (is_not)
            word = strtok_r(NULL, " ", &save);
        value = word ? strtok_r(NULL, " ", &save) : NULL;
        if (!value || ret_match->is_strange)
            return NULL;
        if (strcmp(word, "-d") == 0) {
            match_add(ret_match, is_not ? daddr_not : daddr, value);
        } else if (is_not) {
            return NULL;
        } else if (strcmp(word, "-j") == 0) {
            return strtok_r(NULL, " ", &save) ? NULL : value;
        } else if (strcmp(word, "--tcp-flags") == 0) {
            const char *set = strtok_r(NULL, " ", &save);

            if (strcmp(value, "SYN,ACK") != 0 || !set || strcmp(set, "SYN,ACK") != 0)
                return NULL;
            match_add(ret_match, "tcp flags & (syn|ack) == (syn|ack)", "");
        } else if (!word_translate(ret_match, word, value)) {
            return NULL;
        }
    }
    return NULL;
}

static const char *reason_key(enum wire_net_reason reason)
{
    static const char *const keys[] = {
#define KEY(id, key, text) [WIRE_NET_REASON_##id] = key,
        WIRE_NET_REASONS(KEY)
#undef KEY
    };

    return keys[reason];
}

#define KEY_TYPE "type uid . inet_proto . inet_service . ipv%s_addr; "
#define AGING    "size %u; flags dynamic,timeout; timeout %us; }\n"

/* --- the table ----------------------------------------------------------------------------- */

static void sets_add(struct text *t)
{
    static const char *const users[] = {"tried", "opened", "limited", "sent",
                                        "open",  "fresh",  "spare",   "noisy"};
    static const char *const families[] = {"4", "6"};

    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
        add(t, "set %s { type uid; size " USERS_SIZE "; flags dynamic; }\n", users[i]);
    add(t, "set over { type uid; size " USERS_SIZE "; flags dynamic,timeout; "
           "timeout " OVER_TIMEOUT "; }\n");
    for (size_t i = 0; i < 2; i++) {
        const char *f = families[i];

        /* Of all reasons, to be asked; no6-local and the like count. */
        add(t, "set known%s { " KEY_TYPE AGING, f, f, NETCOUNT_REFUSED_MAX, NETCOUNT_REFUSED_S);
        add(t, "set leaked%s { " KEY_TYPE AGING, f, f, NETCOUNT_REFUSED_MAX, NETCOUNT_REFUSED_S);
        /* Of transports without ports: refused for that, whatever other reason there is. */
        add(t, "set other%s { type uid . inet_proto . ipv%s_addr; " AGING, f, f,
            NETCOUNT_REFUSED_MAX, NETCOUNT_REFUSED_S);
    }
}

#define KEY4  "meta skuid . meta l4proto . th dport . ip daddr"
#define KEY6  "meta skuid . meta l4proto . th dport . ip6 daddr"
#define PORTS "meta l4proto { tcp, udp, udplite, sctp, dccp }"

/*
 * What is done with a try that is refused for this reason. A set for each reason: nft 1.0.6 makes
 * wrong keys, or none, where a value belongs to one with an IPv6 address. A full set "known" takes
 * no more, and the rule ends there: so the sets of all reasons together have at most twice its
 * size, since a destination stays in them for an hour after it has left "known".
 */
static void why_add(struct text *t, bool is_v6, enum wire_net_reason reason)
{
    const char *key = is_v6 ? KEY6 : KEY4, *name = reason_key(reason);
    int f = is_v6 ? 6 : 4;

    add(t, "set no%d-%s { " KEY_TYPE AGING, f, name, is_v6 ? "6" : "4", NETCOUNT_REFUSED_MAX,
        NETCOUNT_REFUSED_S);
    add(t, "chain yes%d-%s {\n", f, name);
    add(t, PORTS " add @known%d { %s } update @no%d-%s { %s counter } return\n", f, key, f, name,
        key);
    add(t, PORTS " return\n");
    add(t, "update @other%d { meta skuid . meta l4proto . %s daddr counter }\n}\n", f,
        is_v6 ? "ip6" : "ip");
    add(t, "chain no%d-%s {\n", f, name);
    add(t, PORTS " %s @known%d goto yes%d-%s\n", key, f, f, name);
    add(t, "add @noisy { meta skuid " NOISY " } return\n");
    add(t, "goto yes%d-%s\n}\n", f, name);
}

/* The rules of one family, as they are translated. */
struct chain {
    struct text text;
    int family;
    bool is_strange;
    char types[TYPES_SIZE]; /* rules that ask for the type of the destination, not yet written */
};

/* One look into the routing table for all of these rules: that is what costs. */
static void types_flush(struct chain *c)
{
    if (c->types[0])
        add(&c->text, "fib daddr type vmap { %s }\n", c->types);
    c->types[0] = '\0';
}

static void refuse_add(struct chain *c, const char *match, enum wire_net_reason reason)
{
    static const char by_type[] = "fib daddr type ";
    size_t used = strlen(c->types), type = sizeof(by_type) - 1;
    int n;

    if (strncmp(match, by_type, type) != 0 ||
        strchr(match + type, ' ') != match + strlen(match) - 1) {
        types_flush(c);
        add(&c->text, "%sgoto no%d-%s\n", match, c->family, reason_key(reason));
        return;
    }
    n = snprintf(c->types + used, sizeof(c->types) - used, "%s%s: goto no%d-%s", used ? ", " : "",
                 match + type, c->family, reason_key(reason));
    if (n < 0 || (size_t)n >= sizeof(c->types) - used)
        c->is_strange = true;
}

static void rule_add(struct chain *c, const char *line, size_t length)
{
    enum wire_net_reason reason;
    char copy[LINE_SIZE];
    struct match match;
    const char *target;

    if (length < sizeof(BEGIN) - 1 || strncmp(line, BEGIN, sizeof(BEGIN) - 1) != 0)
        return;
    if (length >= sizeof(copy)) {
        c->is_strange = true;
        return;
    }
    memcpy(copy, line, length);
    copy[length] = '\0';
    target = rule_translate(copy + sizeof(BEGIN) - 1, c->family == 6, &match);
    if (target && strcmp(target, "RETURN") == 0) {
        types_flush(c);
        add(&c->text, "%sreturn\n", match.text);
    } else if (target && netreason_of(line, &reason)) {
        refuse_add(c, match.text, reason);
    } else {
        c->is_strange = true;
    }
}

/* The rules of one family as a chain, behind those for their reasons. Return: all of them? */
static bool family_add(struct text *t, const char *rules, bool is_v6)
{
    cleanup_free char *buf = malloc(CHAIN_SIZE);
    struct chain chain = {.text = {.buf = buf, .size = CHAIN_SIZE}, .family = is_v6 ? 6 : 4};
    bool is_whole;

    for (const char *line = rules; buf && *line;) {
        size_t length = strcspn(line, "\n");

        rule_add(&chain, line, length);
        line += length + (line[length] == '\n');
    }
    if (buf)
        types_flush(&chain);
    is_whole = buf && !chain.is_strange && !chain.text.overflow;
    for (int i = 0; i < WIRE_NET_REASON__COUNT; i++)
        why_add(t, is_v6, (enum wire_net_reason)i);
    add(t, "chain try%d {\n%.*s}\n", chain.family, is_whole ? (int)chain.text.used : 0,
        buf ? buf : "");
    return is_whole;
}

/* Packets of a connection that is known, and not an answer to somebody from outside. */
#define KNOWN "ct direction original ct status confirmed"

static uint32_t least(uint32_t n)
{
    return n > 0 ? n : 1;
}

static void limits_add(struct text *t, const struct netcount_spec *spec)
{
    uint32_t most = spec->table_size / 4;

    add(t, "chain full {\nupdate @limited { meta skuid counter }\n"
           "meta l4proto tcp reject with tcp reset\nreject with icmpx admin-prohibited\n}\n");
    /* When all together are too many, each still gets a little: nobody can use up what is
     * another's. */
    if (most >= CLOSED_S)
        add(t,
            "chain crowded {\n"
            "add @spare { meta skuid limit rate over %u/minute burst %u packets } goto full\n}\n",
            least(most / (CLOSED_S / 60) / SPARE_SHARE), least(most / SPARE_SHARE));
    add(t, "chain hold {\nmeta skuid @over goto full\n");
    add(t, "add @open { meta skuid ct count over %u } add @over { meta skuid } goto full\n",
        spec->connections);
    add(t, "add @fresh { meta skuid limit rate over %u/second burst %u packets } goto full\n",
        least(spec->connections / FRESH_SHARE), spec->connections);
    /* All together: what is closed and still in the table is half of it at most, and as much again
     * of what is spared for 64 users. */
    if (most >= CLOSED_S)
        add(t, "limit rate over %u/second burst %u packets goto crowded\n", most / CLOSED_S, most);
    add(t, "}\n");
}

static void chains_add(struct text *t)
{
    add(t, "chain user-tried {\n" KNOWN " return\n"
           "update @tried { meta skuid counter }\n"
           "meta nfproto ipv4 goto try4\ngoto try6\n}\n");
    add(t, "chain user-passed {\n" KNOWN " update @sent { meta skuid counter } return\n"
           "ct state new jump hold\n"
           "update @opened { meta skuid counter }\n"
           "meta nfproto ipv4 " KEY4 " @known4 update @leaked4 { " KEY4 " counter }\n"
           "meta nfproto ipv6 " KEY6 " @known6 update @leaked6 { " KEY6 " counter }\n}\n");
    add(t, "chain tried {\ntype filter hook output priority -1; policy accept;\n"
           "meta skuid " RANGE " jump user-tried\n}\n");
    add(t, "chain passed {\ntype filter hook output priority 1; policy accept;\n"
           "meta skuid " RANGE " jump user-passed\n}\n");
}

#define TABLE "table inet " NETCOUNT_TABLE

const char *netcount_removal(void)
{
    return "add " TABLE "\ndelete " TABLE "\n";
}

int netcount_text(const struct netcount_spec *spec, char **ret_text, bool *ret_whole)
{
    cleanup_free char *buf = malloc(TEXT_SIZE);
    struct text t = {.buf = buf, .size = TEXT_SIZE};
    bool is_whole4, is_whole6;

    if (!buf)
        return -ENOMEM;
    if (spec->keeps_counts)
        add(&t, "flush " TABLE "\n" TABLE " {\n");
    else
        add(&t, "%s" TABLE " {\n", netcount_removal());
    sets_add(&t);
    is_whole4 = family_add(&t, spec->rules4, false);
    is_whole6 = family_add(&t, spec->rules6, true);
    limits_add(&t, spec);
    chains_add(&t);
    add(&t, "}\n");
    if (t.overflow)
        return -ENOMEM;
    *ret_text = buf;
    buf = NULL;
    *ret_whole = is_whole4 && is_whole6;
    return 0;
}
