/* SPDX-License-Identifier: ISC */
/* config_show.c - a policy as text that can be read back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

#include "common/banned.h"

static void ids_show(const char *name, const uint32_t *ids, uint32_t count, FILE *to)
{
    if (count == 0)
        return;
    (void)fprintf(to, "    %s = {", name);
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(to, "%s%u", i > 0 ? ", " : "", ids[i]);
    (void)fprintf(to, "}\n");
}

/* Member @i of a list of @count. */
static void text_show(const char *name, const char *text, uint32_t i, uint32_t count, FILE *to)
{
    if (i == 0)
        (void)fprintf(to, "    %s = {", name);
    (void)fprintf(to, "%s\"%s\"%s", i > 0 ? ", " : "", text, i + 1 == count ? "}\n" : "");
}

/* Nothing of the base is left: an empty list, which is not the same as none. */
static void empty_show(const char *name, bool is_left, FILE *to)
{
    if (is_left)
        (void)fprintf(to, "    %s = {}\n", name);
}

/* @base: of the kind, NULL for itself */
static void lists_show(const struct policy_profile *p, const struct policy_profile *base, FILE *to)
{
    char limits[POLICY_LIMITS_SIZE];

    policy_limits_text(p->required, limits);
    if (p->required != 0)
        (void)fprintf(to, "    required = {%s}\n", limits);
    empty_show("required", p->required == 0 && base && base->required != 0, to);
    for (uint32_t i = 0; i < p->tree_count; i++)
        text_show("trees", p->trees[i], i, p->tree_count, to);
    empty_show("trees", p->tree_count == 0 && base && base->tree_count > 0, to);
    for (uint32_t i = 0; i < p->skill_count; i++)
        text_show("skills", p->skills[i], i, p->skill_count, to);
    empty_show("skills", p->skill_count == 0 && base && base->skill_count > 0, to);
}

/* @base: likewise */
static void profile_show(const struct policy_profile *p, const struct policy_profile *base,
                         FILE *to)
{
    if (base)
        (void)fprintf(to, "profile %s {\n    base = %s\n", p->name, policy_kind_names[p->kind]);
    else
        (void)fprintf(to, "%s {\n", p->name);
    for (unsigned key = 0; key < POLICY_KEY__COUNT; key++) {
        char text[POLICY_VALUE_SIZE];

        if (!policy_key_is_of((enum policy_key)key, p->kind))
            continue;
        policy_value_text((enum policy_key)key, p->values[key], text);
        (void)fprintf(to, "    %s = %s\n", policy_keys[key].name, text);
    }
    lists_show(p, base, to);
    ids_show("uids", p->uids, p->uid_count, to);
    ids_show("gids", p->gids, p->gid_count, to);
    (void)fprintf(to, "}\n");
}

bool policy_net_text(const struct policy_net *net, enum policy_net_key key, uint32_t i,
                     char ret_text[POLICY_ALLOW_TEXT_SIZE])
{
    switch (key) {
    case POLICY_NET_KEY_DENY:
        if (i < net->deny_count)
            prefix_text(&net->deny[i], ret_text);
        return i < net->deny_count;
    case POLICY_NET_KEY_DENY_ON_LINK:
        (void)snprintf(ret_text, POLICY_ALLOW_TEXT_SIZE, "%s",
                       net->deny_on_link ? "true" : "false");
        return i == 0;
    case POLICY_NET_KEY_EGRESS:
        (void)snprintf(ret_text, POLICY_ALLOW_TEXT_SIZE, "%s",
                       net->egress == POLICY_EGRESS_LISTED ? "listed" : "public");
        return i == 0;
    case POLICY_NET_KEY_ALLOW:
        if (i < net->allow_count)
            policy_allow_text(&net->allow[i], ret_text);
        return i < net->allow_count;
    case POLICY_NET_KEY_CONNECTIONS:
        (void)snprintf(ret_text, POLICY_ALLOW_TEXT_SIZE, "%u", net->connections);
        return i == 0;
    case POLICY_NET_KEY__COUNT:
        break;
    }
    return false;
}

static bool is_list(enum policy_net_key key)
{
    return policy_net_keys[key].type == POLICY_NET_NETWORKS ||
           policy_net_keys[key].type == POLICY_NET_DESTINATIONS;
}

/* Without the braces of a list: its entries. */
static void net_value_show(const struct policy_net *net, enum policy_net_key key, FILE *to)
{
    const char *quote = is_list(key) ? "\"" : "";
    char text[POLICY_ALLOW_TEXT_SIZE];

    for (uint32_t i = 0; policy_net_text(net, key, i, text); i++)
        (void)fprintf(to, "%s%s%s%s", i > 0 ? ", " : "", quote, text, quote);
}

