/* SPDX-License-Identifier: ISC */
/* test_api_inbound.c - what sessiond may send, and each way in which it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "sessiond/api/inbound.h"

#include "common/banned.h"

#define ID "0123456789abcdef0123456789abcdef"

static union inbound message(enum wire_type type, size_t size)
{
    union inbound in;

    memset(&in, 0, sizeof(in));
    in.head.version = WIRE_VERSION;
    in.head.type = type;
    in.head.size_bytes = (uint32_t)size;
    return in;
}

static union inbound good_ask(void)
{
    union inbound in = message(WIRE_SESSION_ASK, sizeof(in.session_ask));

    in.head.tag = 7;
    memcpy(in.session_ask.service, "atelier-sshd", 13);
    memcpy(in.session_ask.tty, "ssh", 4);
    return in;
}

static union inbound good_started(void)
{
    union inbound in = message(WIRE_SESSION_STARTED, sizeof(in.session_started));

    in.session_started.is_scoped = 1;
    in.session_started.started_us = 1;
    memcpy(in.session_started.session_id, ID, sizeof(ID));
    return in;
}

static union inbound good_failed(void)
{
    union inbound in = message(WIRE_SESSION_FAILED, sizeof(in.session_failed));

    in.head.tag = 7;
    in.session_failed.step = WIRE_STEP_LEASE;
    memcpy(in.session_failed.session_id, ID, sizeof(ID));
    return in;
}

static union inbound good_ended(void)
{
    union inbound in = message(WIRE_SESSION_ENDED, sizeof(in.session_ended));

    in.session_ended.end = WIRE_SESSION_END_LOST;
    in.session_ended.ended_us = 1;
    memcpy(in.session_ended.session_id, ID, sizeof(ID));
    return in;
}

static union inbound good_run_started(void)
{
    return message(WIRE_RUN_STARTED, sizeof(struct wire_run_started));
}

static union inbound good_run_failed(void)
{
    return message(WIRE_RUN_FAILED, sizeof(struct wire_run_failed));
}

static union inbound good_run_ended(void)
{
    return message(WIRE_RUN_ENDED, sizeof(struct wire_run_ended));
}

static union inbound good_status(void)
{
    return message(WIRE_STATUS, sizeof(struct wire_status));
}

static union inbound good_page(void)
{
    union inbound in = message(WIRE_NET_PAGE, sizeof(in.net_page));

    in.net_page.refused_count = WIRE_NET_PAGE_REFUSED;
    for (uint32_t i = 0; i < WIRE_NET_PAGE_REFUSED; i++)
        in.net_page.refused[i].family = 4;
    in.net_page.rule_count = WIRE_NET_PAGE_RULES;
    return in;
}

static union inbound good_synced(void)
{
    return message(WIRE_SESSION_SYNCED, sizeof(struct wire_head));
}

typedef union inbound (*make_fn)(void);

static void good_messages_are_good_and_no_other_size_is(void **state)
{
    static const make_fn makers[] = {good_ask,         good_started,    good_failed,    good_ended,
                                     good_run_started, good_run_failed, good_run_ended, good_status,
                                     good_page,        good_synced};

    (void)state;
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        union inbound in = makers[i]();
        size_t size = in.head.size_bytes;

        assert_true(inbound_is_good(&in, size));
        assert_false(inbound_is_good(&in, size - 1));
        assert_false(inbound_is_good(&in, size + 1));
        in.head.size_bytes--;
        assert_false(inbound_is_good(&in, size));
        assert_false(inbound_is_good(&in, size - 1));
        in.head.size_bytes++;
        in.head.version++;
        assert_false(inbound_is_good(&in, size));
    }
}

static void what_only_the_api_sends_is_refused(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 256; type++) {
        union inbound in = message((enum wire_type)type, sizeof(struct wire_head));
        bool is_head = type == WIRE_WELCOME || type == WIRE_LOCK_TAKEN || type == WIRE_LOCK_BUSY ||
                       type == WIRE_LOCK_LOST || type == WIRE_SESSION_SYNCED;

        assert_int_equal(inbound_is_good(&in, sizeof(struct wire_head)), is_head);
    }
}

/* One change to a good message, after which it is not good any more. */
#define REFUSED(make, change)                                                                      \
    do {                                                                                           \
        union inbound in = make();                                                                 \
        change;                                                                                    \
        if (inbound_is_good(&in, in.head.size_bytes))                                              \
            fail_msg("accepted: %s", #change);                                                     \
    } while (0)

#define FILL(field) memset(field, 'a', sizeof(field))

static void text_without_an_end_or_not_ascii_is_refused(void **state)
{
    (void)state;
    REFUSED(good_ask, FILL(in.session_ask.service));
    REFUSED(good_ask, FILL(in.session_ask.tty));
    REFUSED(good_ask, FILL(in.session_ask.rhost));
    REFUSED(good_ask, in.session_ask.rhost[0] = '\n');
    REFUSED(good_ask, in.session_ask.service[0] = (char)0xc3);
    REFUSED(good_ask, in.session_ask.tty[0] = 0x7f);
    REFUSED(good_started, FILL(in.session_started.service));
    REFUSED(good_started, FILL(in.session_started.line));
    REFUSED(good_started, FILL(in.session_started.rhost));
    REFUSED(good_started, in.session_started.line[0] = '\x1b');
    REFUSED(good_started, FILL(in.session_started.receipt.cgroup_leaf));
    REFUSED(good_failed, FILL(in.session_failed.what));
    REFUSED(good_run_started, FILL(in.started.receipt.cgroup_leaf));
    REFUSED(good_run_failed, FILL(in.failed.what));
    REFUSED(good_status, FILL(in.status.canary_what));
}

static void pages_of_what_was_counted_are_checked(void **state)
{
    (void)state;
    REFUSED(good_page, in.net_page.user_count = WIRE_NET_PAGE_USERS + 1);
    REFUSED(good_page, in.net_page.refused_count = WIRE_NET_PAGE_REFUSED + 1);
    REFUSED(good_page, in.net_page.rule_count = WIRE_NET_PAGE_RULES + 1);
    REFUSED(good_page, in.net_page.is_last = 2);
    REFUSED(good_page, in.net_page.sum.is_cut = 2);
    REFUSED(good_page, in.net_page.refused[3].family = 5);
    REFUSED(good_page, in.net_page.refused[3].reason = WIRE_NET_REASON__COUNT);
    REFUSED(good_page, in.net_page.rules[7].reason = WIRE_NET_REASON__COUNT);
    REFUSED(good_page, FILL(in.net_page.rules[7].text));
    REFUSED(good_page, in.net_page.rules[0].text[0] = '\x1b');
}

static void numbers_out_of_their_bounds_are_refused(void **state)
{
    (void)state;
    REFUSED(good_ask, in.head.tag = 0);
    REFUSED(good_failed, in.head.tag = 0);
    REFUSED(good_failed, in.session_failed.step = WIRE_STEP__COUNT);
    REFUSED(good_started, in.session_started.is_scoped = 2);
    REFUSED(good_started, in.session_started.started_us = 0);
    REFUSED(good_started, in.session_started.started_us = -1);
    REFUSED(good_started, in.session_started.receipt.group_count = WIRE_GROUPS_MAX + 1);
    REFUSED(good_started, in.session_started.receipt.cgroup_mode = WIRE_CGROUP_V2 + 1);
    REFUSED(good_ended, in.session_ended.end = WIRE_SESSION_END__COUNT);
    REFUSED(good_ended, in.session_ended.ended_us = 0);
    REFUSED(good_run_started, in.started.receipt.group_count = WIRE_GROUPS_MAX + 1);
    REFUSED(good_run_started, in.started.receipt.filter_how = WIRE_FILTER__COUNT);
    REFUSED(good_run_started, in.started.receipt.skill_count = WIRE_SKILLS_MAX + 1);
    REFUSED(good_run_started, in.started.receipt.skill_count = 1); /* and no name */
    REFUSED(good_run_failed, in.failed.step = WIRE_STEP__COUNT);
    REFUSED(good_run_ended, in.ended.end = WIRE_END__COUNT);
    REFUSED(good_status, in.status.canary = WIRE_CANARY_NO_TARGET + 1);
    REFUSED(good_status, in.status.cgroup_mode = WIRE_CGROUP_V2 + 1);
}

static void id_of_a_session_is_32_lower_case_hex_digits_and_nuls(void **state)
{
    (void)state;
    REFUSED(good_started, in.session_started.session_id[0] = 'A');
    REFUSED(good_started, in.session_started.session_id[31] = '\0');
    REFUSED(good_started, in.session_started.session_id[32] = '0');
    REFUSED(good_started, in.session_started.session_id[35] = 'x');
    REFUSED(good_failed, in.session_failed.session_id[7] = '/');
    REFUSED(good_failed, memset(in.session_failed.session_id, 0, WIRE_SESSION_ID_SIZE));
    REFUSED(good_ended, in.session_ended.session_id[15] = 'g');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_messages_are_good_and_no_other_size_is),
        cmocka_unit_test(what_only_the_api_sends_is_refused),
        cmocka_unit_test(text_without_an_end_or_not_ascii_is_refused),
        cmocka_unit_test(pages_of_what_was_counted_are_checked),
        cmocka_unit_test(numbers_out_of_their_bounds_are_refused),
        cmocka_unit_test(id_of_a_session_is_32_lower_case_hex_digits_and_nuls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
