/* SPDX-License-Identifier: ISC */
/* network_rules.c - the rules that the host has, and who else writes some. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/doctor/attempts.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/facts.h"
#include "ctl/say.h"
#include "ctl/setup/nftables.h"
#include "ctl/setup/program.h"
#include "ctl/setup/units.h"

#include "common/banned.h"

#define TIMEOUT_S 30
#define CONNTRACK "/proc/sys/net/netfilter/nf_conntrack_"
/* policy/policy.h: the least that connections may be */
#define CONNECTIONS_MIN 16u

/* How many rules a chain has in the output of iptables-save. */
static size_t chain_count(const struct text *saved, const char *chain)
{
    cleanup_free char *start = text_format("-A %s ", chain);
    size_t size = strlen(start), count = 0;
    struct line line = {0};

    while (line_next(saved, &line))
        count += line.size > size && memcmp(line.start, start, size) == 0;
    return count;
}

static bool is_text(const struct line *line, const char *text)
{
    return line->size == strlen(text) && memcmp(line->start, text, line->size) == 0;
}

/*
 * What is wrong with the chain, as far as it can be seen without knowing each rule: it must end in
 * a refusal, and nothing in it may let everything pass. Return: words, static, or NULL.
 */
static const char *chain_fault(const struct text *saved)
{
    static const char rule[] = "-A ATELIER ";
    struct line line = {0}, last = {.start = ""};

    while (line_next(saved, &line)) {
        if (line.size <= strlen(rule) || memcmp(line.start, rule, strlen(rule)) != 0)
            continue;
        if (is_text(&line, "-A ATELIER -j RETURN") || is_text(&line, "-A ATELIER -j ACCEPT"))
            return "a rule of ATELIER lets everything pass";
        last = line;
    }
    if (!is_text(&last, "-A ATELIER -j ATELIER-NO"))
        return "ATELIER does not end with a refusal";
    return chain_count(saved, "ATELIER-NO") > 0 ? NULL : "ATELIER-NO is empty";
}

static void family_look(const char *save, struct doctor_line *l)
{
    cleanup_text struct text saved = {0};
    int r = program_run(ARGV(save, "-t", "filter"), TIMEOUT_S, &saved);
    const char *fault;

    if (r != 0) {
        cleanup_free char *why = r < 0 ? text_format("%s", strerror(-r)) : program_why(r, &saved);

        doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", save, why);
        return;
    }
    fault = chain_fault(&saved);
    if (!rules_are_left(&saved))
        doctor_say(l, DOCTOR_FAIL, "none of our rules is there");
    else if (!rules_are_first(&saved))
        doctor_say(l, DOCTOR_FAIL, "the jump to ATELIER is not the first rule of OUTPUT");
    else if (fault)
        doctor_say(l, DOCTOR_FAIL, "%s", fault);
    else
        doctor_say(l, DOCTOR_PASS, "the jump is rule 1 of %zu in OUTPUT; ATELIER has %zu rules",
                   chain_count(&saved, "OUTPUT"), chain_count(&saved, "ATELIER"));
}

/* --- do they count? --------------------------------------------------------------------------- */

/* Packets that were refused, as the rules have counted them. Return: 0 or a negative errno. */
static int refused_count(const char *save, uint64_t *ret)
{
    cleanup_text struct text saved = {0};
    struct line line = {0};
    int r = program_run(ARGV(save, "-c", "-t", "filter"), TIMEOUT_S, &saved);

    if (r != 0)
        return r < 0 ? r : -EIO;
    *ret = 0;
    while (line_next(&saved, &line)) {
        uint64_t packets;
        int end = 0;

        /* "[12:720] -A ATELIER-NO ..." */
        if (sscanf(line.start, "[%" SCNu64 ":%*u] -A ATELIER-NO %n", &packets, &end) == 1 &&
            end > 0)
            *ret += packets;
    }
    return 0;
}

