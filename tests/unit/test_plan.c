/* SPDX-License-Identifier: ISC */
/* test_plan.c - what a run gets, as data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "policy/plan.h"

#include "common/banned.h"

static const char *const forbidden[] = {"etc/shadow",
                                        "etc/gshadow",
                                        "etc/sudoers",
                                        "etc/ssh",
                                        "etc/cron",
                                        "etc/ssl/private",
                                        "var/lib",
                                        "var/log",
                                        "root/",
                                        "srv",
                                        "mnt",
                                        "boot",
                                        "etc/atelier/atelier.conf"};

static const struct plan_entry *entry_find(const char *target, enum plan_op op)
{
    for (size_t i = 0; i < plan_base_count; i++) {
        if (plan_base[i].op == op && strcmp(plan_base[i].target, target) == 0)
            return &plan_base[i];
    }
    return NULL;
}

static void the_tree_is_an_allow_list(void **state)
{
    (void)state;
    for (size_t i = 0; i < plan_base_count; i++) {
        assert_true(plan_base[i].target[0] != '/');
        assert_null(strstr(plan_base[i].target, ".."));
        for (size_t k = 0; k < sizeof(forbidden) / sizeof(forbidden[0]); k++)
            assert_null(strstr(plan_base[i].target, forbidden[k]));
    }
    assert_non_null(entry_find("usr", PLAN_BIND));
}

/* Nothing is bound from a place that a participant can write to, or that holds sockets. */
static void what_is_bound_comes_from_usr_and_etc(void **state)
{
    (void)state;
    for (size_t i = 0; i < plan_base_count; i++) {
        const struct plan_entry *e = &plan_base[i];

        if (e->op == PLAN_BIND || e->op == PLAN_COPY)
            assert_true(strncmp(e->source, "/usr", 4) == 0 || strncmp(e->source, "/etc/", 5) == 0);
    }
}

/* --- plans --------------------------------------------------------------------------------- */

#define MIB (1ull << 20)

static struct policy policy;

static struct plan plan_of(enum policy_kind kind, uint32_t uid, uint32_t gid, uint32_t wall_ms)
{
    const struct plan_ask ask = {.wall_ms = wall_ms};
    const char *field = "";
    struct plan plan;

    memset(&plan, 0, sizeof(plan));
    assert_int_equal(policy_plan(&policy, kind, uid, &gid, 1, &ask, &plan, &field), 0);
    return plan;
}

static uint64_t rlimit_of(const struct plan *plan, int resource)
{
    for (uint32_t i = 0; i < plan->rlimit_count; i++) {
        if (plan->rlimits[i].resource == resource)
            return plan->rlimits[i].value;
    }
    return UINT64_MAX;
}

static void assert_cgroup_equal(const struct plan_cgroup *a, const struct plan_cgroup *b)
{
    assert_int_equal(a->memory_max_bytes, b->memory_max_bytes);
    assert_int_equal(a->swap_max_bytes, b->swap_max_bytes);
    assert_int_equal(a->pids_max, b->pids_max);
    assert_int_equal(a->cpu_quota_us, b->cpu_quota_us);
    assert_int_equal(a->cpu_period_us, b->cpu_period_us);
    assert_int_equal(a->cpu_weight, b->cpu_weight);
    assert_int_equal(a->oom_group, b->oom_group);
}

/* Field by field: what is between them is nobody's. */
static void assert_plan_equal(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_string_equal(a->profile, b->profile);
    assert_string_equal(a->user_profile, b->user_profile);
    assert_int_equal(a->wall_ms, b->wall_ms);
    assert_int_equal(a->cpu_ms, b->cpu_ms);
    assert_cgroup_equal(&a->leaf, &b->leaf);
    assert_cgroup_equal(&a->user, &b->user);
    assert_int_equal(a->rlimit_count, b->rlimit_count);
    for (uint32_t i = 0; i < a->rlimit_count; i++) {
        assert_int_equal(a->rlimits[i].resource, b->rlimits[i].resource);
        assert_int_equal(a->rlimits[i].is_exact, b->rlimits[i].is_exact);
        assert_int_equal(a->rlimits[i].value, b->rlimits[i].value);
    }
    assert_memory_equal(a->sizes, b->sizes, sizeof(a->sizes));
    assert_int_equal(a->tree_count, b->tree_count);
    assert_memory_equal(a->trees, b->trees, sizeof(a->trees));
}

