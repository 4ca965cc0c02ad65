/* SPDX-License-Identifier: ISC */
/*
 * step_firewall.c - how we get along with the host's firewall, and no trace of our rules
 * afterwards.
 *
 * sessiond loads the rules; nothing is done here but telling, and remembering whether iptables had
 * a table at all. Undone when sessiond has ended: it takes its chains away, and the table that its
 * first use made goes if it was not there before and nobody put anything into it.
 */
#include <errno.h>
#include <linux/netfilter.h>
#include <string.h>
#include <unistd.h>

#include "ctl/setup/nftables.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"
#include "ctl/setup/units.h"

#include "common/banned.h"

#define STEP      "firewall"
#define SESSIOND  ATELIER_PROGRAMS_DIR "/sessiond"
#define TIMEOUT_S 60

static const struct {
    const char *save, *mark, *name;
    uint8_t family;
} families[] = {
    {"/usr/sbin/iptables-save", "no table ip filter", "ip", NFPROTO_IPV4},
    {"/usr/sbin/ip6tables-save", "no table ip6 filter", "ip6", NFPROTO_IPV6},
};
#define FAMILY_COUNT 2u

const char *const firewall_units[] = {"ufw.service",      "firewalld.service",
                                      "nftables.service", "netfilter-persistent.service",
                                      "docker.service",   NULL};

/* In the order of firewall_units: what it means, and where the port for logins is opened. */
static const struct {
    const char *text, *where;
} firewalls[] = {
    {"ufw is active: sessiond starts after it and keeps its rule in front", "ufw allow PORT/tcp"},
    {"firewalld is active: it has tables of its own, beside which ours stay",
     "firewall-cmd --permanent --add-port=PORT/tcp"},
    {"nftables.service is active: its reload flushes all tables, and nothing of atelier starts "
     "until "
     "sessiond is reloaded after it",
     "/etc/nftables.conf"},
    {"iptables-persistent is active: what is saved while sessiond runs has its rules in it",
     "/etc/iptables/rules.v4 and rules.v6"},
    {"docker is active: its chains are in FORWARD, ours in OUTPUT", "none needed"},
};

static void firewall_plan(struct setup *s)
{
    struct unit_state states[UNITS_MAX];
    int r = units_look(firewall_units, states);

    if (r < 0 && r != -ENODATA)
        note_say(s, "systemd does not say which firewall is active (systemctl show)");
    for (size_t i = 0; firewall_units[i]; i++) {
        if (states[i].is_active)
            note_say(s, "%s; to let logins in (port %u, or that of --port): %s", firewalls[i].text,
                     s->options->port ? s->options->port : SETUP_PORT, firewalls[i].where);
    }
}

static enum filter_table table_look(size_t i)
{
    cleanup_text struct text saved = {0};

    /* Not known counts as used: nothing is removed then. */
    if (program_run(ARGV(families[i].save), TIMEOUT_S, &saved) != 0)
        return FILTER_USED;
    return filter_table_of(&saved);
}

static int firewall_apply(struct setup *s)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        int r = 0;

        if (table_look(i) == FILTER_ABSENT)
            r = record_put(&s->record, ENTRY_MARK, STEP, families[i].mark);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
    }
    return 0;
}

/* sessiond's word is not enough: rules that stay would hold for whoever gets the ids next. */
static int rules_see_gone(void)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        cleanup_text struct text saved = {0};

        if (families[i].family == NFPROTO_IPV6 && access("/proc/net/if_inet6", F_OK) < 0)
            continue; /* a kernel without IPv6 has no rules for it */
        if (program_run(ARGV(families[i].save), TIMEOUT_S, &saved) != 0)
            return step_fail("%s fails: whether the network rules are gone cannot be seen",
                             families[i].save);
        if (rules_are_left(&saved))
            return step_fail("the network rules are still there: %s shows them", families[i].save);
    }
    return 0;
}

static int firewall_undo(struct setup *s)
{
    if (access(SESSIOND, X_OK) == 0) {
        if (must_run(ARGV(SESSIOND, "--remove-network-rules"), TIMEOUT_S) < 0 ||
            rules_see_gone() < 0)
            return -1;
    } else {
        note_say(s, SESSIOND " is gone: if iptables -S shows chains ATELIER and ATELIER-NO, remove "
                             "them by hand, or reboot");
    }
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        int r = 0;

        if (!record_has(&s->record, ENTRY_MARK, families[i].mark))
            continue;
        if (table_look(i) == FILTER_EMPTY)
            r = filter_table_delete(families[i].family);
        if (r < 0 && r != -ENOENT)
            note_say(s, "the empty table \"%s filter\" of iptables stays: %s", families[i].name,
                     strerror(-r));
        r = record_drop(&s->record, ENTRY_MARK, families[i].mark);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
    }
    return 0;
}

const struct step step_firewall = {STEP, firewall_plan, firewall_apply, firewall_undo};
