/* SPDX-License-Identifier: ISC */
/*
 * net.c - load the network rules into the kernel.
 *
 * The rules are text made by policy/netrules.c, handed to iptables-restore and ip6tables-restore:
 * one file is one transaction, so there is no moment with half of them.
 */
#include "sessiond/monitor/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/sabotage.h"
#include "policy/netrules.h"
#include "policy/netrules_seen.h"
#include "sessiond/monitor/net_cgroup.h"
#include "sessiond/monitor/net_program.h"

#include "common/banned.h"

#define ARGS_MAX 24
/* More copies of a rule than that were not made by us. */
#define UNLOAD_PASSES 32

int net_resolver_add(struct net_config *config, const char *text)
{
    uint8_t addr[16];

    if (inet_pton(AF_INET, text, addr) != 1 && inet_pton(AF_INET6, text, addr) != 1)
        return -EINVAL;
    if (config->resolver_count == NET_RESOLVERS_MAX)
        return -E2BIG;
    config->resolvers[config->resolver_count++] = text;
    return 0;
}

static int program_run(const char *const argv[], int stdin_fd, bool is_quiet)
{
    pid_t pid;
    int r = net_program_start(argv, stdin_fd, -1, is_quiet, &pid);

    return r < 0 ? r : net_program_wait(pid);
}

/*
 * Exit code of a program that was asked whether something is there. 1 is "no"; 2 (arguments), 3
 * (no such table), 4 (not permitted, or somebody else has the lock) say nothing about it.
 * Source: include/xtables.h of iptables, enum xtables_exittype.
 */
#define IPTABLES_NO 1

/* Ask without a word; but a failure is said by the program itself. Return: 0 or -errno. */
static int program_ask(const char *const argv[], bool *ret_yes)
{
    cleanup_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int r;

    if (!argv[0])
        return -ENOENT;
    if (null < 0)
        return -errno;
    r = program_run(argv, null, true);
    if (r > IPTABLES_NO)
        r = program_run(argv, null, false);
    if (r < 0)
        return r;
    if (r > IPTABLES_NO)
        return -EPROTO;
    *ret_yes = r == 0;
    return 0;
}

/* Is this rule somewhere in OUTPUT? Return: 0 or a negative errno. */
static int rule_look(const struct net_family *f, const char *rule, bool *ret_present)
{
    const char *argv[ARGS_MAX] = {net_program_find(f->single), "-w", NET_LOCK_WAIT_S, "-C",
                                  "OUTPUT"};
    cleanup_free char *words = strdup(rule);
    char *rest = words, *word;

    if (!words)
        return -ENOMEM;
    for (size_t n = 5; n + 1 < ARGS_MAX && (word = strsep(&rest, " ")); n++)
        argv[n] = word;
    if (rest)
        return -E2BIG;
    return program_ask(argv, ret_present);
}

/* Is there this chain? Return: 0 or a negative errno. */
static int chain_look(const struct net_family *f, const char *chain, bool *ret_present)
{
    const char *argv[] = {net_program_find(f->single), "-w", NET_LOCK_WAIT_S, "-S", chain, NULL};

    return program_ask(argv, ret_present);
}

static void stale_see(void *arg, const char *line)
{
    (void)netrules_stale(line, arg, NETRULES_STALE_SIZE);
}

/*
 * The jumps by control group that OUTPUT has, of whatever path. @lines: text of NETRULES_STALE_SIZE
 * bytes. Return: 0 or a negative errno.
 */
static int stale_look(const struct net_family *f, char *lines)
{
    const char *const argv[] = {
        net_program_find(f->single), "-w", NET_LOCK_WAIT_S, "-S", "OUTPUT", NULL};
    int r = net_program_read(argv, stale_see, lines);

    return r > 0 ? -EPROTO : r;
}

/*
 * Without its chain there is no jump, and asking for it would be an error (2), not a "no".
 *
 * @stale: Room for NETRULES_STALE_SIZE bytes, which @spec borrows
 */
static int rules_look(const struct net_family *f, struct netrules_spec *spec, char *stale,
                      bool *ret_chain)
{
    int r = chain_look(f, NETRULES_CHAIN, ret_chain);

    spec->jump_present = false;
    stale[0] = '\0';
    if (r == 0 && *ret_chain)
        r = rule_look(f, netrules_jump(), &spec->jump_present);
    if (r == 0 && *ret_chain)
        r = stale_look(f, stale);
    spec->cgroup_stale = stale[0] ? stale : NULL;
    return r < 0 ? r : rule_look(f, netrules_drop(), &spec->drop_present);
}

static int family_load(const struct net_family *f, struct netrules_spec *spec)
{
    cleanup_free char *text = NULL;
    char stale[NETRULES_STALE_SIZE];
    bool chain;
    int r = rules_look(f, spec, stale, &chain);

    if (r == 0)
        r = netrules_text(f->family, spec, &text);
    if (r == 0)
        r = net_text_load(f, text);
    spec->cgroup_stale = NULL;
    return r;
}