/* What is shipped, whole: a change of any value of it is seen here. */
static void a_run_and_a_session_get_what_is_shipped(void **state)
{
    const struct plan_cgroup leaf = {.memory_max_bytes = 512 * MIB,
                                     .pids_max = 128,
                                     .cpu_quota_us = 100000,
                                     .cpu_period_us = 100000,
                                     .cpu_weight = 100,
                                     .oom_group = true},
                             user = {.memory_max_bytes = 1536 * MIB,
                                     .pids_max = 448,
                                     .cpu_weight = 100};
    struct plan want = {
        .kind = POLICY_RUN,
        .profile = "run",
        .user_profile = "user",
        .wall_ms = 30000,
        .leaf = leaf,
        .user = user,
        .rlimit_count = 8,
        .rlimits = {{RLIMIT_CORE, true, 1},
                    {RLIMIT_NOFILE, false, 4096},
                    {RLIMIT_NPROC, false, 512},
                    {RLIMIT_FSIZE, false, 1024 * MIB},
                    {RLIMIT_MEMLOCK, false, 65536},
                    {RLIMIT_MSGQUEUE, false, 0},
                    {RLIMIT_RTPRIO, false, 0},
                    {RLIMIT_NICE, false, 0}},
        .sizes = {{128 * MIB, 32768}, {32 * MIB, 8192}, {64 * MIB, 4096}, {128 * MIB, 32768}},
    };
    const struct plan_size login_sizes[PLAN_PLACE__COUNT] = {
        {256 * MIB, 65536}, {64 * MIB, 16384}, {64 * MIB, 4096}, {MIB, 64}};
    struct plan got;

    (void)state;
    policy_defaults(&policy);
    got = plan_of(POLICY_RUN, 10001, 10002, 0);
    assert_plan_equal(&got, &want);
    want.kind = POLICY_LOGIN;
    (void)str_copy(want.profile, sizeof(want.profile), "login");
    want.wall_ms = 0;
    want.leaf.memory_max_bytes = 1024 * MIB;
    want.leaf.pids_max = 256;
    want.leaf.oom_group = false;
    memcpy(want.sizes, login_sizes, sizeof(login_sizes));
    got = plan_of(POLICY_LOGIN, 10001, 10002, 0);
    assert_plan_equal(&got, &want);
}

/* Profiles for 10001 (a run), 10020 (a group) and its members' total. */
static void profiles_add(void)
{
    struct policy_profile *p;

    policy_defaults(&policy);
    p = &policy.profiles[policy.count++];
    *p = policy.profiles[POLICY_RUN];
    (void)str_copy(p->name, sizeof(p->name), "small");
    p->values[POLICY_KEY_MEMORY] = 128 * MIB;
    p->values[POLICY_KEY_CPU] = 50;
    p->values[POLICY_KEY_CPU_TIME] = 5000;
    p->values[POLICY_KEY_WALL_MAX] = 40000;
    p->values[POLICY_KEY_TMP] = 32 * MIB;
    p->values[POLICY_KEY_VAR_TMP] = p->values[POLICY_KEY_SHM] = 4 * MIB;
    p->values[POLICY_KEY_HOME] = 16 * MIB;
    p->values[POLICY_KEY_TMP_FILES] = 99;
    p->values[POLICY_KEY_NOFILE] = 77;
    p->tree_count = 1;
    (void)str_copy(p->trees[0], POLICY_TREE_SIZE, "/opt/course");
    p->uids[p->uid_count++] = 10001;
    p = &policy.profiles[policy.count++];
    *p = policy.profiles[POLICY_USER];
    (void)str_copy(p->name, sizeof(p->name), "guests");
    p->values[POLICY_KEY_MEMORY] = 64 * MIB;
    p->values[POLICY_KEY_PIDS] = 40;
    p->gids[p->gid_count++] = 10020;
}