static void net_show(const struct policy_net *net, FILE *to)
{
    (void)fputs("network {\n", to);
    for (unsigned key = 0; key < POLICY_NET_KEY__COUNT; key++) {
        bool in_braces = is_list((enum policy_net_key)key);

        (void)fprintf(to, "    %s = %s", policy_net_keys[key].name, in_braces ? "{" : "");
        net_value_show(net, (enum policy_net_key)key, to);
        (void)fputs(in_braces ? "}\n" : "\n", to);
    }
    (void)fputs("}\n", to);
}

static void disk_show(const struct policy_disk *disk, FILE *to)
{
    char idle[POLICY_VALUE_SIZE];

    policy_time_text(disk->idle_ms, idle);
    (void)fprintf(to, "disk {\n    backend = %s\n    required = %s\n    idle = %s\n}\n",
                  policy_disk_names[disk->backend], disk->is_required ? "true" : "false", idle);
}

int policy_show(const struct policy *policy, FILE *to)
{
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct policy_profile *p = &policy->profiles[i];

        profile_show(p, i >= POLICY_KIND__COUNT ? &policy->profiles[p->kind] : NULL, to);
    }
    net_show(&policy->net, to);
    disk_show(&policy->disk, to);
    return ferror(to) ? -EIO : 0;
}

static void example_section(enum policy_kind kind, FILE *to)
{
    (void)fprintf(to, "#%s {\n", policy_kind_names[kind]);
    for (unsigned key = 0; key < POLICY_KEY__COUNT; key++) {
        char value[POLICY_VALUE_SIZE], line[64];

        if (!policy_key_is_of((enum policy_key)key, kind))
            continue;
        policy_value_text((enum policy_key)key, policy_keys[key].shipped[kind], value);
        (void)snprintf(line, sizeof(line), "#    %s = %s", policy_keys[key].name, value);
        (void)fprintf(to, "%-32s # %s\n", line, policy_keys[key].text);
    }
    (void)fprintf(to, "%-32s # of %s: nothing starts where no group keeps it\n",
                  "#    required = {}", kind == POLICY_USER ? "memory, pids" : "memory, pids, cpu");
    if (kind != POLICY_USER) {
        (void)fprintf(to, "%-32s # directories of the host, to be read at the same path\n",
                      "#    trees = {}");
        (void)fprintf(to, "%-32s # of atelier skill add, to be read below /skills\n",
                      "#    skills = {}");
    }
    (void)fprintf(to, "#}\n");
}

static void example_network(FILE *to)
{
    static struct policy shipped;

    policy_defaults(&shipped);
    (void)fputs("#network {\n", to);
    for (unsigned key = 0; key < POLICY_NET_KEY__COUNT; key++) {
        char *value = NULL, line[64];
        size_t size = 0;
        FILE *f = open_memstream(&value, &size);

        if (!f)
            return;
        net_value_show(&shipped.net, (enum policy_net_key)key, f);
        (void)fclose(f);
        (void)snprintf(line, sizeof(line),
                       is_list((enum policy_net_key)key) ? "#    %s = {%s}" : "#    %s = %s",
                       policy_net_keys[key].name, value ? value : "");
        (void)fprintf(to, "%-32s # %s\n", line, policy_net_keys[key].text);
        free(value);
    }
    (void)fputs("#}\n", to);
}

int policy_example(FILE *to)
{
    (void)fputs(
        "# atelier.conf - what runs and sessions get: atelier.conf(5)\n"
        "#\n"
        "# An example, with what holds where nothing is said. Copy what is to be different to\n"
        "# /etc/atelier/atelier.conf, then: atelier policy check && systemctl reload sessiond\n",
        to);
    for (unsigned kind = 0; kind < POLICY_KIND__COUNT; kind++) {
        static const char *const about[POLICY_KIND__COUNT] = {
            [POLICY_RUN] = "each run",
            [POLICY_LOGIN] = "each session",
            [POLICY_USER] = "all runs and sessions of a user together",
        };

        (void)fprintf(to, "\n# %s\n", about[kind]);
        example_section((enum policy_kind)kind, to);
    }
    (void)fputs("\n# the network, of all of them alike\n", to);
    example_network(to);
    (void)fputs("\n# what holds users to disk and disk_files: auto, quota, image or none\n"
                "#disk {\n"
                "#    backend = auto\n"
                "#    required = false           # true as soon as a limit or a back end is named\n"
                "#    idle = 10min               # an image that nothing uses is unmounted then\n"
                "#}\n",
                to);
    (void)fputs(
        "\n# those of some users (by uid) or groups (by gid); what is not said is as in the base\n"
        "#profile course {\n"
        "#    base = run\n"
        "#    memory = 1G\n"
        "#    trees = {\"/srv/course\"}\n"
        "#    gids = {10007}             # course-a\n"
        "#}\n",
        to);
    return ferror(to) ? -EIO : 0;
}