/* One pass. On a host without any of it not even an empty table is made. */
static int family_unload_once(const struct net_family *f, bool *ret_found)
{
    struct netrules_spec spec = {0};
    cleanup_free char *text = NULL;
    char stale[NETRULES_STALE_SIZE];
    bool chain = false, chain_no = false;
    int r = rules_look(f, &spec, stale, &chain);

    if (r == 0)
        r = chain_look(f, NETRULES_CHAIN_NO, &chain_no);
    if (r < 0)
        return r;
    *ret_found = spec.jump_present || spec.drop_present || spec.cgroup_stale || chain || chain_no;
    if (!*ret_found)
        return 0;
    r = netrules_removal(&spec, &text);
    return r < 0 ? r : net_text_load(f, text);
}

static int family_unload(const struct net_family *f)
{
    bool found = true;
    int r = 0;

    for (int i = 0; r == 0 && found && i < UNLOAD_PASSES; i++)
        r = family_unload_once(f, &found);
    return r == 0 && found ? -EPROTO : r;
}

int net_unload(const char **ret_what)
{
    for (size_t i = 0; i < NET_FAMILIES; i++) {
        int r;

        if (!net_family_exists(&net_families[i]))
            continue;
        *ret_what = net_families[i].restore_name;
        r = family_unload(&net_families[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- what they are made of ----------------------------------------------------------------- */

/* How many of net_denied(), at its end, are networks that the host is in. */
static size_t net_links(const struct net_config *config)
{
    const struct policy_net *p = config->policy;

    return p && p->deny_on_link && !SABOTAGED("onlink") ? config->link_count : 0;
}

size_t net_denied(const struct net_config *config,
                  struct prefix ret_denied[NETRULES_DENIED_MAX + 1])
{
    const struct policy_net *p = config->policy;
    size_t n = 0;

    for (uint32_t i = 0; p && i < p->deny_count && !SABOTAGED("deny"); i++)
        ret_denied[n++] = p->deny[i];
    for (size_t i = 0; i < net_links(config); i++)
        ret_denied[n++] = config->links[i];
    return n;
}

static void cgroup_spec_make(const struct net_config *config, struct net_room *room,
                             struct netrules_spec *spec)
{
    room->cgroup_id = 0;
    if (!config->cgroup_dir || SABOTAGED("netgroup") || config->has_no_cgroup_match ||
        net_cgroup_find(config->cgroup_dir, room->cgroup, &room->cgroup_id) < 0)
        return;
    spec->cgroup = room->cgroup;
}

void net_spec_make(const struct net_config *config, struct net_room *room,
                   struct netrules_spec *spec)
{
    const struct policy_net *p = config->policy;

    *spec = (struct netrules_spec){.resolvers4 = room->v4,
                                   .resolvers6 = room->v6,
                                   .denied = room->denied,
                                   .denied_count = net_denied(config, room->denied),
                                   .link_count = net_links(config),
                                   .allowed = room->allowed};
    for (size_t i = 0; i < config->resolver_count; i++) {
        if (inet_pton(AF_INET, config->resolvers[i], &room->v4[spec->resolver4_count]) == 1)
            spec->resolver4_count++;
        else if (inet_pton(AF_INET6, config->resolvers[i], &room->v6[spec->resolver6_count]) == 1)
            spec->resolver6_count++;
    }
    spec->is_listed = p && p->egress == POLICY_EGRESS_LISTED && !SABOTAGED("listed");
    if (spec->is_listed)
        spec->allowed_count = names_allowed(&config->names, p, room->allowed);
    cgroup_spec_make(config, room, spec);
}

/* --- loading ------------------------------------------------------------------------------- */

static int families_load(struct netrules_spec *spec, bool *ret_had, const char **ret_what)
{
    bool had = true;

    for (size_t i = 0; i < NET_FAMILIES; i++) {
        const struct net_family *f = &net_families[i];
        int r;

        if (!net_family_exists(f))
            continue;
        *ret_what = f->restore_name;
        r = family_load(f, spec);
        if (r < 0)
            return r;
        had = had && spec->jump_present;
    }
    *ret_had = had;
    return 0;
}

int net_load(struct net_config *config, uint32_t *ret_revision, uint64_t *ret_cgroup, bool *ret_had,
             const char **ret_what)
{
    struct netrules_spec spec;
    struct net_room room;
    uint32_t revision;
    bool had = false;
    int r;

    net_spec_make(config, &room, &spec);
    r = families_load(&spec, &had, ret_what);
    /* Somebody had the lock for long, or changed OUTPUT after it was looked at: no reason yet. */
    if (r == -EPROTO && spec.cgroup)
        r = families_load(&spec, &had, ret_what);
    /* It is the one rule that a host may lack; whether it was the reason shows without it. */
    if (r == -EPROTO && spec.cgroup) {
        spec.cgroup = NULL;
        room.cgroup_id = 0;
        r = families_load(&spec, &had, ret_what);
        config->has_no_cgroup_match = r == 0;
    }
    if (r < 0)
        return r;
    *ret_what = "resolvers";
    r = netrules_revision(&spec, &revision);
    if (r < 0)
        return r;
    *ret_revision = revision;
    *ret_cgroup = room.cgroup_id;
    if (ret_had)
        *ret_had = had;
    return 0;
}
