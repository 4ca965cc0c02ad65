/* SPDX-License-Identifier: ISC */
/* test_api_login.c - what a login may ask, and who may log in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "sessiond/api/login.h"

#include "common/banned.h"

static struct pam_ask good_ask(void)
{
    return (struct pam_ask){
        .version = PAM_WIRE_VERSION,
        .question = PAM_ASK_AUTHENTICATE,
        .size_bytes = sizeof(struct pam_ask),
        .name = "alice",
        .service = "atelier-sshd",
        .rhost = "192.0.2.1",
        .secret = "ABCD-EFGH-JKMN",
    };
}

static void a_question_that_keeps_to_the_protocol_is_read_as_it_is(void **state)
{
    struct pam_ask ask = good_ask();

    (void)state;
    assert_true(login_ask_read(&ask, sizeof(ask)));
    assert_string_equal(ask.name, "alice");
    assert_string_equal(ask.service, "atelier-sshd");
    assert_string_equal(ask.rhost, "192.0.2.1");
    assert_string_equal(ask.secret, "ABCD-EFGH-JKMN");
    ask = good_ask();
    ask.question = PAM_ASK_ACCOUNT;
    ask.secret[0] = '\0';
    assert_true(login_ask_read(&ask, sizeof(ask)));
}

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        struct pam_ask ask = good_ask();                                                           \
        change;                                                                                    \
        if (login_ask_read(&ask, sizeof(ask)))                                                     \
            fail_msg("accepted: %s", #change);                                                     \
    } while (0)

static void a_question_that_does_not_is_refused(void **state)
{
    struct pam_ask whole = good_ask();

    (void)state;
    assert_false(login_ask_read(&whole, sizeof(whole) - 1));
    assert_false(login_ask_read(&whole, 0));
    REFUSED(ask.version++);
    REFUSED(ask.question = 0);
    REFUSED(ask.question = PAM_ASK_ACCOUNT + 1);
    REFUSED(ask.size_bytes--);
    REFUSED(ask.reserved = 1);
    REFUSED(memset(ask.name, 'a', sizeof(ask.name)));
    REFUSED(memset(ask.service, 'a', sizeof(ask.service)));
    REFUSED(memset(ask.rhost, 'a', sizeof(ask.rhost)));
    REFUSED(memset(ask.secret, 'a', sizeof(ask.secret)));
}

static void what_goes_into_the_log_is_one_printable_word(void **state)
{
    struct pam_ask ask = good_ask();

    (void)state;
    memcpy(ask.rhost, "a b\n\xffz\0", 7);
    ask.service[0] = '\0';
    assert_true(login_ask_read(&ask, sizeof(ask)));
    assert_string_equal(ask.rhost, "a?b?"
                                   "?z");
    assert_string_equal(ask.service, "-");
}

static void a_name_that_is_none_is_forgotten_because_it_may_be_a_secret(void **state)
{
    static const char *const names[] = {"ABCD-EFGH-JKMN", "alice bob", "",
                                        "1alice",         "al/ice",    "root\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        static const char nothing[NAME_SIZE];
        struct pam_ask ask = good_ask();

        memset(ask.name, 0, sizeof(ask.name));
        memcpy(ask.name, names[i], strlen(names[i]));
        assert_true(login_ask_read(&ask, sizeof(ask)));
        assert_memory_equal(ask.name, nothing, sizeof(nothing));
    }
}

struct account_case {
    int r;
    enum user_state state;
    bool is_up;
    size_t sessions;
    enum pam_verdict verdict;
};

static void account_is_allowed_only_when_everything_is_known_and_good(void **state)
{
    static const struct account_case cases[] = {
        {0, USER_STATE_ACTIVE, true, 0, PAM_VERDICT_ALLOWED},
        {0, USER_STATE_RESERVED, true, 0, PAM_VERDICT_ALLOWED},
        {0, USER_STATE_ACTIVE, true, WIRE_SESSIONS_PER_USER_MAX - 1, PAM_VERDICT_ALLOWED},
        {0, USER_STATE_ACTIVE, true, WIRE_SESSIONS_PER_USER_MAX, PAM_VERDICT_BUSY},
        {0, USER_STATE_ACTIVE, true, 1000, PAM_VERDICT_BUSY},
        {0, USER_STATE_ACTIVE, false, 0, PAM_VERDICT_UNAVAILABLE},
        {0, USER_STATE_LOCKED, true, 0, PAM_VERDICT_DENIED},
        {0, USER_STATE_LOCKED, false, 0, PAM_VERDICT_DENIED},
        {0, USER_STATE_DELETED, true, 0, PAM_VERDICT_DENIED},
        {0, USER_STATE__COUNT, true, 0, PAM_VERDICT_DENIED},
        {0, USER_STATE_EXPIRED, true, 0, PAM_VERDICT_EXPIRED},
        {-ENOENT, USER_STATE_RESERVED, true, 0, PAM_VERDICT_DENIED},
        {-EIO, USER_STATE_RESERVED, true, 0, PAM_VERDICT_UNAVAILABLE},
        {-EBUSY, USER_STATE_ACTIVE, true, 0, PAM_VERDICT_UNAVAILABLE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct account_case *c = &cases[i];

        if (login_verdict_of_account(c->r, c->state, c->is_up, c->sessions) != c->verdict)
            fail_msg("case %zu", i);
    }
}

static void secret_opens_only_when_it_was_accepted(void **state)
{
    (void)state;
    assert_int_equal(login_verdict_of_redeem(0, MAGIC_LINK_ACCEPTED), PAM_VERDICT_ALLOWED);
    assert_int_equal(login_verdict_of_redeem(0, MAGIC_LINK_REFUSED), PAM_VERDICT_DENIED);
    assert_int_equal(login_verdict_of_redeem(0, MAGIC_LINK_THROTTLED), PAM_VERDICT_DENIED);
    assert_int_equal(login_verdict_of_redeem(-EIO, MAGIC_LINK_REFUSED), PAM_VERDICT_UNAVAILABLE);
    assert_int_equal(login_verdict_of_redeem(-EIO, MAGIC_LINK_ACCEPTED), PAM_VERDICT_UNAVAILABLE);
    assert_int_equal(login_verdict_of_redeem(0, (enum magic_link_verdict)7), PAM_VERDICT_DENIED);
}

static void only_reserved_and_active_users_may(void **state)
{
    (void)state;
    for (unsigned s = 0; s <= USER_STATE__COUNT; s++)
        assert_int_equal(login_state_may((enum user_state)s),
                         s == USER_STATE_RESERVED || s == USER_STATE_ACTIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_that_keeps_to_the_protocol_is_read_as_it_is),
        cmocka_unit_test(a_question_that_does_not_is_refused),
        cmocka_unit_test(what_goes_into_the_log_is_one_printable_word),
        cmocka_unit_test(a_name_that_is_none_is_forgotten_because_it_may_be_a_secret),
        cmocka_unit_test(account_is_allowed_only_when_everything_is_known_and_good),
        cmocka_unit_test(secret_opens_only_when_it_was_accepted),
        cmocka_unit_test(only_reserved_and_active_users_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
