/* SPDX-License-Identifier: ISC */
/*
 * attack_net.c - what participants reach over the network.
 *
 * Nothing leaves the host, whatever its rules are. Its own addresses are tried with a service of
 * the doctor's that root reaches at the same time. Addresses of others are tried by lo: who is let
 * out gets no answer there, as root does; a refusal at once is that of a rule. IPv6 has no such
 * way, so its rules are read first, and nothing is sent where one is missing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/judge.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

#define OPEN_DOORS (JUDGE_PUBLIC | JUDGE_SESSION)
#define RULES_S    10

/* Return: false if something was said. @ret_skipped: ways that there are not. */
static bool paths_judge(struct doctor *d, struct doctor_line *l, const char *name,
                        const struct targets *t, bool is_answered, size_t *ret_skipped)
{
    bool all = true;

    *ret_skipped = 0;
    for (size_t i = 0; i < t->count; i++) {
        int r = judge_path(d, l, OPEN_DOORS, name, t->text[i], is_answered);

        all = all && r != 0;
        *ret_skipped += r < 0;
    }
    return all;
}

/* "127.0.0.1, 127.8.9.10": without what is around the addresses. */
static void addresses_text(const struct targets *t, char *ret, size_t size)
{
    size_t used = 0;

    ret[0] = '\0';
    for (size_t i = 0; i < t->count && used < size; i++) {
        const char *at = strchr(t->text[i], '/') ? strchr(t->text[i], '/') + 1 : t->text[i];
        size_t len = (size_t)(strrchr(at, ':') - at);

        if (*at == '[') {
            at++;
            len -= 2;
        }
        used +=
            (size_t)snprintf(ret + used, size - used, "%s%.*s", i > 0 ? ", " : "", (int)len, at);
    }
}

static void own_judge(struct doctor *d, struct doctor_line *l, const struct targets *t)
{
    size_t tcp_skipped, udp_skipped;
    char text[512];
    bool all;

    if (t->count == 0) {
        doctor_say(l, DOCTOR_SKIP, "there is no such address");
        return;
    }
    all = paths_judge(d, l, "tcp", t, true, &tcp_skipped);
    all = paths_judge(d, l, "udp", t, true, &udp_skipped) && all;
    addresses_text(t, text, sizeof(text));
    if (all)
        doctor_say(l, DOCTOR_PASS,
                   "%s: TCP and UDP refused to a run and a session; root reached %s", text,
                   tcp_skipped + udp_skipped > 0 ? "what there is of it" : "all");
}

static const struct bait *ready_bait(struct doctor *d, struct doctor_line *l)
{
    const struct bait *b;
    const char *why;

    if (!judge_is_ready(d, l, OPEN_DOORS | 1u << PROBE_ROOT))
        return NULL;
    b = attempts_bait(d, &why);
    if (!b)
        doctor_say(l, DOCTOR_UNKNOWN, "%s", why);
    return b;
}

void check_net_loopback(struct doctor *d, struct doctor_line *l)
{
    const struct bait *b = ready_bait(d, l);
    struct targets t;

    if (!b)
        return;
    targets_loopback(b, &t);
    own_judge(d, l, &t);
}

void check_net_own(struct doctor *d, struct doctor_line *l)
{
    const struct bait *b = ready_bait(d, l);
    struct targets t;

    if (!b)
        return;
    targets_own(b, &t);
    own_judge(d, l, &t);
}

void check_net_private(struct doctor *d, struct doctor_line *l)
{
    size_t tcp_skipped, udp_skipped;
    struct targets t;
    char text[512];

    if (!ready_bait(d, l))
        return;
    targets_private(&t);
    if (!paths_judge(d, l, "tcp", &t, false, &tcp_skipped) ||
        !paths_judge(d, l, "udp", &t, false, &udp_skipped))
        return;
    addresses_text(&t, text, sizeof(text));
    if (tcp_skipped == t.count)
        doctor_say(l, DOCTOR_SKIP, "no way to such an address, not even for root");
    else
        doctor_say(l, DOCTOR_PASS,
                   "%s: TCP and UDP refused at once to a run and a session; root is "
                   "not refused, and gets no answer",
                   text);
}