static void a_profile_changes_what_it_says_for_whom_it_names(void **state)
{
    struct plan mine, others, shipped;

    (void)state;
    policy_defaults(&policy);
    shipped = plan_of(POLICY_RUN, 10002, 10003, 0);
    profiles_add();
    others = plan_of(POLICY_RUN, 10002, 10003, 0);
    assert_plan_equal(&others, &shipped);
    mine = plan_of(POLICY_RUN, 10001, 10003, 0);
    assert_string_equal(mine.profile, "small");
    assert_true(mine.leaf.memory_max_bytes == 128 * MIB);
    assert_int_equal(mine.leaf.cpu_quota_us, 50000);
    assert_int_equal(mine.leaf.cpu_period_us, 100000);
    assert_int_equal(mine.leaf.pids_max, 128);
    assert_int_equal(rlimit_of(&mine, RLIMIT_NOFILE), 77);
    assert_int_equal(rlimit_of(&mine, RLIMIT_CPU), 5);
    assert_true(rlimit_of(&others, RLIMIT_CPU) == UINT64_MAX);
    assert_true(mine.sizes[PLAN_PLACE_TMP].bytes == 32 * MIB);
    assert_int_equal(mine.sizes[PLAN_PLACE_TMP].inodes, 99);
    assert_int_equal(mine.tree_count, 1);
    assert_string_equal(mine.trees[0], "/opt/course");
    assert_int_equal(others.tree_count, 0);
    assert_int_equal(mine.wall_ms, 30000);
}

/* What they take when all of them are full. */
static uint64_t places_of(const struct plan *plan)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < PLAN_PLACE__COUNT; i++)
        sum += plan->sizes[i].bytes + plan->sizes[i].inodes * 1024;
    return sum;
}

static void a_total_is_above_whatever_a_profile_says(void **state)
{
    struct plan run, login;

    (void)state;
    profiles_add();
    run = plan_of(POLICY_RUN, 10001, 10020, 0);
    assert_string_equal(run.user_profile, "guests");
    assert_true(run.leaf.memory_max_bytes == 64 * MIB);
    assert_int_equal(run.leaf.pids_max, 40);
    assert_int_equal(rlimit_of(&run, RLIMIT_NPROC), 104);
    assert_true(places_of(&run) <= 56 * MIB && places_of(&run) > 54 * MIB);
    login = plan_of(POLICY_LOGIN, 10002, 10020, 0);
    assert_true(login.leaf.memory_max_bytes == 64 * MIB);
    assert_true(places_of(&login) <= 56 * MIB && places_of(&login) > 54 * MIB);
    /* Each its part. */
    assert_true(login.sizes[PLAN_PLACE_TMP].bytes > 3 * login.sizes[PLAN_PLACE_SHM].bytes);
}

/* From the smallest memory to the largest there is, with all that a profile can say. */
static void all_places_together_fit_into_the_memory(void **state)
{
    static const uint64_t memories[] = {16, 17, 64, 100, 512, 1024, 65536, 256 * 1024};
    struct policy_profile *run = &policy.profiles[POLICY_RUN];

    (void)state;
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
        uint64_t memory = memories[i] * MIB;
        struct plan plan;

        policy_defaults(&policy);
        policy.profiles[POLICY_USER].values[POLICY_KEY_MEMORY] = memory;
        run->values[POLICY_KEY_MEMORY] = memory;
        plan = plan_of(POLICY_RUN, 10001, 10002, 0);
        assert_true(places_of(&plan) <= memory / 8 * 7);
        for (unsigned key = 0; key < POLICY_KEY__COUNT; key++)
            run->values[key] = policy_keys[key].most;
        run->values[POLICY_KEY_MEMORY] = memory;
        plan = plan_of(POLICY_RUN, 10001, 10002, 0);
        assert_true(places_of(&plan) <= memory / 8 * 7);
        for (unsigned k = 0; k < PLAN_PLACE__COUNT; k++)
            assert_true(plan.sizes[k].bytes > 0 && plan.sizes[k].bytes % 65536 == 0 &&
                        plan.sizes[k].inodes >= 16);
    }
}

static void who_asks_for_more_time_than_there_is_gets_nothing(void **state)
{
    struct plan_ask ask = {.wall_ms = 40001};
    struct plan plan = {.wall_ms = 7};
    const char *field = "";

    (void)state;
    profiles_add();
    assert_int_equal(policy_plan(&policy, POLICY_RUN, 10001, NULL, 0, &ask, &plan, &field),
                     -ERANGE);
    assert_string_equal(field, "wall_ms");
    assert_int_equal(plan.wall_ms, 7);
    ask.wall_ms = 40000;
    assert_int_equal(policy_plan(&policy, POLICY_RUN, 10001, NULL, 0, &ask, &plan, &field), 0);
    assert_int_equal(plan.wall_ms, 40000);
    ask.wall_ms = 600000;
    assert_int_equal(policy_plan(&policy, POLICY_RUN, 10002, NULL, 0, &ask, &plan, &field), 0);
}

