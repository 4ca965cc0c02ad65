/* SPDX-License-Identifier: ISC */
/* network_rules.c - the rules that the host has, and who else writes some. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/facts.h"
#include "ctl/say.h"
#include "ctl/setup/nftables.h"
#include "ctl/setup/program.h"
#include "ctl/setup/units.h"

#include "common/banned.h"

#define TIMEOUT_S 30

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
