/* SPDX-License-Identifier: ISC */
/* config_join.c - what the files say becomes a policy: bases, and what has to fit together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/near.h"
#include "policy/config_draft.h"

#include "common/banned.h"

static struct config_draft *draft_by_name(struct config_drafts *d, const char *name)
{
    for (uint32_t i = 0; i < d->count; i++) {
        if (strcmp(d->drafts[i].name, name) == 0)
            return &d->drafts[i];
    }
    return NULL;
}

static const char *title(const struct config_draft *draft)
{
    return draft->base_at.line > 0 ? "profile " : "";
}

/* What is required is a key of the profile. Return: 0 or -EINVAL. */
static int required_take(struct config_drafts *d, const struct config_draft *draft,
                         struct policy_profile *p)
{
    uint32_t strange = draft->said.required & ~policy_limits_of(p->kind);
    char text[POLICY_LIMITS_SIZE], all[POLICY_LIMITS_SIZE];

    if (draft->required_at.line == 0)
        return 0;
    policy_limits_text(strange, text);
    policy_limits_text(policy_limits_of(p->kind), all);
    if (strange != 0)
        return config_fault(d, draft->required_at, "%s%s: required: '%s' is none of %s",
                            title(draft), draft->name, text, all);
    p->required = draft->said.required;
    return 0;
}

/* The same of what is no number. */
static int lists_take(struct config_drafts *d, const struct config_draft *draft,
                      struct policy_profile *p)
{
    const bool is_trees = draft->trees_at.line > 0, is_skills = draft->skills_at.line > 0;

    if (p->kind == POLICY_USER && (is_trees || is_skills))
        return config_fault(d, is_trees ? draft->trees_at : draft->skills_at,
                            "profile %s: %s: a profile of kind user has no such key", draft->name,
                            is_trees ? "trees" : "skills");
    if (is_trees) {
        p->tree_count = draft->said.tree_count;
        memcpy(p->trees, draft->said.trees, sizeof(p->trees));
    }
    if (is_skills) {
        p->skill_count = draft->said.skill_count;
        memcpy(p->skills, draft->said.skills, sizeof(p->skills));
    }
    return 0;
}

/* The keys of a draft over those of its base. Return: 0 or -EINVAL. */
static int keys_take(struct config_drafts *d, const struct config_draft *draft,
                     struct policy_profile *p)
{
    for (unsigned key = 0; key < POLICY_KEY__COUNT; key++) {
        if (draft->at[key].line == 0)
            continue;
        if (!policy_key_is_of((enum policy_key)key, p->kind))
            return config_fault(d, draft->at[key],
                                "profile %s: %s: a profile of kind %s has no such key", draft->name,
                                policy_keys[key].name, policy_kind_names[p->kind]);
        p->values[key] = draft->said.values[key];
    }
    return required_take(d, draft, p) < 0 ? -EINVAL : lists_take(d, draft, p);
}

static int base_fault(struct config_drafts *d, const struct config_draft *draft)
{
    const char *known[POLICY_PROFILES_MAX];
    char hint[NEAR_HINT_SIZE];

    for (uint32_t i = 0; i < d->count; i++)
        known[i] = d->drafts[i].name == draft->name ? NULL : d->drafts[i].name;
    return config_fault(d, draft->base_at, "profile %s: base: there is no profile %s; %s",
                        draft->name, draft->base, near_hint(draft->base, known, d->count, hint));
}

/*
 * Put a draft and the base that it needs into the policy, in the order in which they are needed.
 * The depth is that of the chain of bases, which is no longer than there are drafts.
 */
static int draft_take(struct config_drafts *d, struct config_draft *draft, struct policy *policy,
                      unsigned depth)
{
    struct policy_profile *p;
    struct config_draft *base;
    int r;

    if (draft->is_done)
        return 0;
    if (draft->base_at.line == 0)
        return config_fault(d, draft->made, "profile %s: base: it is missing", draft->name);
    base = draft_by_name(d, draft->base);
    if (!base)
        return base_fault(d, draft);
    if (draft->is_open || depth > POLICY_PROFILES_MAX)
        return config_fault(d, draft->base_at, "profile %s: base: it is its own base", draft->name);
    draft->is_open = true;
    r = draft_take(d, base, policy, depth + 1);
    if (r < 0)
        return r;
    p = &policy->profiles[draft - d->drafts];
    *p = policy->profiles[base - d->drafts];
    (void)str_copy(p->name, sizeof(p->name), draft->name);
    /* Whom a profile is for is not inherited. */
    p->uid_count = draft->said.uid_count;
    p->gid_count = draft->said.gid_count;
    memcpy(p->uids, draft->said.uids, sizeof(p->uids));
    memcpy(p->gids, draft->said.gids, sizeof(p->gids));
    draft->is_done = 1;
    return keys_take(d, draft, p);
}