/*
 * Rules that are there and count nothing are not what refuses. In the report before the checks that
 * read what a run had tried: so it is tried between the two looks.
 */
void check_rule_counters(struct doctor *d, struct doctor_line *l)
{
    static const struct {
        const char *save, *name;
    } families[] = {{"/usr/sbin/iptables-save", "IPv4"}, {"/usr/sbin/ip6tables-save", "IPv6"}};
    size_t count = facts_has_ipv6() ? 2 : 1;
    uint64_t before[2] = {0}, after[2] = {0};
    const struct said *said;
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = refused_count(families[i].save, &before[i]);
    said = attempts(d, PROBE_PUBLIC);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = refused_count(families[i].save, &after[i]);
    if (said->why[0]) {
        doctor_say(l, DOCTOR_UNKNOWN, "no run tried anything: %s", said->why);
        return;
    }
    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "iptables-save -c: %s", strerror(-r));
        return;
    }
    for (size_t i = 0; i < count; i++)
        doctor_say(l, after[i] > before[i] ? DOCTOR_PASS : DOCTOR_FAIL,
                   "%s: %" PRIu64 " packets refused before a run tried, %" PRIu64 " after",
                   families[i].name, before[i], after[i]);
}

void check_rules_v4(struct doctor *d, struct doctor_line *l)
{
    (void)d;
    family_look("/usr/sbin/iptables-save", l);
}

void check_rules_v6(struct doctor *d, struct doctor_line *l)
{
    (void)d;
    if (facts_has_ipv6())
        family_look("/usr/sbin/ip6tables-save", l);
    else
        doctor_say(l, DOCTOR_SKIP, "this kernel has no IPv6");
}

static void on_resolver(void *arg, const char *value)
{
    doctor_say(arg, DOCTOR_PASS, "port 53 of %s", value);
}

void check_resolver(struct doctor *d, struct doctor_line *l)
{
    struct facts_process p;
    int r = facts_daemon(d, FACTS_SESSIOND, &p);

    if (r == 0 && p.pid == 0) {
        doctor_say(l, DOCTOR_SKIP, "sessiond does not run");
        return;
    }
    if (r == 0)
        r = facts_argument(p.pid, "--resolver", "-r", on_resolver, l);
    if (r < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "/proc: %s", strerror(-r));
    else if (r == 0)
        doctor_say(l, DOCTOR_WARN, "none: participants resolve no names of hosts");
}

/* Rules of one program are not seen by the other, and which of two tables is asked first depends.
 */
void check_iptables(struct doctor *d, struct doctor_line *l)
{
    static const char *const programs[] = {"/usr/sbin/iptables", "/usr/sbin/ip6tables"};
    char *versions[2] = {NULL, NULL};
    bool is_same = false;

    (void)d;
    for (size_t i = 0; i < 2; i++) {
        cleanup_text struct text output = {0};
        int r = program_run(ARGV(programs[i], "--version"), TIMEOUT_S, &output);

        if (r != 0)
            doctor_say(l, DOCTOR_UNKNOWN, "%s --version: %s", programs[i],
                       r < 0 ? strerror(-r) : "failed");
        else
            versions[i] = text_format("%.*s", (int)strcspn(output.bytes, "\n"), output.bytes);
    }
    /* "iptables v1.8.9 (nf_tables)" and "ip6tables v1.8.9 (nf_tables)" */
    if (versions[0] && versions[1]) {
        const char *v4 = strchr(versions[0], ' '), *v6 = strchr(versions[1], ' ');

        is_same = v4 && v6 && strcmp(v4, v6) == 0;
        doctor_say(l, is_same ? DOCTOR_PASS : DOCTOR_WARN, "%s%s%s", versions[0],
                   is_same ? ", and ip6tables the same" : ", but ", is_same ? "" : versions[1]);
    }
    free(versions[0]);
    free(versions[1]);
}