void check_net_multicast(struct doctor *d, struct doctor_line *l)
{
    const struct bait *b = ready_bait(d, l);
    struct targets t;
    size_t skipped;
    char text[512];

    if (!b)
        return;
    targets_multicast(b, &t);
    if (!paths_judge(d, l, "udp", &t, false, &skipped))
        return;
    addresses_text(&t, text, sizeof(text));
    if (skipped == t.count)
        doctor_say(l, DOCTOR_SKIP, "no way to such an address, not even for root");
    else
        doctor_say(l, DOCTOR_PASS, "%s: UDP refused to a run and a session; root may send", text);
}

void check_net_mail(struct doctor *d, struct doctor_line *l)
{
    const char *other;
    int r;

    if (!ready_bait(d, l))
        return;
    r = judge_path(d, l, OPEN_DOORS, "tcp", TARGET_MAIL, false);
    if (r < 0)
        doctor_say(l, DOCTOR_SKIP, "no way out, not even for root");
    if (r != 1)
        return;
    other = judge_error(d, PROBE_PUBLIC, "tcp", TARGET_NO_MAIL);
    doctor_say(
        l, DOCTOR_PASS, "port 25 of an address on the Internet is refused at once; port 443 %s",
        strcmp(other, "ETIMEDOUT") == 0 ? "is not" : "is, too (the policy names what is open)");
}

/* --- IPv6 of others
 * -------------------------------------------------------------------------------- */

/* A route decides at connect(2); nothing is sent by it. */
static int route6(const char *address)
{
    struct sockaddr_in6 addr = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    cleanup_close int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || inet_pton(AF_INET6, address, &addr.sin6_addr) != 1)
        return -EAFNOSUPPORT;
    return connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
}

/* One of each kind, with the rule that refuses it. */
static const struct other6 {
    const char *address, *rule;
} others6[] = {
    {"fd00:a7e1:1e5::77", "! -d 2000::/3 -j ATELIER-NO"},
    {"64:ff9b::a00:1", "! -d 2000::/3 -j ATELIER-NO"},
    {"2002:a00:1::77", "-d 2002::/16 -j ATELIER-NO"},
    {"2001:0:a00:1::77", "-d 2001::/32 -j ATELIER-NO"},
};

/* Return: the text of the rules, of which the first of OUTPUT is ours; else something was said. */
static bool rules6_read(struct doctor_line *l, struct text *ret_rules)
{
    static const char *const argv[] = {"/usr/sbin/ip6tables", "-w", "5", "-S", NULL};
    const char *first;
    int r = program_run(argv, RULES_S, ret_rules);

    if (r != 0 || !ret_rules->bytes) {
        cleanup_free char *why = program_why(r, ret_rules);

        doctor_say(l, DOCTOR_UNKNOWN, "ip6tables: %s", why);
        return false;
    }
    first = strstr(ret_rules->bytes, "-A OUTPUT ");
    if (first && strstr(first, "--uid-owner 10000-59999 -j ATELIER") &&
        strcspn(first, "\n") >
            (size_t)(strstr(first, "--uid-owner 10000-59999 -j ATELIER") - first))
        return true;
    doctor_say(l, DOCTOR_FAIL, "the first rule of ip6tables' OUTPUT is not ours; nothing was sent");
    return false;
}

