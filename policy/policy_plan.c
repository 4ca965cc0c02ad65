/* SPDX-License-Identifier: ISC */
/* policy_plan.c - what the policy gives to one run or session. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "policy/plan.h"

#include "common/banned.h"

/* cpu.max: what is common, and short enough that nobody waits long for the next period. */
#define CPU_PERIOD_US 100000ull

/*
 * RLIMIT_NPROC is counted over all runs and logins of the user, threads too: a ceiling, and above
 * what the user's group may have, so that a fork is refused there, where it is counted.
 */
#define NPROC_ABOVE 64u

/* The home of a session is no file system of its own: root makes directories in this one. */
#define PLACE_BYTES  (1ull << 20)
#define PLACE_INODES 64ull

/*
 * What a file or directory takes of the memory besides what is in it: inode and name of tmpfs.
 * Measured as 0.9 KiB (tests/attack/test_tree.py fills all of it).
 */
#define INODE_BYTES 1024ull

/* tmpfs has whole pages of any machine; 0 would be no limit. */
#define SIZE_STEP    (64 * POLICY_KI)
#define INODES_LEAST 16u

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void rlimit_add(struct plan *p, int resource, uint64_t value)
{
    p->rlimits[p->rlimit_count++] = (struct plan_rlimit){.resource = resource, .value = value};
}

static uint64_t rlimit_cpu_s(const struct plan *p, const struct plan_ask *ask)
{
    return (p->cpu_ms + 999ull) / 1000 + (ask->cpu_is_counted ? 1 : 0);
}

static void rlimits_fill(struct plan *p, const uint64_t *v, const struct plan_ask *ask)
{
    /* 1, not 0: a core pattern that is a pipe ignores 0, and the kernel skips the dump at 1. */
    rlimit_add(p, RLIMIT_CORE, 1);
    p->rlimits[0].is_exact = true;
    rlimit_add(p, RLIMIT_NOFILE, v[POLICY_KEY_NOFILE]);
    rlimit_add(p, RLIMIT_NPROC, p->user.pids_max + NPROC_ABOVE);
    rlimit_add(p, RLIMIT_FSIZE, v[POLICY_KEY_FSIZE]);
    rlimit_add(p, RLIMIT_MEMLOCK, 64 * 1024);
    rlimit_add(p, RLIMIT_MSGQUEUE, 0);
    rlimit_add(p, RLIMIT_RTPRIO, 0);
    rlimit_add(p, RLIMIT_NICE, 0);
    if (p->cpu_ms > 0)
        rlimit_add(p, RLIMIT_CPU, rlimit_cpu_s(p, ask));
}

static uint64_t sizes_need(const struct plan *p)
{
    uint64_t need = 0;

    for (unsigned i = 0; i < PLAN_PLACE__COUNT; i++)
        need += p->sizes[i].bytes + p->sizes[i].inodes * INODE_BYTES;
    return need;
}

/* @value times @room / @need; all of them are counted in KiB, so that nothing overflows. */
static uint64_t share_of(uint64_t value, uint64_t room, uint64_t need)
{
    return value * (room / POLICY_KI) / (need / POLICY_KI);
}

/*
 * All of them full, with an eighth of the memory left for the program, is no want of memory: who
 * fills them is told so by write(2), and not killed. If there is less, each gets its part of it.
 */
static void sizes_fit(struct plan *p)
{
    uint64_t room = p->leaf.memory_max_bytes / 8 * 7, need = sizes_need(p);

    if (need <= room)
        return;
    room -= PLAN_PLACE__COUNT * (SIZE_STEP + INODES_LEAST * INODE_BYTES);
    for (unsigned i = 0; i < PLAN_PLACE__COUNT; i++) {
        struct plan_size *s = &p->sizes[i];
        uint64_t kib = share_of(s->bytes / POLICY_KI, room, need);

        s->bytes = kib * POLICY_KI / SIZE_STEP * SIZE_STEP;
        s->inodes = share_of(s->inodes, room, need);
        if (s->bytes < SIZE_STEP)
            s->bytes = SIZE_STEP;
        if (s->inodes < INODES_LEAST)
            s->inodes = INODES_LEAST;
    }
}

