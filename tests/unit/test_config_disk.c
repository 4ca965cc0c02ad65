/* SPDX-License-Identifier: ISC */
/* test_config_disk.c - the section `disk` of the policy, and when its limits are required. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/plan.h"
#include "policy/policy.h"

#include "common/banned.h"

static struct policy policy, other;
static struct config_error error;

static int read_text(const char *text, struct policy *ret_policy)
{
    char path[] = "/tmp/atelier-config-disk-XXXXXX";
    int fd = mkstemp(path), r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    r = config_read_file(path, geteuid(), ret_policy, &error);
    (void)unlink(path);
    return r;
}

static void nothing_said_is_auto_and_not_required(void **state)
{
    (void)state;
    assert_int_equal(read_text("run { pids = 64 }\nuser { pids = 500 }\n", &policy), 0);
    assert_int_equal(policy.disk.backend, POLICY_DISK_AUTO);
    assert_false(policy.disk.is_required);
    assert_int_equal(policy.disk.idle_ms, POLICY_DISK_IDLE_MS);
}

static void whoever_names_a_limit_or_a_back_end_requires_it(void **state)
{
    static const struct {
        const char *text;
        enum policy_disk_backend backend;
        bool is_required;
    } rows[] = {
        {"user { disk = 1G }\n", POLICY_DISK_AUTO, true},
        {"user { disk_files = 1000 }\n", POLICY_DISK_AUTO, true},
        {"profile p { base = user\n disk = 1G\n uids = {10001} }\n", POLICY_DISK_AUTO, true},
        {"user { disk = 1G }\ndisk { required = false }\n", POLICY_DISK_AUTO, false},
        {"user { disk = 1G }\ndisk { backend = none }\n", POLICY_DISK_NONE, false},
        {"disk { backend = quota }\n", POLICY_DISK_QUOTA, true},
        {"disk { backend = image }\n", POLICY_DISK_IMAGE, true},
        {"disk { backend = image required = false }\n", POLICY_DISK_IMAGE, false},
        {"disk { backend = auto }\n", POLICY_DISK_AUTO, false},
        {"disk { backend = auto\n required = true }\n", POLICY_DISK_AUTO, true},
        {"disk { backend = none required = false }\n", POLICY_DISK_NONE, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *f;

        assert_int_equal(read_text(rows[i].text, &policy), 0);
        assert_int_equal(policy.disk.backend, rows[i].backend);
        assert_int_equal(policy.disk.is_required, rows[i].is_required);
        /* What sessiond shows of it is the same policy. */
        f = open_memstream(&text, &size);
        assert_non_null(f);
        assert_int_equal(policy_show(&policy, f), 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(read_text(text, &other), 0);
        assert_memory_equal(&policy, &other, sizeof(policy));
        free(text);
    }
}

static void nonsense_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"\ndisk { backend = zfs }\n",
         ":2: disk: backend: 'zfs' is not auto, quota, image or none"},
        {"disk { required = yes }\n", ":1: disk: required: 'yes' is not true or false"},
        {"disk { backend = none\n required = true }\n",
         ":2: disk: required: with backend = none nothing holds anybody"},
        {"disk { idle = 10 }\n", ":1: disk: idle: '10' is not a number with one of the units"},
        {"disk { idle = 99ms }\n", ":1: disk: idle: it must be from 100ms to 24h"},
        {"disk { idle = 25h }\n", ":1: disk: idle: it must be from 100ms to 24h"},
        {"disk { size = 1G }\n", "disk: there is no key 'size'; known: backend, required, idle"},
        {"run { disk = 1G }\n", "run: there is no key 'disk'; it is a key of user"},
        {"user { disk = 15M }\n", "less than 16M is not possible"},
        {"user { disk = 65T }\n", "more than 64T is not possible"},
        {"user { disk_files = 255 }\n", "less than 256 is not possible"},
        {"profile p { base = run\n disk = 1G }\n",
         "profile p: disk: a profile of kind run has no such key"},
    };

    (void)state;
    memset(&policy, 7, sizeof(policy));
    other = policy;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(read_text(rows[i].text, &policy), -EINVAL);
        if (!strstr(error.text, rows[i].says))
            fail_msg("'%s' does not say '%s'", error.text, rows[i].says);
        assert_memory_equal(&policy, &other, sizeof(policy));
    }
}

static void a_plan_has_the_limits_of_the_users_profile(void **state)
{
    static const char text[] = "user { disk = 3G\n disk_files = 5000 }\n"
                               "profile big { base = user\n disk = 1T\n gids = {10007} }\n";
    const uint32_t gids[] = {10007};
    const struct plan_ask nothing = {0};
    const char *field;
    struct plan plan;

    (void)state;
    assert_int_equal(read_text(text, &policy), 0);
    for (unsigned kind = POLICY_RUN; kind <= POLICY_LOGIN; kind++) {
        assert_int_equal(
            policy_plan(&policy, (enum policy_kind)kind, 10001, NULL, 0, &nothing, &plan, &field),
            0);
        assert_int_equal(plan.disk.bytes, 3 * POLICY_GI);
        assert_int_equal(plan.disk.inodes, 5000);
        assert_int_equal(
            policy_plan(&policy, (enum policy_kind)kind, 10001, gids, 1, &nothing, &plan, &field),
            0);
        assert_int_equal(plan.disk.bytes, POLICY_TI);
        assert_int_equal(plan.disk.inodes, 5000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_is_auto_and_not_required),
        cmocka_unit_test(whoever_names_a_limit_or_a_back_end_requires_it),
        cmocka_unit_test(nonsense_is_refused_with_its_place),
        cmocka_unit_test(a_plan_has_the_limits_of_the_users_profile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
