/* SPDX-License-Identifier: ISC */
/* test_config_loose.c - what of a policy gives more than what is shipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/policy.h"

#include "common/banned.h"

static struct policy policy;

static void says(const char *wanted)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_int_equal(policy_loosened(&policy, f), 0);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, wanted);
    free(text);
}

static void what_is_shipped_is_not_loose(void **state)
{
    (void)state;
    policy_defaults(&policy);
    says("");
}

/* Each key of each kind: one more than what is shipped is named, one less is not. */
static void more_of_any_key_is_named_and_less_is_not(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < POLICY_KIND__COUNT; kind++) {
        for (unsigned key = 0; key < POLICY_KEY__COUNT; key++) {
            const struct policy_key_info *info = &policy_keys[key];
            char now[POLICY_VALUE_SIZE], then[POLICY_VALUE_SIZE], line[256];

            if (!policy_key_is_of((enum policy_key)key, (enum policy_kind)kind) ||
                info->type == POLICY_TIME_CPU || info->type == POLICY_RATE)
                continue;
            policy_defaults(&policy);
            policy.profiles[kind].values[key] = info->shipped[kind] * 2;
            policy_value_text((enum policy_key)key, info->shipped[kind] * 2, now);
            policy_value_text((enum policy_key)key, info->shipped[kind], then);
            (void)snprintf(line, sizeof(line), "%s: %s is %s, shipped %s\n",
                           policy_kind_names[kind], info->name, now, then);
            says(line);
            policy.profiles[kind].values[key] = info->shipped[kind] / 2;
            says("");
        }
    }
}

/* It is shipped without a limit: nothing is looser than that. */
static void any_limit_of_processor_time_is_tighter_than_none(void **state)
{
    (void)state;
    policy_defaults(&policy);
    policy.profiles[POLICY_RUN].values[POLICY_KEY_CPU_TIME] = 60000;
    policy.profiles[POLICY_USER].values[POLICY_KEY_IO_READ] = POLICY_TI;
    says("");
}

static void a_disk_without_a_back_end_is_looser(void **state)
{
    (void)state;
    policy_defaults(&policy);
    policy.disk.backend = POLICY_DISK_NONE;
    says("disk: backend is none, shipped auto\n");
    policy.disk.backend = POLICY_DISK_QUOTA;
    says("");
}

static void a_named_profile_is_compared_with_its_base_and_trees_are_more(void **state)
{
    struct policy_profile *p;

    (void)state;
    policy_defaults(&policy);
    p = &policy.profiles[policy.count++];
    *p = policy.profiles[POLICY_LOGIN];
    (void)str_copy(p->name, sizeof(p->name), "course");
    p->values[POLICY_KEY_PIDS] = 1000;
    p->tree_count = 1;
    (void)str_copy(p->trees[0], sizeof(p->trees[0]), "/srv/course");
    says("course: pids is 1000, shipped 256\ncourse: trees has /srv/course, shipped none\n");
}

static void of_the_network_only_more_connections_are_looser(void **state)
{
    (void)state;
    policy_defaults(&policy);
    policy.net.connections *= 2;
    says("network: connections is 4096, shipped 2048\n");
    policy.net.connections = 16;
    policy.net.deny_on_link = true;
    policy.net.egress = POLICY_EGRESS_LISTED;
    says("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shipped_is_not_loose),
        cmocka_unit_test(more_of_any_key_is_named_and_less_is_not),
        cmocka_unit_test(any_limit_of_processor_time_is_tighter_than_none),
        cmocka_unit_test(a_disk_without_a_back_end_is_looser),
        cmocka_unit_test(a_named_profile_is_compared_with_its_base_and_trees_are_more),
        cmocka_unit_test(of_the_network_only_more_connections_are_looser),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