static void sizes_fill(struct plan *p, const uint64_t *v)
{
#define PLACE_SIZE(id, target, key)                                                                \
    p->sizes[PLAN_PLACE_##id] =                                                                    \
        (struct plan_size){.bytes = v[POLICY_KEY_##key], .inodes = v[POLICY_KEY_##key##_FILES]};
    PLAN_PLACES(PLACE_SIZE)
#undef PLACE_SIZE
    if (p->kind == POLICY_LOGIN)
        p->sizes[PLAN_PLACE_HOME] = (struct plan_size){PLACE_BYTES, PLACE_INODES};
    sizes_fit(p);
}

int policy_plan(const struct policy *policy, enum policy_kind kind, uint32_t uid,
                const uint32_t *gids, size_t count, const struct plan_ask *ask,
                struct plan *ret_plan, const char **ret_field)
{
    const struct policy_profile *mine = policy_find(policy, kind, uid, gids, count, NULL, NULL);
    const struct policy_profile *all =
        policy_find(policy, POLICY_USER, uid, gids, count, NULL, NULL);
    const uint64_t *v = mine->values, *u = all->values;
    struct plan p = {.kind = kind};

    if (kind == POLICY_RUN) {
        *ret_field = "wall_ms";
        if (ask->wall_ms > v[POLICY_KEY_WALL_MAX])
            return -ERANGE;
        p.wall_ms = ask->wall_ms > 0 ? ask->wall_ms : (uint32_t)v[POLICY_KEY_WALL];
        *ret_field = "cpu_ms";
        if (v[POLICY_KEY_CPU_TIME_MAX] > 0 && ask->cpu_ms > v[POLICY_KEY_CPU_TIME_MAX])
            return -ERANGE;
        p.cpu_ms = ask->cpu_ms > 0 ? ask->cpu_ms : (uint32_t)v[POLICY_KEY_CPU_TIME];
    }
    (void)str_copy(p.profile, sizeof(p.profile), mine->name);
    (void)str_copy(p.user_profile, sizeof(p.user_profile), all->name);
    /* Equal weight for everybody: whoever has a hundred processes gets no more than who has one. */
    p.user = (struct plan_cgroup){
        .memory_max_bytes = u[POLICY_KEY_MEMORY],
        .pids_max = u[POLICY_KEY_PIDS],
        .cpu_weight = 100,
        .io_weight = u[POLICY_KEY_IO_WEIGHT],
        .io_read = u[POLICY_KEY_IO_READ],
        .io_write = u[POLICY_KEY_IO_WRITE],
    };
    p.leaf = (struct plan_cgroup){
        .memory_max_bytes = least_of(v[POLICY_KEY_MEMORY], u[POLICY_KEY_MEMORY]),
        .pids_max = least_of(v[POLICY_KEY_PIDS], u[POLICY_KEY_PIDS]),
        .cpu_quota_us = v[POLICY_KEY_CPU] * (CPU_PERIOD_US / 100),
        .cpu_period_us = CPU_PERIOD_US,
        .cpu_weight = 100,
        /* A program that outgrows its memory is over, whatever part of it the kernel would pick; a
         * shell outlives the program that took all memory. */
        .oom_group = kind == POLICY_RUN,
    };
    p.required = mine->required;
    p.user_required = all->required;
    rlimits_fill(&p, v, ask);
    sizes_fill(&p, v);
    p.disk = (struct plan_size){u[POLICY_KEY_DISK], u[POLICY_KEY_DISK_FILES]};
    p.tree_count = mine->tree_count;
    memcpy(p.trees, mine->trees, sizeof(p.trees));
    p.skill_count = mine->skill_count;
    memcpy(p.skills, mine->skills, sizeof(p.skills));
    *ret_plan = p;
    return 0;
}

bool plan_unmet(const struct plan *plan, uint32_t asked, uint32_t kept,
                char ret_text[PLAN_UNMET_SIZE])
{
    const struct {
        uint32_t limits;
        const char *profile; /* NULL: the run itself */
    } by[] = {
        {asked, NULL}, {plan->required, plan->profile}, {plan->user_required, plan->user_profile}};

    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        char limits[POLICY_LIMITS_SIZE];

        if ((by[i].limits & ~kept) == 0)
            continue;
        policy_limits_text(by[i].limits & ~kept & WIRE_LIMIT_ALL, limits);
        (void)snprintf(ret_text, PLAN_UNMET_SIZE,
                       "%s: no control group here limits that, and the %s requires it%s%s%s",
                       limits, by[i].profile ? "policy" : "run", by[i].profile ? " (" : "",
                       by[i].profile ? by[i].profile : "", by[i].profile ? ")" : "");
        return true;
    }
    return false;
}

size_t plan_own(const struct plan *plan, struct plan_entry ret_entries[PLAN_OWN_MAX])
{
    static const char *const targets[PLAN_PLACE__COUNT] = {
#define PLACE_TARGET(id, target, key) [PLAN_PLACE_##id] = target,
        PLAN_PLACES(PLACE_TARGET)
#undef PLACE_TARGET
    };

    for (unsigned i = 0; i < PLAN_PLACE__COUNT; i++)
        ret_entries[i] = (struct plan_entry){
            .op = PLAN_TMPFS,
            .target = targets[i],
            .mode = i == PLAN_PLACE_HOME ? 0755 : 01777,
            .bytes = plan->sizes[i].bytes,
            .inodes = plan->sizes[i].inodes,
        };
    /* Its own passwd and group. */
    ret_entries[PLAN_PLACE__COUNT] = (struct plan_entry){
        .op = PLAN_TMPFS, .target = "etc/atelier", .mode = 0755, .bytes = 1ull << 20, .inodes = 16};
    return PLAN_OWN_MAX;
}
