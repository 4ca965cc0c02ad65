/* SPDX-License-Identifier: ISC */
/* test_api_limits.c - what a run may ask for, as sessiond shows it, and the answer to more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/wire.h"
#include "sessiond/api/limits.h"
#include "sessiond/api/run_spec.h"
#include "sessiond/api/share.h"

#include "common/banned.h"

static char path[] = "/tmp/atelier-limits-XXXXXX";

/* As sessiond does it: another file, renamed. */
static void put(const char *text)
{
    char temp[sizeof(path) + 4];
    FILE *f;

    (void)snprintf(temp, sizeof(temp), "%s.new", path);
    f = fopen(temp, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(temp, 0644), 0);
    assert_int_equal(rename(temp, path), 0);
}

static void assert_limits(uint32_t uid, uint32_t gid, uint32_t wall_ms, uint32_t wall_ms_max,
                          uint32_t out_kb, uint32_t out_kb_max)
{
    struct limits l;

    limits_of(uid, &gid, 1, &l);
    assert_int_equal(l.wall_ms, wall_ms);
    assert_int_equal(l.wall_ms_max, wall_ms_max);
    assert_int_equal(l.out_kb, out_kb);
    assert_int_equal(l.out_kb_max, out_kb_max);
}

static void without_a_file_what_is_shipped_holds(void **state)
{
    (void)state;
    limits_source("/nonexistent/policy", geteuid());
    assert_limits(10001, 10002, 30000, 600000, 1024, 16384);
}

static void a_new_file_is_seen_and_a_broken_one_changes_nothing(void **state)
{
    (void)state;
    limits_source(path, geteuid());
    put("run { wall = 2s wall_max = 5s output = 64K output_max = 128K }\n");
    assert_limits(10001, 10002, 2000, 5000, 64, 128);
    put("run { wall = 3s wall_max = 6s }\n"
        "profile a { base = run wall_max = 1h uids = {10001} }\n"
        "profile b { base = run output_max = 2M gids = {10020} }\n");
    assert_limits(10001, 10020, 3000, 3600000, 1024, 16384);
    assert_limits(10002, 10020, 3000, 6000, 1024, 2048);
    assert_limits(10002, 10021, 3000, 6000, 1024, 16384);
    assert_int_equal(limits_required(), 0);
    put("run { wall = 3s wall_max = 6s required = {cpu} }\nlogin { required = {memory} }\n"
        "profile a { base = run wall_max = 1h required = {} uids = {10001} }\n");
    assert_int_equal(limits_required(), WIRE_LIMIT_MEMORY | WIRE_LIMIT_CPU);
    put("run { wall = 9s wall_max = 8s }\n");
    assert_limits(10002, 10021, 3000, 6000, 1024, 16384);
    assert_int_equal(unlink(path), 0);
    assert_limits(10002, 10021, 3000, 6000, 1024, 16384);
    put("run { wall = 4s }\n");
    assert_limits(10002, 10021, 4000, 600000, 1024, 16384);
}

static void somebody_elses_file_says_nothing(void **state)
{
    (void)state;
    limits_source(path, geteuid() + 1);
    put("run { wall = 2s }\n");
    assert_limits(10001, 10002, 30000, 600000, 1024, 16384);
    limits_source(path, geteuid()); /* the same file, of the right owner */
    assert_limits(10001, 10002, 2000, 600000, 1024, 16384);
}

static void more_than_the_maximum_is_refused_by_the_name_of_its_field(void **state)
{
    const struct limits limits = {2000, 5000, 300, 700, 64, 128};
    const struct limits unlimited = {.wall_ms = 1, .wall_ms_max = 1, .out_kb = 1, .out_kb_max = 1};
    struct run_spec spec = {0};
    struct error e = {0};

    (void)state;
    assert_int_equal(run_spec_limit(&spec, &limits, &e), 0);
    assert_int_equal(spec.wall_ms, 2000);
    assert_int_equal(spec.cpu_ms, 300);
    assert_int_equal(spec.out_kb, 64);
    spec = (struct run_spec){.wall_ms = 5000, .out_kb = 128};
    assert_int_equal(run_spec_limit(&spec, &limits, &e), 0);
    assert_int_equal(spec.wall_ms, 5000);
    assert_int_equal(spec.out_kb, 128);
    spec.wall_ms = 5001;
    assert_true(run_spec_limit(&spec, &limits, &e) < 0);
    assert_int_equal(e.http, 400);
    assert_string_equal(e.field, "limits.wall_ms");
    assert_string_equal(e.message, "limits.wall_ms must be from 1 to 5000.");
    spec = (struct run_spec){.cpu_ms = 700};
    assert_int_equal(run_spec_limit(&spec, &limits, &e), 0);
    assert_int_equal(spec.cpu_ms, 700);
    spec = (struct run_spec){.cpu_ms = 701};
    assert_true(run_spec_limit(&spec, &limits, &e) < 0);
    assert_string_equal(e.message, "limits.cpu_ms must be from 1 to 700.");
    /* Without a maximum, and without a limit. */
    spec = (struct run_spec){.cpu_ms = 3600000};
    assert_int_equal(run_spec_limit(&spec, &unlimited, &e), 0);
    assert_int_equal(spec.cpu_ms, 3600000);
    spec = (struct run_spec){0};
    assert_int_equal(run_spec_limit(&spec, &unlimited, &e), 0);
    assert_int_equal(spec.cpu_ms, 0);
    spec = (struct run_spec){.out_kb = 129};
    assert_true(run_spec_limit(&spec, &limits, &e) < 0);
    assert_string_equal(e.field, "limits.out_kb");
}

static int setup(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

/* So many runs of each of so many users, one after the other, as long as each may have another. */
static void fill(size_t all, size_t users, size_t ret_each[])
{
    size_t used = 0;
    bool more = true;

    memset(ret_each, 0, users * sizeof(*ret_each));
    while (more) {
        more = false;
        for (size_t i = 0; i < users; i++) {
            if (!share_has_room(all, used, ret_each[i], 1))
                continue;
            ret_each[i]++;
            used++;
            more = true;
        }
    }
}

static void nobody_has_more_than_what_is_left_for_others(void **state)
{
    size_t each[8];

    (void)state;
    fill(256, 1, each);
    assert_int_equal(each[0], 128);
    fill(256, 2, each);
    assert_in_range(each[0], 85, 86);
    assert_in_range(each[1], 85, 86);
    fill(256, 8, each);
    assert_in_range(each[7], 28, 29);
    /* Whoever comes after the greedy ones finds room, and they get no more. */
    for (size_t users = 1, used = 0; users <= 8; users++) {
        size_t mine = 0;

        for (; share_has_room(256, used, mine, 1); mine++)
            used++;
        assert_true(mine >= 1);
        assert_true(mine <= 256 - used + 1);
    }
    assert_false(share_has_room(256, 256, 0, 1));
    assert_false(share_has_room(256, 300, 0, 1));
    assert_true(share_has_room(100, 60, 0, 40));
    assert_false(share_has_room(100, 60, 0, 41));
    assert_false(share_has_room(100, 60, 10, 31));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_file_what_is_shipped_holds),
        cmocka_unit_test(a_new_file_is_seen_and_a_broken_one_changes_nothing),
        cmocka_unit_test(somebody_elses_file_says_nothing),
        cmocka_unit_test(more_than_the_maximum_is_refused_by_the_name_of_its_field),
        cmocka_unit_test(nobody_has_more_than_what_is_left_for_others),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