/* --- what has to fit together -------------------------------------------------------------- */

/*
 * One value may not be above another. What is blamed is what was said; the later if both were, and
 * one that was inherited where its base says it.
 */
static struct config_place blame(struct config_drafts *d, struct config_draft *draft,
                                 enum policy_key a, enum policy_key b)
{
    while (draft->at[a].line == 0 && draft->at[b].line == 0 && draft->base_at.line > 0) {
        struct config_draft *base = draft_by_name(d, draft->base);

        if (!base || (base->at[a].line == 0 && base->at[b].line == 0 && base->base_at.line == 0))
            return draft->base_at;
        draft = base;
    }
    if (draft->at[a].line == 0 && draft->at[b].line == 0)
        return draft->made;
    if (draft->at[a].line == 0)
        return draft->at[b];
    if (draft->at[b].line == 0 || draft->at[a].file > draft->at[b].file)
        return draft->at[a];
    if (draft->at[a].file < draft->at[b].file)
        return draft->at[b];
    return draft->at[a].line > draft->at[b].line ? draft->at[a] : draft->at[b];
}

/* "none" is more than any time. */
static bool is_above(enum policy_key key, uint64_t low, uint64_t high)
{
    if (policy_keys[key].type != POLICY_TIME_CPU)
        return low > high;
    return high > 0 && (low == 0 || low > high);
}

static int order_check(struct config_drafts *d, uint32_t i, const struct policy *policy,
                       enum policy_key low, enum policy_key high)
{
    const struct policy_profile *p = &policy->profiles[i];
    char low_text[POLICY_VALUE_SIZE], high_text[POLICY_VALUE_SIZE];
    struct config_draft *draft = &d->drafts[i];

    if (!policy_key_is_of(low, p->kind) || !is_above(low, p->values[low], p->values[high]))
        return 0;
    policy_value_text(low, p->values[low], low_text);
    policy_value_text(high, p->values[high], high_text);
    return config_fault(d, blame(d, draft, low, high), "%s%s: %s: %s is more than %s, which is %s",
                        title(draft), draft->name, policy_keys[low].name, low_text,
                        policy_keys[high].name, high_text);
}

/* A run or session cannot have more than all of its user's together. */
static int total_check(struct config_drafts *d, uint32_t i, const struct policy *policy,
                       enum policy_key key)
{
    const struct policy_profile *p = &policy->profiles[i];
    uint64_t most = policy->profiles[POLICY_USER].values[key];
    char text[POLICY_VALUE_SIZE], most_text[POLICY_VALUE_SIZE];
    struct config_draft *draft = &d->drafts[i], *user = &d->drafts[POLICY_USER];

    if (p->kind == POLICY_USER)
        return 0;
    /* A profile of some is held against the largest: whose total is meant is not known here. */
    for (uint32_t k = POLICY_KIND__COUNT; i >= POLICY_KIND__COUNT && k < policy->count; k++) {
        if (policy->profiles[k].kind == POLICY_USER && policy->profiles[k].values[key] > most)
            most = policy->profiles[k].values[key];
    }
    if (p->values[key] <= most)
        return 0;
    policy_value_text(key, p->values[key], text);
    policy_value_text(key, most, most_text);
    return config_fault(d,
                        draft->at[key].line > 0  ? draft->at[key]
                        : user->at[key].line > 0 ? user->at[key]
                                                 : blame(d, draft, key, key),
                        "%s%s: %s: %s is more than user: %s, which is %s", title(draft),
                        draft->name, policy_keys[key].name, text, policy_keys[key].name, most_text);
}

