/* SPDX-License-Identifier: ISC */
/* test_plan.c - what a run gets, as data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static void every_file_system_of_a_run_is_bounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < plan_run_count; i++) {
        if (plan_run[i].op != PLAN_TMPFS)
            continue;
        assert_true(plan_run[i].bytes > 0 && plan_run[i].inodes > 0);
    }
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

static void no_core_dump_reaches_a_pipe_handler(void **state)
{
    bool found = false;

    (void)state;
    for (size_t i = 0; i < plan_rlimits_count; i++) {
        if (plan_rlimits[i].resource == RLIMIT_CORE) {
            found = true;
            assert_int_equal(plan_rlimits[i].value, 1);
        }
    }
    assert_true(found);
}

static uint64_t rlimit_of(int resource)
{
    for (size_t i = 0; i < plan_rlimits_count; i++) {
        if (plan_rlimits[i].resource == resource)
            return plan_rlimits[i].value;
    }
    return 0;
}

/* A limit that another one hides is never seen in a status. */
static void every_control_group_is_tighter_than_what_is_around_it(void **state)
{
    static const struct plan_cgroup *const leaves[] = {&plan_cgroup_run, &plan_cgroup_session};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct plan_cgroup *leaf = leaves[i];

        assert_true(leaf->memory_max_bytes > 0);
        assert_true(leaf->memory_max_bytes < plan_cgroup_user.memory_max_bytes);
        assert_int_equal(leaf->swap_max_bytes, 0);
        assert_true(leaf->pids_max > 0 && leaf->pids_max < plan_cgroup_user.pids_max);
        assert_true(leaf->cpu_quota_us > 0 && leaf->cpu_period_us > 0);
    }
    assert_true(plan_cgroup_user.pids_max < rlimit_of(RLIMIT_NPROC));
    assert_int_equal(plan_cgroup_user.swap_max_bytes, 0);
    assert_true(plan_cgroup_run.oom_group);
    assert_false(plan_cgroup_session.oom_group);
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
        cmocka_unit_test(every_file_system_of_a_run_is_bounded),
        cmocka_unit_test(dev_has_six_nodes_and_is_sealed_last),
        cmocka_unit_test(parents_come_before_their_children),
        cmocka_unit_test(no_core_dump_reaches_a_pipe_handler),
        cmocka_unit_test(every_control_group_is_tighter_than_what_is_around_it),
        cmocka_unit_test(a_run_sees_only_the_systems_accounts),
        cmocka_unit_test(resolv_conf_names_the_resolvers_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
