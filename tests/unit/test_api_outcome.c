/* SPDX-License-Identifier: ISC */
/* test_api_outcome.c - every end and every failed step in the words of the API. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>

#include "policy/plan.h"
#include "sessiond/api/json_out.h"
#include "sessiond/api/outcome.h"

#include "common/banned.h"

struct end_case {
    enum wire_end end;
    uint32_t value;
    enum kill_reason asked;
    const char *status;
    int exit_code;
    const char *signal;
    const char *message;
};

static const char *text_at(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static void check_end(const struct end_case *c)
{
    struct wire_run_ended m = {.end = c->end,
                               .value = c->value,
                               .wall_us = 1999,
                               .cpu_user_us = 2000,
                               .cpu_sys_us = 1500,
                               .rss_peak_kib = 7};
    struct outcome o = outcome_of_end(&m, c->asked, "/usr/bin/x");
    json_t *end = json_of_outcome(&o, 42), *usage;

    assert_non_null(end);
    assert_string_equal(text_at(end, "status"), c->status);
    if (c->exit_code < 0)
        assert_true(json_is_null(json_object_get(end, "exit")));
    else
        assert_int_equal(json_integer_value(json_object_get(end, "exit")), c->exit_code);
    if (c->signal)
        assert_string_equal(text_at(end, "signal"), c->signal);
    else
        assert_true(json_is_null(json_object_get(end, "signal")));
    if (c->message)
        assert_string_equal(text_at(end, "message"), c->message);
    assert_null(json_object_get(end, "step"));
    usage = json_object_get(end, "usage");
    assert_int_equal(json_integer_value(json_object_get(usage, "wall_ms")), 1);
    assert_int_equal(json_integer_value(json_object_get(usage, "cpu_ms")), 3);
    assert_int_equal(json_integer_value(json_object_get(usage, "rss_peak_kb")), 7);
    assert_int_equal(json_integer_value(json_object_get(usage, "out_bytes")), 42);
    json_decref(end);
}

static void every_end_has_its_status(void **state)
{
    static const struct end_case cases[] = {
        {WIRE_END_EXIT, 0, KILL_NOT_ASKED, "ok", 0, NULL, NULL},
        {WIRE_END_EXIT, 1, KILL_NOT_ASKED, "exit", 1, NULL, NULL},
        {WIRE_END_EXIT, 255, KILL_NOT_ASKED, "exit", 255, NULL, NULL},
        {WIRE_END_EXIT, 0, KILL_CLIENT_GONE, "ok", 0, NULL, NULL},
        {WIRE_END_SIGNAL, SIGSEGV, KILL_NOT_ASKED, "signal", -1, "SEGV", NULL},
        {WIRE_END_SIGNAL, 34, KILL_NOT_ASKED, "signal", -1, "RTMIN+0", NULL},
        {WIRE_END_TIMEOUT, 0, KILL_NOT_ASKED, "timeout_wall", -1, NULL,
         "The run used up its time."},
        {WIRE_END_CPU, 0, KILL_NOT_ASKED, "timeout_cpu", -1, NULL,
         "The run used up its processor time."},
        {WIRE_END_SIGNAL, SIGXCPU, KILL_NOT_ASKED, "signal", -1, "XCPU", NULL},
        {WIRE_END_SIGNAL, SIGXFSZ, KILL_NOT_ASKED, "disk", -1, "XFSZ",
         "A file was to become larger than a file may be."},
        {WIRE_END_KILLED, 0, KILL_CLIENT_GONE, "cancelled", -1, NULL, NULL},
        {WIRE_END_KILLED, 0, KILL_STOPPING, "cancelled", -1, NULL, NULL},
        {WIRE_END_KILLED, 0, KILL_NOT_ASKED, "cancelled", -1, NULL, NULL},
        {WIRE_END_KILLED, 0, KILL_LOCKED, "locked", -1, NULL,
         "The user was locked, or the user's time is over."},
        {WIRE_END_EXIT, 0, KILL_LOCKED, "ok", 0, NULL, NULL}, /* it was faster */
        {WIRE_END_KILLED, 0, KILL_FLOOD, "output_flood", -1, NULL, NULL},
        {WIRE_END_EXIT, 0, KILL_FLOOD, "output_flood", -1, NULL, NULL},
        {WIRE_END_NO_EXEC, ENOENT, KILL_NOT_ASKED, "exit", 127, NULL,
         "/usr/bin/x: No such file or directory"},
        {WIRE_END_NO_EXEC, ENOTDIR, KILL_NOT_ASKED, "exit", 127, NULL,
         "/usr/bin/x: Not a directory"},
        {WIRE_END_NO_EXEC, EACCES, KILL_NOT_ASKED, "exit", 126, NULL,
         "/usr/bin/x: Permission denied"},
        {WIRE_END_NO_EXEC, 99999, KILL_NOT_ASKED, "exit", 126, NULL, "/usr/bin/x: Unknown error"},
        {WIRE_END_LOST, 0, KILL_NOT_ASKED, "signal", -1, "KILL", NULL},
        {WIRE_END_UNSAFE, 0, KILL_NOT_ASKED, "internal", -1, NULL,
         "The network rules stopped to hold: sessiond ended the run."},
        {WIRE_END_MEMORY, 0, KILL_NOT_ASKED, "oom", -1, "KILL",
         "The run needed more memory than it may."},
        {WIRE_END_PIDS, 0, KILL_NOT_ASKED, "pids", -1, "KILL",
         "The run had more processes and threads than it may: sessiond ended it."},
    };
    bool seen[WIRE_END__COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_end(&cases[i]);
        seen[cases[i].end] = true;
    }
    for (uint32_t end = 0; outcome_end_is_known(end); end++)
        assert_true(seen[end]);
    assert_false(outcome_end_is_known(WIRE_END__COUNT));
}

