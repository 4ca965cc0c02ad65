/* SPDX-License-Identifier: ISC */
/* limits.c - what a run may ask for, by the policy that sessiond goes by. */
#include "sessiond/api/limits.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/policy.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

static const char *source = POLICY_IN_FORCE;
static uid_t source_owner;
static struct policy policy;
static bool has_policy;
static struct stat seen; /* the file that was read, or could not be */

void limits_source(const char *path, uid_t owner)
{
    source = path;
    source_owner = owner;
    has_policy = false;
    memset(&seen, 0, sizeof(seen));
}

/* sessiond renames a new file over the old one: it is another inode, or another time. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void refresh(void)
{
    struct config_error error;
    struct stat now = {0};

    if (!has_policy) {
        policy_defaults(&policy);
        has_policy = true;
    }
    if (stat(source, &now) < 0 || is_same(&now, &seen))
        return;
    seen = now;
    if (config_read_file(source, source_owner, &policy, &error) < 0)
        log_warning("the policy in force cannot be read, the last one stays: %s", error.text);
    else
        log_info("policy read profiles=%u", policy.count);
}

void limits_of(uint32_t uid, const uint32_t *gids, size_t count, struct limits *ret_limits)
{
    const struct policy_profile *p;

    refresh();
    p = policy_find(&policy, POLICY_RUN, uid, gids, count, NULL, NULL);
    *ret_limits = (struct limits){
        .wall_ms = (uint32_t)p->values[POLICY_KEY_WALL],
        .wall_ms_max = (uint32_t)p->values[POLICY_KEY_WALL_MAX],
        .cpu_ms = (uint32_t)p->values[POLICY_KEY_CPU_TIME],
        .cpu_ms_max = (uint32_t)p->values[POLICY_KEY_CPU_TIME_MAX],
        .out_kb = (uint32_t)(p->values[POLICY_KEY_OUTPUT] / POLICY_KI),
        .out_kb_max = (uint32_t)(p->values[POLICY_KEY_OUTPUT_MAX] / POLICY_KI),
    };
}

uint32_t limits_required(void)
{
    uint32_t limits = 0;

    refresh();
    for (uint32_t i = 0; i < policy.count; i++)
        limits |= policy.profiles[i].required;
    return limits;
}