static void processor_time_is_of_the_run_and_the_rlimit_behind_it(void **state)
{
    static const struct {
        uint32_t asked, cpu_ms;
        bool is_counted;
        uint64_t rlimit_s;
    } cases[] = {
        {0, 3000, false, 3},   {0, 3000, true, 4},     {1, 1, false, 1},       {1, 1, true, 2},
        {1000, 1000, true, 2}, {1001, 1001, false, 2}, {9000, 9000, false, 9},
    };
    struct plan_ask ask = {.cpu_ms = 9001};
    const char *field = "";
    struct plan plan;

    (void)state;
    policy_defaults(&policy);
    plan = plan_of(POLICY_RUN, 10001, 10020, 0);
    assert_int_equal(plan.cpu_ms, 0);
    assert_true(rlimit_of(&plan, RLIMIT_CPU) == UINT64_MAX);
    /* Shipped is no maximum. */
    assert_int_equal(policy_plan(&policy, POLICY_RUN, 10001, NULL, 0, &ask, &plan, &field), 0);
    assert_int_equal(plan.cpu_ms, 9001);
    policy.profiles[POLICY_RUN].values[POLICY_KEY_CPU_TIME] = 3000;
    policy.profiles[POLICY_RUN].values[POLICY_KEY_CPU_TIME_MAX] = 9000;
    assert_int_equal(policy_plan(&policy, POLICY_RUN, 10001, NULL, 0, &ask, &plan, &field),
                     -ERANGE);
    assert_string_equal(field, "cpu_ms");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ask = (struct plan_ask){.cpu_ms = cases[i].asked, .cpu_is_counted = cases[i].is_counted};
        assert_int_equal(policy_plan(&policy, POLICY_RUN, 10001, NULL, 0, &ask, &plan, &field), 0);
        assert_int_equal(plan.cpu_ms, cases[i].cpu_ms);
        assert_int_equal(rlimit_of(&plan, RLIMIT_CPU), cases[i].rlimit_s);
    }
    plan = plan_of(POLICY_LOGIN, 10001, 10020, 0);
    assert_int_equal(plan.cpu_ms, 0);
    assert_true(rlimit_of(&plan, RLIMIT_CPU) == UINT64_MAX);
}

static void every_file_system_of_a_run_is_bounded(void **state)
{
    struct plan_entry own[PLAN_OWN_MAX];
    struct plan plan;
    size_t count;

    (void)state;
    profiles_add();
    plan = plan_of(POLICY_RUN, 10001, 10002, 0);
    count = plan_own(&plan, own);
    assert_int_equal(count, PLAN_OWN_MAX);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(own[i].op, PLAN_TMPFS);
        assert_true(own[i].bytes > 0 && own[i].inodes > 0);
    }
    assert_string_equal(own[PLAN_PLACE_TMP].target, "tmp");
    assert_true(own[PLAN_PLACE_TMP].bytes == 32 * MIB);
    assert_int_equal(own[PLAN_PLACE_TMP].inodes, 99);
    assert_int_equal(own[PLAN_PLACE_TMP].mode, 01777);
    assert_int_equal(own[PLAN_PLACE_HOME].mode, 0755);
    assert_string_equal(own[PLAN_OWN_MAX - 1].target, "etc/atelier");
}

static void dev_has_six_nodes_and_is_sealed_last(void **state)
{
    size_t nodes = 0, last_dev = 0, seal = 0;

    (void)state;
    for (size_t i = 0; i < plan_base_count; i++) {
        nodes += plan_base[i].op == PLAN_NODE;
        if (strncmp(plan_base[i].target, "dev", 3) == 0)
            last_dev = i;
        if (plan_base[i].op == PLAN_SEAL)
            seal = i;
    }
    assert_int_equal(nodes, 6);
    assert_int_equal(seal, last_dev);
}