static void every_failed_step_is_setup_failed_with_its_key_and_busy_is_busy(void **state)
{
    static const char *const keys[] = {
#define KEY(id, key, text) key,
        WIRE_STEPS(KEY)
#undef KEY
    };
    static const char *const texts[] = {
#define TEXT(id, key, text) text,
        WIRE_STEPS(TEXT)
#undef TEXT
    };

    (void)state;
    for (uint32_t step = 0; step < WIRE_STEP__COUNT; step++) {
        struct wire_run_failed m = {.step = step, .error = EPERM, .what = "/some/path"};
        struct outcome o = outcome_of_failure(&m);
        json_t *end = json_of_outcome(&o, 0);

        assert_true(outcome_step_is_known(step));
        assert_non_null(strstr(o.message, texts[step]));
        assert_non_null(strstr(o.message, "/some/path: Operation not permitted."));
        if (step == WIRE_STEP_BUSY) {
            assert_string_equal(text_at(end, "status"), "busy");
            assert_null(json_object_get(end, "step"));
        } else {
            assert_string_equal(text_at(end, "status"), "setup_failed");
            assert_string_equal(text_at(end, "step"), keys[step]);
        }
        json_decref(end);
    }
    assert_false(outcome_step_is_known(WIRE_STEP__COUNT));
}

static void every_end_of_a_session_has_its_word_and_what_is_unknown_is_lost(void **state)
{
    (void)state;
    assert_string_equal(outcome_session_end_key(WIRE_SESSION_END_CLOSED), "closed");
    assert_string_equal(outcome_session_end_key(WIRE_SESSION_END_LEFT), "left");
    assert_string_equal(outcome_session_end_key(WIRE_SESSION_END_KILLED), "killed");
    assert_string_equal(outcome_session_end_key(WIRE_SESSION_END_UNSAFE), "unsafe");
    assert_string_equal(outcome_session_end_key(WIRE_SESSION_END_LOST), "lost");
    assert_int_equal(WIRE_SESSION_END__COUNT, 5);
    assert_string_equal(outcome_session_end_key(WIRE_SESSION_END__COUNT), "lost");
}

