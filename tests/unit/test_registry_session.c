/* SPDX-License-Identifier: ISC */
/* test_registry_session.c - the audit of sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

static const struct session_row sample = {.session_id = "0123456789abcdef0123456789abcdef",
                                          .uid = 10001,
                                          .service = "atelier-sshd",
                                          .line = "at0001",
                                          .rhost = "2001:db8::17",
                                          .started_us = 1000};

static void session_is_stored_and_updated(void **state)
{
    struct fixture *f = *state;
    struct session_row row = sample;

    row.receipt = "{\"seccomp\":2}";
    assert_int_equal(session_put(f->reg, &row), 0);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM sessions WHERE ended_us = 0"), 1);
    fixture_open(f);
    row.receipt = NULL; /* its end says nothing of it, and it stays */
    row.ended_us = 2000;
    assert_int_equal(str_copy(row.end, sizeof(row.end), "logout"), 0);
    assert_int_equal(session_put(f->reg, &row), 0);
    fixture_close(f);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM sessions"), 1);
    assert_int_equal(
        sql_value(f, "SELECT count(*) FROM sessions WHERE uid = 10001 AND end = 'logout' AND"
                     " session_id = '0123456789abcdef0123456789abcdef' AND"
                     " service = 'atelier-sshd' AND line = 'at0001' AND rhost = '2001:db8::17'"
                     " AND started_us = 1000 AND ended_us = 2000"
                     " AND receipt ->> 'seccomp' = 2"),
        1);
}

static void bad_session_rows_are_refused(void **state)
{
    static char receipt[SESSION_RECEIPT_MAX + 2];
    struct fixture *f = *state;
    struct session_row row = sample;

    memset(receipt, ' ', SESSION_RECEIPT_MAX + 1);
    row.receipt = receipt;
    assert_int_equal(session_put(f->reg, &row), -EINVAL);
    row = sample;
    row.session_id[5] = 'G';
    assert_int_equal(session_put(f->reg, &row), -EINVAL);
    row = sample;
    row.session_id[31] = '\0';
    assert_int_equal(session_put(f->reg, &row), -EINVAL);
    row = sample;
    memset(row.service, 'x', sizeof(row.service));
    assert_int_equal(session_put(f->reg, &row), -EINVAL);
    row = sample;
    memset(row.line, 'x', sizeof(row.line));
    assert_int_equal(session_put(f->reg, &row), -EINVAL);
    row = sample;
    memset(row.rhost, 'x', sizeof(row.rhost));
    assert_int_equal(session_put(f->reg, &row), -EINVAL);
    row = sample;
    memset(row.end, 'x', sizeof(row.end));
    assert_int_equal(session_put(f->reg, &row), -EINVAL);
    assert_int_equal(session_put(f->reg, &sample), 0);
}

struct open_sessions {
    struct registry *reg;
    unsigned n;
    struct session_row last;
};

/* The registry may be used meanwhile: close each as it comes. */
static int session_end(void *arg, const struct session_row *row)
{
    struct open_sessions *o = arg;
    struct session_row ended = *row;

    o->n++;
    o->last = *row;
    ended.ended_us = 5;
    return o->reg ? session_put(o->reg, &ended) : 42;
}

static void open_sessions_outlive_the_registry(void **state)
{
    struct fixture *f = *state;
    struct open_sessions o = {.reg = NULL};
    struct session_row row = sample;

    assert_int_equal(session_list_open(f->reg, session_end, &o), 0);
    assert_int_equal(o.n, 0);
    for (char c = 'a'; c <= 'f'; c++) {
        row.session_id[0] = c;
        row.ended_us = c == 'c' ? 7 : 0;
        assert_int_equal(session_put(f->reg, &row), 0);
    }
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(session_list_open(f->reg, session_end, &o), 42); /* stops */
    assert_int_equal(o.n, 1);
    o = (struct open_sessions){.reg = f->reg};
    assert_int_equal(session_list_open(f->reg, session_end, &o), 0);
    assert_int_equal(o.n, 5);
    row = sample;
    row.session_id[0] = 'f';
    assert_string_equal(o.last.session_id, row.session_id);
    assert_int_equal(o.last.uid, row.uid);
    assert_string_equal(o.last.service, row.service);
    assert_string_equal(o.last.line, row.line);
    assert_string_equal(o.last.rhost, row.rhost);
    assert_int_equal(o.last.started_us, row.started_us);
    assert_int_equal(o.last.ended_us, 0);
    assert_string_equal(o.last.end, "");
    o = (struct open_sessions){.reg = f->reg};
    assert_int_equal(session_list_open(f->reg, session_end, &o), 0);
    assert_int_equal(o.n, 0);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(session_is_stored_and_updated),
        REGISTRY_TEST(bad_session_rows_are_refused),
        REGISTRY_TEST(open_sessions_outlive_the_registry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