void check_net_ipv6(struct doctor *d, struct doctor_line *l)
{
    const char *words[sizeof(others6) / sizeof(others6[0]) + 2] = {"tcp"};
    char targets[sizeof(others6) / sizeof(others6[0])][TARGET_SIZE];
    cleanup_probe struct probe_result result = {0};
    cleanup_text struct text rules = {0};
    struct probe_request req = {.door = PROBE_PUBLIC, .wall_ms = 4000, .words = words};
    struct said *said;
    size_t count = 0;

    for (size_t i = 0; i < sizeof(others6) / sizeof(others6[0]); i++) {
        if (route6(others6[i].address) < 0)
            continue;
        (void)snprintf(targets[count], TARGET_SIZE, "[%s]:9", others6[i].address);
        words[1 + count] = targets[count];
        count++;
    }
    if (count == 0) {
        doctor_say(l, DOCTOR_SKIP, "this host has no IPv6 route that leads out");
        return;
    }
    if (!rules6_read(l, &rules))
        return;
    for (size_t i = 0; i < sizeof(others6) / sizeof(others6[0]); i++) {
        if (!strstr(rules.bytes, others6[i].rule)) {
            doctor_say(l, DOCTOR_FAIL, "no rule \"%s\"; nothing was sent", others6[i].rule);
            return;
        }
    }
    if (probe_run(d, &req, &result) < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s", result.why);
        return;
    }
    said = said_parse(result.output ? result.output : "");
    for (size_t i = 0; i < count; i++) {
        const struct said_line *line = said_find(said, "tcp", targets[i]);

        if (!line || line->verdict != SAID_REFUSED || strcmp(line->error, "ECONNREFUSED") != 0)
            doctor_say(l, line && line->verdict == SAID_REACHED ? DOCTOR_FAIL : DOCTOR_UNKNOWN,
                       "%s: %s", targets[i],
                       !line                           ? "could not be tried"
                       : line->verdict == SAID_REACHED ? "was not refused"
                                                       : line->error);
        else
            doctor_say(l, DOCTOR_PASS, "%s refused %s", others6[i].address, line->detail);
    }
    free(said);
}

/* --- kinds of sockets
 * --------------------------------------------------------------------------------- */

void check_net_sockets(struct doctor *d, struct doctor_line *l)
{
    size_t refused, reached = 0;
    const struct said_line *line = NULL;

    if (!judge_is_ready(d, l, JUDGE_CONFINED | 1u << PROBE_PLAIN))
        return;
    refused = judge_all_refused(d, l, JUDGE_CONFINED, "sockets", NULL);
    refused += judge_refused(d, l, JUDGE_CONFINED, "families", "others");
    refused += judge_refused(d, l, JUDGE_NONE | JUDGE_PUBLIC, "families", "unix");
    while ((line = said_next(attempts(d, PROBE_PLAIN), "sockets", line)))
        reached += line->verdict == SAID_REACHED;
    doctor_say(l, DOCTOR_PASS,
               "ICMP, raw, packet, vsock, SCTP, MPTCP, netlink but routes and all other families: "
               "%zu attempts by three doors refused; unconfined the same uid opened %zu kinds",
               refused, reached);
}

void check_net_listen(struct doctor *d, struct doctor_line *l)
{
    if (!judge_is_ready(d, l, JUDGE_CONFINED | 1u << PROBE_PLAIN))
        return;
    if (judge_refused(d, l, JUDGE_NONE | JUDGE_PUBLIC, "listen", "tcp") < 2)
        return;
    if (!judge_control(d, PROBE_PLAIN, "listen", "tcp"))
        doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid cannot listen either");
    else
        doctor_say(l, DOCTOR_PASS,
                   "listen(2) refused to runs (%s); unconfined the same uid listens",
                   judge_error(d, PROBE_PUBLIC, "listen", "tcp"));
}

void check_net_none(struct doctor *d, struct doctor_line *l)
{
    size_t refused;

    if (!judge_is_ready(d, l, JUDGE_NONE | 1u << PROBE_PLAIN))
        return;
    refused = judge_all_refused(d, l, JUDGE_NONE, "tcp", NULL);
    refused += judge_all_refused(d, l, JUDGE_NONE, "udp", NULL);
    if (judge_refused(d, l, JUDGE_NONE, "links", "others") == 1)
        doctor_say(l, DOCTOR_PASS, "no interface but lo; %zu attempts at this host refused",
                   refused);
}