static const struct plan_proc *proc_find(const char *name)
{
    for (size_t i = 0; i < plan_proc_count; i++) {
        if (strcmp(plan_proc[i].name, name) == 0)
            return &plan_proc[i];
    }
    return NULL;
}

static bool is_open(const char *name)
{
    const struct plan_proc *p = proc_find(name);

    return p && p->is_open;
}

static bool is_mode_0(const char *target, enum plan_op op)
{
    const struct plan_entry *e = entry_find(target, op);

    return e && e->mode == 0;
}

static void proc_is_a_table_with_reasons(void **state)
{
    static const char *const masked[] = {"cmdline", "keys", "key-users", "kallsyms", "locks"};
    static const char *const open[] = {"self", "sys", "meminfo", "stat", "cpuinfo", "net"};

    (void)state;
    for (size_t i = 0; i < plan_proc_count; i++) {
        assert_true(plan_proc[i].what[0] && plan_proc[i].why[0]);
        assert_null(strchr(plan_proc[i].name, '/'));
        assert_ptr_equal(proc_find(plan_proc[i].name), &plan_proc[i]); /* named once */
    }
    for (size_t i = 0; i < sizeof(masked) / sizeof(masked[0]); i++)
        assert_true(proc_find(masked[i]) && !is_open(masked[i]));
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        assert_true(is_open(open[i]));
    /* What hides them can be opened by nobody. */
    assert_true(is_mode_0(PLAN_NO_FILE, PLAN_TEXT));
    assert_true(is_mode_0(PLAN_NO_DIR, PLAN_DIR));
}

static void parents_come_before_their_children(void **state)
{
    (void)state;
    for (size_t i = 0; i < plan_base_count; i++) {
        const char *slash = strrchr(plan_base[i].target, '/');
        char parent[128] = {0};

        if (!slash)
            continue;
        memcpy(parent, plan_base[i].target, (size_t)(slash - plan_base[i].target));
        assert_non_null(entry_find(parent, PLAN_DIR));
        assert_true(entry_find(parent, PLAN_DIR) < &plan_base[i]);
    }
}

/* A limit that another one hides is never seen in a status. */
static void every_control_group_is_tighter_than_what_is_around_it(void **state)
{
    (void)state;
    policy_defaults(&policy);
    for (int kind = POLICY_RUN; kind <= POLICY_LOGIN; kind++) {
        struct plan plan = plan_of((enum policy_kind)kind, 10001, 10002, 0);

        assert_true(plan.leaf.memory_max_bytes < plan.user.memory_max_bytes);
        assert_int_equal(plan.leaf.swap_max_bytes, 0);
        assert_true(plan.leaf.pids_max < plan.user.pids_max);
        assert_true(plan.user.pids_max < rlimit_of(&plan, RLIMIT_NPROC));
        assert_int_equal(plan.user.swap_max_bytes, 0);
        /* No core dump reaches a handler that is a pipe. */
        assert_int_equal(rlimit_of(&plan, RLIMIT_CORE), 1);
    }
}

static void assert_unmet(const struct plan *plan, uint32_t asked, uint32_t kept, const char *want)
{
    char text[PLAN_UNMET_SIZE] = "";

    assert_int_equal(plan_unmet(plan, asked, kept, text), want != NULL);
    assert_string_equal(text, want ? want : "");
}

