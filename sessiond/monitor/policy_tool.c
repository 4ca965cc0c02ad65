/* SPDX-License-Identifier: ISC */
/* policy_tool.c - sessiond as a tool: check, show and explain a policy, show a filter. */
#include "sessiond/monitor/policy_tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "common/ids.h"
#include "common/str.h"
#include "common/wire.h"
#include "policy/filter.h"
#include "policy/plan.h"
#include "sessiond/monitor/net_follow.h"
#include "sessiond/monitor/policy_warn.h"

#include "common/banned.h"

struct who {
    uint32_t uid;
    uint32_t gids[WIRE_GROUPS_MAX];
    size_t count;
};

/* "UID" or "UID:GID,GID". Return: 0 or -EINVAL. */
static int who_parse(const char *text, struct who *ret_who)
{
    struct who who = {0};
    uint32_t v;

    for (size_t field = 0;; field++) {
        size_t n = strcspn(text, field == 0 ? ":" : ",");
        char number[12];

        if (n == 0 || n >= sizeof(number) || (field > 0 && who.count == WIRE_GROUPS_MAX))
            return -EINVAL;
        memcpy(number, text, n);
        number[n] = '\0';
        if (str_to_u32(number, UINT32_MAX, &v) < 0)
            return -EINVAL;
        if (field == 0)
            who.uid = v;
        else
            who.gids[who.count++] = v;
        if (text[n] == '\0')
            break;
        text += n + 1;
    }
    if (!id_is_allocatable(who.uid))
        return -EINVAL;
    *ret_who = who;
    return 0;
}