static struct outcome outcome_with(enum wire_end end, uint32_t value, uint64_t oom_kills,
                                   uint64_t oom_own, uint64_t pids_refused, enum kill_reason asked)
{
    struct wire_run_ended m = {
        .end = end,
        .value = value,
        .usage = {.memory_peak_bytes = 4096,
                  .cpu_us = 9000,
                  .pids_peak = WIRE_NOT_KNOWN,
                  .oom_kills = oom_kills,
                  .oom_own = oom_own,
                  .pids_refused = pids_refused},
    };

    return outcome_of_end(&m, asked, "/usr/bin/x");
}

static void memory_then_processes_then_time_then_the_programs_own_end(void **state)
{
    const uint64_t unknown = WIRE_NOT_KNOWN;
    const struct {
        enum wire_end end;
        uint32_t value;
        uint64_t oom_kills, oom_own, pids_refused;
        enum kill_reason asked;
        enum status status;
    } cases[] = {
        {WIRE_END_EXIT, 0, unknown, unknown, unknown, KILL_NOT_ASKED, STATUS_OK},
        {WIRE_END_EXIT, 0, 0, 0, 0, KILL_NOT_ASKED, STATUS_OK},
        {WIRE_END_EXIT, 0, 1, 1, 0, KILL_NOT_ASKED, STATUS_OOM},
        {WIRE_END_EXIT, 0, 0, 0, 3, KILL_NOT_ASKED, STATUS_OK},
        {WIRE_END_EXIT, 1, 0, 0, 3, KILL_NOT_ASKED, STATUS_PIDS},
        {WIRE_END_EXIT, 1, unknown, unknown, unknown, KILL_NOT_ASKED, STATUS_EXIT},
        {WIRE_END_SIGNAL, SIGKILL, 1, 1, 3, KILL_NOT_ASKED, STATUS_OOM},
        {WIRE_END_LOST, 0, 2, 2, 0, KILL_NOT_ASKED, STATUS_OOM},
        {WIRE_END_LOST, 0, 0, 0, 0, KILL_NOT_ASKED, STATUS_SIGNAL},
        {WIRE_END_TIMEOUT, 0, 0, 0, 1, KILL_NOT_ASKED, STATUS_PIDS},
        {WIRE_END_TIMEOUT, 0, 1, 1, 0, KILL_NOT_ASKED, STATUS_OOM},
        {WIRE_END_TIMEOUT, 0, 0, 0, 0, KILL_NOT_ASKED, STATUS_TIMEOUT_WALL},
        /* For another's need: oom, but never in place of another reason. */
        {WIRE_END_LOST, 0, 1, 0, 0, KILL_NOT_ASKED, STATUS_OOM},
        {WIRE_END_EXIT, 0, 1, unknown, 0, KILL_NOT_ASKED, STATUS_OOM},
        {WIRE_END_TIMEOUT, 0, 1, 0, 0, KILL_NOT_ASKED, STATUS_TIMEOUT_WALL},
        {WIRE_END_TIMEOUT, 0, 1, 0, 1, KILL_NOT_ASKED, STATUS_PIDS},
        /* Reclaimed in time. */
        {WIRE_END_EXIT, 1, 0, 5, 0, KILL_NOT_ASKED, STATUS_EXIT},
        /* What we ended, we ended. */
        {WIRE_END_KILLED, 0, 1, 1, 1, KILL_LOCKED, STATUS_LOCKED},
        {WIRE_END_KILLED, 0, 1, 1, 1, KILL_CLIENT_GONE, STATUS_CANCELLED},
        {WIRE_END_KILLED, 0, 1, 1, 1, KILL_FLOOD, STATUS_OUTPUT_FLOOD},
        {WIRE_END_UNSAFE, 0, 1, 1, 1, KILL_NOT_ASKED, STATUS_INTERNAL},
        /* What sessiond saw, where no group counts. */
        {WIRE_END_MEMORY, 0, 1, 1, unknown, KILL_NOT_ASKED, STATUS_OOM},
        {WIRE_END_MEMORY, 0, 1, 0, unknown, KILL_NOT_ASKED, STATUS_OOM},
        {WIRE_END_PIDS, 0, unknown, unknown, unknown, KILL_NOT_ASKED, STATUS_PIDS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o = outcome_with(cases[i].end, cases[i].value, cases[i].oom_kills,
                                        cases[i].oom_own, cases[i].pids_refused, cases[i].asked);

        assert_int_equal(o.status, cases[i].status);
    }
    /* Code and signal stay data. */
    assert_int_equal(outcome_with(WIRE_END_EXIT, 7, 1, 1, 0, KILL_NOT_ASKED).exit_code, 7);
    assert_int_equal(outcome_with(WIRE_END_LOST, 0, 1, 1, 0, KILL_NOT_ASKED).signal, SIGKILL);
}

/* Every pair of reasons that can be true together: the one that is first in the table is given. */
static void of_several_reasons_the_first_is_given(void **state)
{
    /* What a program's own end has besides: one bit each, from the strongest to the weakest. */
    enum {
        FLOOD = 1,
        OOM = 2,
        OTHERS_OOM = 4,
        PIDS = 8,
        CPU = 16,
        XFSZ = 32,
        FULL = 64,
        ALL = 128
    };
    static const struct {
        unsigned bit;
        enum status status;
    } order[] = {
        {FLOOD, STATUS_OUTPUT_FLOOD}, {OOM, STATUS_OOM},         {OTHERS_OOM, STATUS_OOM},
        {PIDS, STATUS_PIDS},          {CPU, STATUS_TIMEOUT_CPU}, {XFSZ, STATUS_DISK},
        {FULL, STATUS_DISK},
    };

    (void)state;
    for (unsigned bits = 0; bits < ALL; bits++) {
        struct wire_run_ended m = {
            .end = WIRE_END_SIGNAL,
            .value = bits & XFSZ ? SIGXFSZ : SIGABRT,
            .cpu_is_used = bits & CPU ? 1 : 0,
            .full_places = bits & FULL ? 1u << PLAN_PLACE_TMP : 0,
            .usage = {.oom_kills = bits & (OOM | OTHERS_OOM) ? 1 : 0,
                      .oom_own = bits & OOM ? 1 : 0,
                      .pids_refused = bits & PIDS ? 1 : 0},
        };
        struct outcome o =
            outcome_of_end(&m, bits & FLOOD ? KILL_FLOOD : KILL_NOT_ASKED, "/usr/bin/x");
        enum status wanted = STATUS_SIGNAL;

        for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
            /* Another's need is no reason for a time that ran out. */
            if ((bits & order[i].bit) == 0 || (order[i].bit == OTHERS_OOM && (bits & CPU) != 0))
                continue;
            wanted = order[i].status;
            break;
        }
        assert_int_equal(o.status, wanted);
        assert_int_equal(o.signal, bits & FLOOD ? 0 : (int)m.value);
        /* The same of a program that ended well: only what was killed or too much counts. */
        m.end = WIRE_END_EXIT;
        m.value = 0;
        o = outcome_of_end(&m, bits & FLOOD ? KILL_FLOOD : KILL_NOT_ASKED, "/usr/bin/x");
        assert_int_equal(o.status, bits & FLOOD                ? STATUS_OUTPUT_FLOOD
                                   : bits & (OOM | OTHERS_OOM) ? STATUS_OOM
                                                               : STATUS_OK);
    }
}