/* Whoever writes rules, too. Ours are put back; but it should be known who is there. */
void check_firewalls(struct doctor *d, struct doctor_line *l)
{
    struct unit_state states[UNITS_MAX];
    size_t count = 0;
    int r;

    (void)d;
    if (!facts_has_systemd()) {
        doctor_say(l, DOCTOR_SKIP, "systemd is not the init of this host");
        return;
    }
    r = units_look(firewall_units, states);
    /* Units that the host has not are not named. */
    if (r < 0 && r != -ENODATA) {
        doctor_say(l, DOCTOR_UNKNOWN, "systemctl show: %s", strerror(-r));
        return;
    }
    for (size_t i = 0; firewall_units[i]; i++) {
        if (!states[i].is_active)
            continue;
        count++;
        /* Its reload empties all tables. */
        doctor_say(l,
                   strcmp(firewall_units[i], "nftables.service") == 0 ? DOCTOR_WARN : DOCTOR_PASS,
                   "%s is active", firewall_units[i]);
    }
    if (count == 0)
        doctor_say(l, DOCTOR_PASS, "none of ufw, firewalld, nftables, iptables-persistent, docker");
}

/* --- room for all of them ---------------------------------------------------------------------
 */

/* What would be enough, with a quarter of the table for everybody else. */
static void conntrack_mend(struct doctor_line *l, uint64_t users, uint64_t all, uint32_t room)
{
    cleanup_free char *key = NULL;
    uint64_t fits = room / 4 * 3 / users;

    if (fits >= CONNECTIONS_MIN)
        key = text_format(", or network { connections = %" PRIu64
                          " } in /etc/atelier/atelier.conf and systemctl reload sessiond",
                          fits);
    doctor_mend(l, "sysctl net.netfilter.nf_conntrack_max=%" PRIu64 " (and in /etc/sysctl.d)%s",
                all / 3 * 4 + 4, key ? key : "");
}

/*
 * The kernel keeps the connections of everybody in one table; when it is full nobody gets another
 * one, root neither. Each user is held to a number; all of them together are not (decision 21).
 */
void check_conntrack_room(struct doctor *d, struct doctor_line *l)
{
    uint32_t room, taken = 0;
    const json_t *health, *each;
    uint64_t users, all;
    int r = facts_number(CONNTRACK "max", &room);

    if (r == -ENOENT) {
        doctor_say(l, DOCTOR_SKIP, "this kernel keeps no table of connections");
        return;
    }
    health = facts_sessiond(d, l);
    if (!health)
        return;
    if (r == 0)
        r = facts_number(CONNTRACK "count", &taken);
    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, CONNTRACK "max and count: %s", strerror(-r));
        return;
    }
    each = json_object_get(health, "net_connections");
    users = (uint64_t)json_integer_value(json_object_get(health, "users_enabled"));
    all = users * (uint64_t)json_integer_value(each);
    if (!json_is_integer(each)) {
        doctor_say(l, DOCTOR_WARN,
                   "no user is held to a number of connections: one can fill the "
                   "table of %" PRIu32,
                   room);
        doctor_mend(l, "apt install nftables, and systemctl reload sessiond");
    } else if (all > room) {
        doctor_say(l, DOCTOR_WARN,
                   "%" PRIu64 " users may have %" JSON_INTEGER_FORMAT
                   " connections each, together %" PRIu64 "; the table has room for %" PRIu32
                   ", %" PRIu32 " taken: all together can fill it",
                   users, json_integer_value(each), all, room, taken);
        conntrack_mend(l, users, all, room);
    } else {
        doctor_say(l, DOCTOR_PASS,
                   "%" PRIu64 " users with %" JSON_INTEGER_FORMAT
                   " connections each at most, %" PRIu64 " of the %" PRIu32
                   " that the table has room for; %" PRIu32 " are taken",
                   users, json_integer_value(each), all, room, taken);
    }
}