/* What the plan makes of a value: less, where the user's total or the memory is less. */
static uint64_t value_in(const struct plan *plan, const struct policy_profile *p,
                         enum policy_key key)
{
    switch (key) {
    case POLICY_KEY_MEMORY:
        return p->kind == POLICY_USER ? plan->user.memory_max_bytes : plan->leaf.memory_max_bytes;
    case POLICY_KEY_PIDS:
        return p->kind == POLICY_USER ? plan->user.pids_max : plan->leaf.pids_max;
#define PLACE_CASES(id, target, key)                                                               \
    case POLICY_KEY_##key:                                                                         \
        return plan->sizes[PLAN_PLACE_##id].bytes;                                                 \
    case POLICY_KEY_##key##_FILES:                                                                 \
        return plan->sizes[PLAN_PLACE_##id].inodes;
        PLAN_PLACES(PLACE_CASES)
#undef PLACE_CASES
    default: /* as the profile says */
        return p->values[key];
    }
}

/* Of a section a key and its value; an entry of a list has a line of its own. */
static void line_print(const char *section, const char *key, const char *value)
{
    (void)printf("%-7s %-14s %s\n", section, key, value);
}

static void kind_explain(const struct policy *policy, enum policy_kind kind, const struct who *who)
{
    const char *name = policy_kind_names[kind], *field;
    enum policy_kind of = kind == POLICY_USER ? POLICY_RUN : kind;
    const struct plan_ask nothing = {0};
    const struct policy_profile *p;
    char text[NAME_SIZE + 24];
    enum policy_why why;
    struct plan plan;
    uint32_t gid;

    p = policy_find(policy, kind, who->uid, who->gids, who->count, &why, &gid);
    (void)policy_plan(policy, of, who->uid, who->gids, who->count, &nothing, &plan, &field);
    switch (why) {
    case POLICY_WHY_SHIPPED:
        (void)snprintf(text, sizeof(text), "%s", p->name);
        break;
    case POLICY_WHY_UID:
        (void)snprintf(text, sizeof(text), "%s (uid %u)", p->name, who->uid);
        break;
    case POLICY_WHY_GID:
        (void)snprintf(text, sizeof(text), "%s (gid %u)", p->name, gid);
        break;
    }
    line_print(name, "profile", text);
    for (unsigned key = 0; key < POLICY_KEY__COUNT; key++) {
        char value[POLICY_VALUE_SIZE];

        if (!policy_key_is_of((enum policy_key)key, kind))
            continue;
        policy_value_text((enum policy_key)key, value_in(&plan, p, (enum policy_key)key), value);
        line_print(name, policy_keys[key].name, value);
    }
    for (unsigned i = 0; i < WIRE_LIMIT__COUNT; i++) {
        if ((p->required & (1u << i)) != 0)
            line_print(name, "required", policy_limit_names[i]);
    }
    for (uint32_t i = 0; i < p->tree_count; i++)
        line_print(name, "tree", p->trees[i]);
    for (uint32_t i = 0; i < p->skill_count; i++)
        line_print(name, "skill", p->skills[i]);
}

/* What is the same for everybody. */
static void host_explain(const struct policy *policy)
{
    char text[POLICY_ALLOW_TEXT_SIZE];

    for (unsigned k = 0; k < POLICY_NET_KEY__COUNT; k++) {
        enum policy_net_key key = (enum policy_net_key)k;

        for (uint32_t i = 0; policy_net_text(&policy->net, key, i, text); i++)
            line_print("network", policy_net_keys[key].name, text);
    }
    line_print("disk", "backend", policy_disk_names[policy->disk.backend]);
    line_print("disk", "required", policy->disk.is_required ? "true" : "false");
}

static int explain(const struct policy *policy, const char *text)
{
    struct who who;

    if (who_parse(text, &who) < 0) {
        (void)fprintf(stderr, "sessiond: '%s' is not UID or UID:GID,GID..., of a participant\n",
                      text);
        return EX_USAGE;
    }
    for (unsigned kind = 0; kind < POLICY_KIND__COUNT; kind++)
        kind_explain(policy, (enum policy_kind)kind, &who);
    host_explain(policy);
    return 0;
}

/* It is part of the program: no policy says anything of it. */
static int filter_explain(const char *profile)
{
    if (strcmp(profile, policy_kind_names[POLICY_RUN]) == 0)
        return filter_show(FILTER_RUN, stdout) < 0 ? EX_IOERR : 0;
    if (strcmp(profile, policy_kind_names[POLICY_LOGIN]) == 0)
        return filter_show(FILTER_LOGIN, stdout) < 0 ? EX_IOERR : 0;
    (void)fprintf(stderr, "sessiond: '%s' is not run or login\n", profile);
    return EX_USAGE;
}

/* Of the sessiond that runs, or did: what it has saved. */
static int names_show(void)
{
    int r = net_follow_show(stdout);

    if (r == 0 || r == -ENOENT)
        return 0;
    (void)fprintf(stderr, "sessiond: what it knows of names cannot be read: %s\n", strerror(-r));
    return r == -EIO ? EX_IOERR : EX_NOINPUT;
}

static int policy_get(const char *file, struct policy *policy)
{
    struct config_error error;
    int r;

    r = file ? config_read_file(file, CONFIG_ANY_OWNER, policy, &error)
             : config_read(config_dir, 0, policy, &error);
    if (r < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return EX_CONFIG;
    }
    return 0;
}

/* It can be read: does it fit this host? */
static int check(const struct policy *policy, const char *where)
{
    unsigned warnings, errors = policy_warn(policy, stderr, &warnings);

    if (errors > 0)
        return EX_CONFIG;
    (void)printf("%s: fine, profiles: %u", where, policy->count);
    if (warnings > 0)
        (void)printf(", warnings: %u", warnings);
    (void)printf("\n");
    return 0;
}

int policy_tool_run(enum policy_tool tool, const char *file, const char *who)
{
    static struct policy policy;
    bool needs_policy = tool != POLICY_TOOL_FILTER && tool != POLICY_TOOL_NAMES;
    int code = needs_policy ? policy_get(file, &policy) : 0;

    if (code != 0)
        return code;
    switch (tool) {
    case POLICY_TOOL_NONE:
        break;
    case POLICY_TOOL_CHECK:
        code = check(&policy, file ? file : config_dir);
        break;
    case POLICY_TOOL_SHOW:
        (void)policy_show(&policy, stdout);
        break;
    case POLICY_TOOL_LOOSENED:
        (void)policy_loosened(&policy, stdout);
        break;
    case POLICY_TOOL_EXPLAIN:
        code = explain(&policy, who);
        break;
    case POLICY_TOOL_FILTER:
        code = filter_explain(who);
        break;
    case POLICY_TOOL_NAMES:
        code = names_show();
        break;
    }
    return fflush(stdout) != 0 || ferror(stdout) ? EX_IOERR : code;
}