static void both_times_stand_behind_what_was_refused_and_before_the_disk(void **state)
{
    static const struct {
        enum wire_end end;
        enum status status;
    } times[] = {{WIRE_END_TIMEOUT, STATUS_TIMEOUT_WALL}, {WIRE_END_CPU, STATUS_TIMEOUT_CPU}};

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct wire_run_ended m = {.end = times[i].end, .full_places = 1};

        assert_int_equal(outcome_of_end(&m, KILL_NOT_ASKED, "x").status, times[i].status);
        m.usage.oom_kills = 1;
        assert_int_equal(outcome_of_end(&m, KILL_NOT_ASKED, "x").status, times[i].status);
        m.usage.pids_refused = 1;
        assert_int_equal(outcome_of_end(&m, KILL_NOT_ASKED, "x").status, STATUS_PIDS);
        m.usage.oom_own = 1;
        assert_int_equal(outcome_of_end(&m, KILL_NOT_ASKED, "x").status, STATUS_OOM);
        assert_int_equal(outcome_of_end(&m, KILL_FLOOD, "x").status, STATUS_OUTPUT_FLOOD);
    }
}

static void a_full_file_system_is_named(void **state)
{
    struct wire_run_ended m = {.end = WIRE_END_EXIT,
                               .value = 1,
                               .full_places =
                                   1u << PLAN_PLACE_TMP | 1u << PLAN_PLACE_HOME | 1u << 30};
    struct outcome o = outcome_of_end(&m, KILL_NOT_ASKED, "x");

    (void)state;
    assert_int_equal(o.status, STATUS_DISK);
    assert_int_equal(o.exit_code, 1);
    assert_string_equal(o.message,
                        "The program failed, and at its end no room was left in /tmp HOME.");
    m.full_places = 1u << PLAN_PLACE_TMP | WIRE_FULL_WORK;
    o = outcome_of_end(&m, KILL_NOT_ASKED, "x");
    assert_int_equal(o.status, STATUS_DISK);
    assert_string_equal(o.message,
                        "The program failed, and at its end no room was left in ~/work /tmp.");
    m.full_places = 0;
    assert_int_equal(outcome_of_end(&m, KILL_NOT_ASKED, "x").status, STATUS_EXIT);
}