static bool is_within(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static int trees_check(struct config_drafts *d, uint32_t i, const struct policy *policy)
{
    const struct policy_profile *p = &policy->profiles[i];

    for (uint32_t a = 0; a < p->tree_count; a++) {
        for (uint32_t b = 0; b < p->tree_count; b++) {
            if (a != b && is_within(p->trees[a], p->trees[b]))
                return config_fault(d, d->drafts[i].trees_at, "%s%s: trees: %s is in %s already",
                                    title(&d->drafts[i]), p->name, p->trees[a], p->trees[b]);
        }
    }
    return 0;
}

/* Each has a place of its own in the tree, by its name. */
static int skills_check(struct config_drafts *d, uint32_t i, const struct policy *policy)
{
    const struct policy_profile *p = &policy->profiles[i];

    for (uint32_t a = 0; a < p->skill_count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (skill_name_is_same(p->skills[a], p->skills[b]))
                return config_fault(d, d->drafts[i].skills_at, "%s%s: skills: %s is named twice",
                                    title(&d->drafts[i]), p->name, p->skills[a]);
        }
    }
    return 0;
}

/* Nobody is named by two profiles of a kind, nor twice by one. */
static int ids_check(struct config_drafts *d, uint32_t i, const struct policy *policy)
{
    const struct policy_profile *p = &policy->profiles[i];

    for (uint32_t k = 0; k <= i; k++) {
        const struct policy_profile *q = &policy->profiles[k];

        if (q->kind != p->kind)
            continue;
        for (uint32_t a = 0; a < p->uid_count; a++) {
            for (uint32_t b = 0; b < (k == i ? a : q->uid_count); b++) {
                if (p->uids[a] == q->uids[b])
                    return config_fault(d, d->drafts[i].uids_at,
                                        "profile %s: uids: %u is named by profile %s", p->name,
                                        p->uids[a], k == i ? "this one twice" : q->name);
            }
        }
        for (uint32_t a = 0; a < p->gid_count; a++) {
            for (uint32_t b = 0; b < (k == i ? a : q->gid_count); b++) {
                if (p->gids[a] == q->gids[b])
                    return config_fault(d, d->drafts[i].gids_at,
                                        "profile %s: gids: %u is named by profile %s", p->name,
                                        p->gids[a], k == i ? "this one twice" : q->name);
            }
        }
    }
    return 0;
}

static int profile_check(struct config_drafts *d, uint32_t i, const struct policy *policy)
{
    static const enum policy_key orders[][2] = {
        {POLICY_KEY_TMP, POLICY_KEY_MEMORY},
        {POLICY_KEY_VAR_TMP, POLICY_KEY_MEMORY},
        {POLICY_KEY_SHM, POLICY_KEY_MEMORY},
        {POLICY_KEY_HOME, POLICY_KEY_MEMORY},
        {POLICY_KEY_WALL, POLICY_KEY_WALL_MAX},
        {POLICY_KEY_OUTPUT, POLICY_KEY_OUTPUT_MAX},
        {POLICY_KEY_CPU_TIME, POLICY_KEY_CPU_TIME_MAX},
    };
    int r = 0;

    for (size_t k = 0; r == 0 && k < sizeof(orders) / sizeof(orders[0]); k++)
        r = order_check(d, i, policy, orders[k][0], orders[k][1]);
    if (r == 0)
        r = total_check(d, i, policy, POLICY_KEY_MEMORY);
    if (r == 0)
        r = total_check(d, i, policy, POLICY_KEY_PIDS);
    if (r == 0)
        r = trees_check(d, i, policy);
    if (r == 0)
        r = skills_check(d, i, policy);
    return r == 0 ? ids_check(d, i, policy) : r;
}

int config_join(struct config_drafts *d, struct policy *ret_policy)
{
    struct policy *policy = malloc(sizeof(*policy));
    int r = 0;

    if (!policy)
        return -ENOMEM;
    policy_defaults(policy);
    for (uint32_t i = 0; r == 0 && i < POLICY_KIND__COUNT; i++) {
        d->drafts[i].is_done = 1;
        r = keys_take(d, &d->drafts[i], &policy->profiles[i]);
    }
    for (uint32_t i = POLICY_KIND__COUNT; r == 0 && i < d->count; i++)
        r = draft_take(d, &d->drafts[i], policy, 0);
    policy->count = d->count;
    if (r == 0)
        r = config_disk_join(d, &policy->disk);
    for (uint32_t i = 0; r == 0 && i < policy->count; i++)
        r = profile_check(d, i, policy);
    if (r == 0)
        r = config_net_join(d, &policy->net);
    if (r == 0)
        *ret_policy = *policy;
    free(policy);
    return r;
}