static void what_is_required_and_not_kept_is_named_with_who_requires_it(void **state)
{
#define NOBODY ": no control group here limits that, and the "
    struct plan mine, others, login;

    (void)state;
    profiles_add();
    policy.profiles[POLICY_USER].required = WIRE_LIMIT_PIDS;
    policy.profiles[3].required = WIRE_LIMIT_MEMORY | WIRE_LIMIT_CPU; /* small, of 10001 */
    mine = plan_of(POLICY_RUN, 10001, 10003, 0);
    others = plan_of(POLICY_RUN, 10002, 10003, 0);
    login = plan_of(POLICY_LOGIN, 10001, 10020, 0); /* guests */
    assert_unmet(&mine, 0, WIRE_LIMIT_ALL, NULL);
    assert_unmet(&mine, WIRE_LIMIT_ALL, WIRE_LIMIT_ALL, NULL);
    assert_unmet(&mine, 0, 0, "memory, cpu" NOBODY "policy requires it (small)");
    assert_unmet(&mine, 0, WIRE_LIMIT_MEMORY, "cpu" NOBODY "policy requires it (small)");
    assert_unmet(&mine, 0, WIRE_LIMIT_MEMORY | WIRE_LIMIT_CPU,
                 "pids" NOBODY "policy requires it (user)");
    assert_unmet(&mine, WIRE_LIMIT_CPU, 0, "cpu" NOBODY "run requires it");
    assert_unmet(&others, 0, WIRE_LIMIT_PIDS, NULL);
    assert_unmet(&others, 0, WIRE_LIMIT_MEMORY, "pids" NOBODY "policy requires it (user)");
    assert_unmet(&login, 0, 0, NULL);
    assert_unmet(&login, WIRE_LIMIT_ALL, 0, "memory, pids, cpu" NOBODY "run requires it");
    /* Not cut, with the longest name there is. */
    memset(mine.profile, 'p', sizeof(mine.profile) - 1);
    mine.required = WIRE_LIMIT_ALL;
    {
        char text[PLAN_UNMET_SIZE];

        assert_true(plan_unmet(&mine, 0, 0, text));
        assert_string_equal(text + strlen(text) - 2, "p)");
    }
#undef NOBODY
}

static void a_run_sees_only_the_systems_accounts(void **state)
{
    static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
                                 "empty::7:7::/:/bin/sh\n"
                                 "admin:x:1000:1000:Ada,,,:/home/admin:/bin/bash\n"
                                 "+nis\n\n"
                                 "broken:x:abc:0::/:/bin/sh\n"
                                 "alice:x:10001:10001::/home/atelier/alice:/bin/bash\n"
                                 "huge:x:99999999999:0::/:/bin/sh\n"
                                 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin";
    static const char group[] =
        "root:x:0:\nsudo:x:27:admin,alice\nadmin:x:1000:\nnogroup:x:65534:\n";
    char *text;

    (void)state;
    assert_int_equal(plan_system_lines(passwd, false, &text), 0);
    assert_string_equal(text, "root:*:0:0:root:/root:/bin/bash\nempty:*:7:7::/:/bin/sh\n"
                              "nobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    free(text);
    assert_int_equal(plan_system_lines(group, true, &text), 0);
    assert_string_equal(text, "root:*:0:\nsudo:*:27:\nnogroup:*:65534:\n");
    free(text);
    assert_int_equal(plan_system_lines("", false, &text), 0);
    assert_string_equal(text, "");
    free(text);
}

static void resolv_conf_names_the_resolvers_in_order(void **state)
{
    static const char *const two[] = {"198.51.100.2", "2001:db8:1::2"};
    char *text;

    (void)state;
    assert_int_equal(plan_resolv_conf(two, 2, &text), 0);
    assert_non_null(strstr(text, "nameserver 198.51.100.2\nnameserver 2001:db8:1::2\n"));
    free(text);
    assert_int_equal(plan_resolv_conf(NULL, 0, &text), 0);
    assert_null(strstr(text, "nameserver"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_is_an_allow_list),
        cmocka_unit_test(what_is_bound_comes_from_usr_and_etc),
        cmocka_unit_test(processor_time_is_of_the_run_and_the_rlimit_behind_it),
        cmocka_unit_test(every_file_system_of_a_run_is_bounded),
        cmocka_unit_test(dev_has_six_nodes_and_is_sealed_last),
        cmocka_unit_test(all_places_together_fit_into_the_memory),
        cmocka_unit_test(proc_is_a_table_with_reasons),
        cmocka_unit_test(parents_come_before_their_children),
        cmocka_unit_test(a_run_and_a_session_get_what_is_shipped),
        cmocka_unit_test(a_profile_changes_what_it_says_for_whom_it_names),
        cmocka_unit_test(a_total_is_above_whatever_a_profile_says),
        cmocka_unit_test(who_asks_for_more_time_than_there_is_gets_nothing),
        cmocka_unit_test(every_control_group_is_tighter_than_what_is_around_it),
        cmocka_unit_test(what_is_required_and_not_kept_is_named_with_who_requires_it),
        cmocka_unit_test(a_run_sees_only_the_systems_accounts),
        cmocka_unit_test(resolv_conf_names_the_resolvers_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