static void the_run_is_blamed_only_for_what_is_known_of_it(void **state)
{
    struct outcome o = outcome_with(WIRE_END_LOST, 0, 1, 1, 0, KILL_NOT_ASKED);

    (void)state;
    assert_string_equal(o.message, "The run needed more memory than it may.");
    o = outcome_with(WIRE_END_LOST, 0, 1, 0, 0, KILL_NOT_ASKED);
    assert_non_null(strstr(o.message, "together"));
    o = outcome_with(WIRE_END_LOST, 0, 1, WIRE_NOT_KNOWN, 0, KILL_NOT_ASKED);
    assert_non_null(strstr(o.message, "together"));
    o = outcome_with(WIRE_END_TIMEOUT, 0, 1, 0, 0, KILL_NOT_ASKED);
    assert_string_equal(o.message, "The run used up its time.");
    o = outcome_with(WIRE_END_EXIT, 1, 0, 0, 1, KILL_NOT_ASKED);
    assert_non_null(strstr(o.message, "the run, the participant or all participants"));
}

static void usage_is_of_the_group_where_there_is_one_and_else_null(void **state)
{
    struct outcome o = outcome_with(WIRE_END_EXIT, 0, 0, 0, 0, KILL_NOT_ASKED);
    json_t *end = json_of_outcome(&o, 0), *usage = json_object_get(end, "usage");

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(usage, "memory_peak")), 4096);
    assert_true(json_is_null(json_object_get(usage, "pids_peak")));
    assert_int_equal(json_integer_value(json_object_get(usage, "cpu_ms")), 9);
    json_decref(end);
    o = outcome_of_loss();
    end = json_of_outcome(&o, 0);
    usage = json_object_get(end, "usage");
    assert_true(json_is_null(json_object_get(usage, "memory_peak")));
    json_decref(end);
}

static void receipt_says_null_of_swap_only_without_a_group_or_a_limit(void **state)
{
    struct wire_receipt r = {.cgroup_mode = WIRE_CGROUP_V2};
    json_t *j = json_of_receipt(&r), *group = json_object_get(j, "cgroup");

    (void)state;
    assert_true(json_is_integer(json_object_get(group, "swap_max")));
    assert_true(json_is_false(json_object_get(group, "oom_group")));
    assert_true(json_is_null(json_object_get(group, "cpu_quota_us")));
    json_decref(j);
    r.cgroup_mode = WIRE_CGROUP_NONE;
    j = json_of_receipt(&r);
    group = json_object_get(j, "cgroup");
    assert_true(json_is_null(json_object_get(group, "swap_max")));
    assert_true(json_is_null(json_object_get(group, "oom_group")));
    json_decref(j);
}

static void receipt_names_the_filter_and_how_it_is_known(void **state)
{
    struct wire_receipt r = {.filter_sha256 = {0xab, 0x01}, .umask = 022, .oom_score_adj = -3};
    json_t *j = json_of_receipt(&r), *filter = json_object_get(j, "filter");

    (void)state;
    /* Of a session that is older than the field. */
    assert_true(json_is_null(json_object_get(filter, "sha256")));
    assert_string_equal(text_at(filter, "how"), "unknown");
    assert_string_equal(text_at(j, "umask"), "0022");
    assert_int_equal(json_integer_value(json_object_get(j, "oom_score_adj")), -3);
    json_decref(j);
    r.filter_how = WIRE_FILTER_KERNEL;
    r.mount_loose = 1;
    r.sig_ignored = 0x1000;
    j = json_of_receipt(&r);
    filter = json_object_get(j, "filter");
    assert_string_equal(text_at(filter, "how"), "kernel");
    assert_string_equal(text_at(filter, "sha256"),
                        "ab01000000000000000000000000000000000000000000000000000000000000");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(j, "mount_flags"), "loose")), 1);
    assert_string_equal(text_at(json_object_get(j, "signals"), "ignored"), "0000000000001000");
    json_decref(j);
    assert_string_equal(json_filter_how(WIRE_FILTER_LOADED), "loaded");
    assert_string_equal(json_filter_how(99), "unknown");
}

static void loss_of_sessiond_is_internal(void **state)
{
    struct outcome o = outcome_of_loss();

    (void)state;
    assert_int_equal(o.status, STATUS_INTERNAL);
    assert_int_equal(o.exit_code, -1);
    assert_string_equal(o.message, "sessiond is gone.");
}

static void receipt_says_net_from_the_namespace_and_null_for_no_limit(void **state)
{
    struct wire_receipt r = {.group_count = 2,
                             .groups = {10000, 10005},
                             .seccomp = 2,
                             .cap_bnd = 0xff,
                             .rlimit_nproc = 64,
                             .rlimit_nofile = UINT64_MAX};
    json_t *j;

    (void)state;
    r.ns_own = 1u << WIRE_NS_NET;
    j = json_of_receipt(&r);
    assert_non_null(j);
    assert_string_equal(text_at(j, "net"), "none");
    assert_int_equal(json_array_size(json_object_get(j, "groups")), 2);
    assert_string_equal(text_at(json_object_get(j, "capabilities"), "bounding"),
                        "00000000000000ff");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "rlimits"), "nproc")),
                     64);
    assert_true(json_is_null(json_object_get(json_object_get(j, "rlimits"), "nofile")));
    assert_true(json_is_null(json_object_get(json_object_get(j, "cgroup"), "memory_max")));
    json_decref(j);
    r.ns_own = 0;
    j = json_of_receipt(&r);
    assert_string_equal(text_at(j, "net"), "public");
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_has_its_status),
        cmocka_unit_test(every_failed_step_is_setup_failed_with_its_key_and_busy_is_busy),
        cmocka_unit_test(every_end_of_a_session_has_its_word_and_what_is_unknown_is_lost),
        cmocka_unit_test(memory_then_processes_then_time_then_the_programs_own_end),
        cmocka_unit_test(of_several_reasons_the_first_is_given),
        cmocka_unit_test(both_times_stand_behind_what_was_refused_and_before_the_disk),
        cmocka_unit_test(a_full_file_system_is_named),
        cmocka_unit_test(the_run_is_blamed_only_for_what_is_known_of_it),
        cmocka_unit_test(usage_is_of_the_group_where_there_is_one_and_else_null),
        cmocka_unit_test(receipt_says_null_of_swap_only_without_a_group_or_a_limit),
        cmocka_unit_test(receipt_names_the_filter_and_how_it_is_known),
        cmocka_unit_test(loss_of_sessiond_is_internal),
        cmocka_unit_test(receipt_says_net_from_the_namespace_and_null_for_no_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
