/* SPDX-License-Identifier: ISC */
/*
 * test_pam_module.c - the built module through the real libpam: authenticate, account, and what it
 * does with names that are not ours. Sessions: test_pam_join.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pwd.h>
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/pam_wire.h"
#include "tests/unit/pam_fixture.h"
#include "tests/unit/pam_service.h"

#include "common/banned.h"

#define CODE "k7f2-mnp4"

/* --- conversation --- */

enum mood {
    MOOD_ANSWER,     /* says what `typed` says */
    MOOD_NULL_REPLY, /* success without a reply */
    MOOD_NULL_TEXT,  /* success with a reply without text */
    MOOD_ERR,
    MOOD_ABORT,
    MOOD_AGAIN,
    MOOD_ERR_WITH_TEXT, /* fails, and leaves a text all the same */
};

static struct {
    enum mood mood;
    const char *typed;
    int secret_prompts, other_prompts, errors;
    char prompt[64], said[128];
} talk;

static void talk_reset(enum mood mood, const char *typed)
{
    memset(&talk, 0, sizeof(talk));
    talk.mood = mood;
    talk.typed = typed;
}

static int converse(int n, const struct pam_message **msg, struct pam_response **ret, void *data)
{
    (void)data;
    assert_int_equal(n, 1);
    switch (msg[0]->msg_style) {
    case PAM_ERROR_MSG:
        talk.errors++;
        str_cut(talk.said, sizeof(talk.said), msg[0]->msg);
        *ret = calloc(1, sizeof(**ret));
        return PAM_SUCCESS;
    case PAM_PROMPT_ECHO_OFF:
        talk.secret_prompts++;
        str_cut(talk.prompt, sizeof(talk.prompt), msg[0]->msg);
        break;
    default:
        talk.other_prompts++;
        return PAM_CONV_ERR;
    }
    *ret = NULL;
    if (talk.mood == MOOD_ERR)
        return PAM_CONV_ERR;
    if (talk.mood == MOOD_ABORT)
        return PAM_ABORT;
    if (talk.mood == MOOD_AGAIN)
        return PAM_CONV_AGAIN;
    if (talk.mood == MOOD_NULL_REPLY)
        return PAM_SUCCESS;
    *ret = calloc(1, sizeof(**ret));
    assert_non_null(*ret);
    if (talk.mood != MOOD_NULL_TEXT)
        (*ret)->resp = strdup(talk.typed);
    return talk.mood == MOOD_ERR_WITH_TEXT ? PAM_CONV_ERR : PAM_SUCCESS;
}

/* --- daemon: CODE is good for alice, once asked; verdicts of ACCOUNT by name --- */

static enum pam_verdict verdict_for(const struct pam_ask *ask)
{
    if (ask->question == PAM_ASK_AUTHENTICATE)
        return strcmp(ask->name, "alice") == 0 && strcmp(ask->secret, CODE) == 0
                   ? PAM_VERDICT_ALLOWED
                   : PAM_VERDICT_DENIED;
    if (strcmp(ask->name, "late") == 0)
        return PAM_VERDICT_EXPIRED;
    if (strcmp(ask->name, "busy") == 0)
        return PAM_VERDICT_BUSY;
    return strcmp(ask->name, "alice") == 0 ? PAM_VERDICT_ALLOWED : PAM_VERDICT_DENIED;
}

static void serve_verdict(int conn, const void *arg)
{
    struct pam_answer answer;
    struct pam_ask ask = {0};

    if (recv(conn, &ask, sizeof(ask), 0) != sizeof(ask))
        return;
    (void)!write(fake_tell_fd, &ask, sizeof(ask));
    answer = answer_make(ask.question, arg ? *(const uint32_t *)arg : verdict_for(&ask));
    (void)msg_send(conn, &answer, sizeof(answer), NULL, 0);
}

static const struct pam_conv conv = {converse, NULL};

/* One transaction. The last question that the daemon got is in *ret_ask; name "-" if none. */
static int authenticate(const char *service, const char *user, struct pam_ask *ret_ask)
{
    struct fake fake = fake_start(FAKE_PAM_SOCKET, serve_verdict, NULL);
    pam_handle_t *pamh = service_start(service, user, &conv);
    const void *item = "";
    char **env;
    int r;

    assert_non_null(pamh);
    r = pam_authenticate(pamh, 0);
    /* Nothing of the secret stays: neither the name nor the environment is touched. */
    if (user) {
        assert_int_equal(pam_get_item(pamh, PAM_USER, &item), PAM_SUCCESS);
        assert_string_equal(item, user);
    }
    env = pam_getenvlist(pamh);
    assert_non_null(env);
    assert_null(env[0]);
    free(env);
    assert_int_equal(pam_end(pamh, r), PAM_SUCCESS);
    *ret_ask = ask_make(PAM_ASK_ACCOUNT, "-", "");
    (void)fake_heard(&fake, ret_ask, sizeof(*ret_ask), 0);
    fake_stop(&fake);
    return r;
}

static void code_lets_its_user_in(void **state)
{
    struct pam_ask ask;

    (void)state;
    talk_reset(MOOD_ANSWER, CODE);
    assert_int_equal(authenticate("only", "alice", &ask), PAM_SUCCESS);
    assert_string_equal(talk.prompt, "Code or link: ");
    assert_int_equal(talk.secret_prompts, 1);
    assert_int_equal(talk.other_prompts + talk.errors, 0);
    assert_int_equal(ask.question, PAM_ASK_AUTHENTICATE);
    assert_string_equal(ask.name, "alice");
    assert_string_equal(ask.service, "only");
    assert_string_equal(ask.rhost, "192.0.2.1");
    assert_string_equal(ask.secret, CODE);
}

static void denial_is_the_same_for_every_name(void **state)
{
    /* Ours; ours by another name's code; another range; root; unknown; no name at all. */
    static const char *const users[] = {"alice",       "ben",   "system", "root",
                                        "nobodyknows", "Alice", "x y/\n", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
        bool is_ours = i < 2;
        struct pam_ask ask;

        talk_reset(MOOD_ANSWER, i == 0 ? "wrong" : CODE);
        assert_int_equal(authenticate("only", users[i], &ask), PAM_AUTH_ERR);
        assert_int_equal(talk.secret_prompts, 1);
        assert_string_equal(talk.prompt, "Code or link: ");
        assert_int_equal(talk.other_prompts + talk.errors, 0);
        assert_int_equal(ask.question, PAM_ASK_AUTHENTICATE);
        assert_string_equal(ask.name, is_ours ? users[i] : "");
        assert_string_equal(ask.secret, talk.typed);
        /* libpam varies what was asked for, by at most half of it. */
        assert_true(service_delay_us >= 1000000 && service_delay_us <= 3000000);
    }
}

static void what_cannot_be_a_code_is_denied(void **state)
{
    char most[PAM_SECRET_SIZE], more[PAM_SECRET_SIZE + 1], huge[10240];
    struct {
        enum mood mood;
        const char *typed, *sent; /* sent NULL: nobody is asked */
    } cases[] = {
        {MOOD_ANSWER, "", ""},
        {MOOD_ANSWER, "  ", "  "},
        {MOOD_ANSWER, CODE "\r\n", CODE "\r\n"},
        {MOOD_ANSWER, "https://host/#" CODE, "https://host/#" CODE},
        {MOOD_ANSWER, "\x08\x0a\x0d\x7f\xff\xfeINCORRECT", "\x08\x0a\x0d\x7f\xff\xfeINCORRECT"},
        {MOOD_ANSWER, most, most},
        {MOOD_ANSWER, more, ""},
        {MOOD_ANSWER, huge, ""},
        {MOOD_NULL_REPLY, "", ""},
        {MOOD_NULL_TEXT, "", ""},
        {MOOD_ERR, "", NULL},
        {MOOD_ABORT, "", NULL},
        {MOOD_AGAIN, "", NULL},
        {MOOD_ERR_WITH_TEXT, CODE, NULL},
    };

    (void)state;
    memset(most, 'a', sizeof(most));
    memset(more, 'a', sizeof(more));
    memset(huge, 'a', sizeof(huge));
    most[sizeof(most) - 1] = more[sizeof(more) - 1] = huge[sizeof(huge) - 1] = '\0';
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pam_ask ask;

        talk_reset(cases[i].mood, cases[i].typed);
        assert_int_equal(authenticate("only", "alice", &ask), PAM_AUTH_ERR);
        assert_int_equal(talk.secret_prompts, 1);
        if (cases[i].sent)
            assert_string_equal(ask.secret, cases[i].sent);
        else
            assert_string_equal(ask.name, "-");
        assert_true(service_delay_us > 0);
    }
}

static void without_only_others_are_left_alone(void **state)
{
    struct pam_ask ask;

    (void)state;
    talk_reset(MOOD_ANSWER, CODE);
    /* The service has pam_permit behind the module: IGNORE leads there. */
    assert_int_equal(authenticate("shared", "root", &ask), PAM_SUCCESS);
    assert_int_equal(authenticate("shared", "nobodyknows", &ask), PAM_SUCCESS);
    assert_int_equal(talk.secret_prompts, 0);
    assert_string_equal(ask.name, "-");
    assert_int_equal(service_delay_us, 0);
    talk_reset(MOOD_ANSWER, "wrong");
    assert_int_equal(authenticate("shared", "alice", &ask), PAM_AUTH_ERR);
    assert_int_equal(talk.secret_prompts, 1);
}

static void outage_is_told_in_one_sentence(void **state)
{
    static const char sentence[] =
        "atelier: logins are not possible right now; try again in a minute.";
    uint32_t unavailable = PAM_VERDICT_UNAVAILABLE, nonsense = 77;
    const uint32_t *const verdicts[] = {NULL, &unavailable, &nonsense};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        static const char *const users[] = {"alice", "nobodyknows"};

        for (size_t u = 0; u < 2; u++) {
            struct fake fake = {0};
            pam_handle_t *pamh;

            (void)unlink(FAKE_PAM_SOCKET); /* the first time nobody listens */
            if (verdicts[i])
                fake = fake_start(FAKE_PAM_SOCKET, serve_verdict, verdicts[i]);
            talk_reset(MOOD_ANSWER, CODE);
            pamh = service_start("only", users[u], &conv);
            assert_int_equal(pam_authenticate(pamh, 0), PAM_AUTHINFO_UNAVAIL);
            assert_string_equal(talk.said, sentence);
            assert_int_equal(talk.errors, 1);
            talk_reset(MOOD_ANSWER, CODE);
            assert_int_equal(pam_authenticate(pamh, PAM_SILENT), PAM_AUTHINFO_UNAVAIL);
            assert_int_equal(talk.errors, 0);
            if (u == 0) {
                assert_int_equal(pam_acct_mgmt(pamh, 0), PAM_AUTHINFO_UNAVAIL);
                assert_string_equal(talk.said, sentence);
            }
            assert_int_equal(pam_end(pamh, 0), PAM_SUCCESS);
            if (verdicts[i])
                fake_stop(&fake);
        }
    }
}

static int account(const char *service, const char *user)
{
    struct fake fake = fake_start(FAKE_PAM_SOCKET, serve_verdict, NULL);
    pam_handle_t *pamh = service_start(service, user, &conv);
    int r;

    talk_reset(MOOD_ANSWER, "");
    r = pam_acct_mgmt(pamh, 0);
    assert_int_equal(talk.secret_prompts, 0);
    assert_int_equal(pam_end(pamh, r), PAM_SUCCESS);
    fake_stop(&fake);
    return r;
}

static void account_follows_the_registry(void **state)
{
    (void)state;
    assert_int_equal(account("only", "alice"), PAM_SUCCESS);
    assert_int_equal(account("only", "ben"), PAM_PERM_DENIED);
    assert_int_equal(account("only", "late"), PAM_ACCT_EXPIRED);
    assert_int_equal(account("only", "busy"), PAM_PERM_DENIED);
    assert_string_equal(talk.said, "atelier: you have as many sessions as one may have.");
    assert_int_equal(account("only", "root"), PAM_PERM_DENIED);
    assert_int_equal(account("only", "nobodyknows"), PAM_PERM_DENIED);
    assert_int_equal(account("shared", "alice"), PAM_SUCCESS);
    assert_int_equal(account("shared", "ben"), PAM_PERM_DENIED);
    assert_int_equal(account("shared", "root"), PAM_SUCCESS);
}

static void credentials_and_password_do_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        pam_handle_t *pamh = service_start(i == 0 ? "only" : "shared", "alice", &conv);

        talk_reset(MOOD_ANSWER, "");
        assert_int_equal(pam_setcred(pamh, PAM_ESTABLISH_CRED), PAM_SUCCESS);
        assert_int_equal(pam_setcred(pamh, PAM_DELETE_CRED | PAM_SILENT), PAM_SUCCESS);
        assert_int_equal(pam_chauthtok(pamh, PAM_SILENT), PAM_PERM_DENIED);
        assert_int_equal(talk.secret_prompts + talk.other_prompts + talk.errors, 0);
        assert_int_equal(pam_end(pamh, 0), PAM_SUCCESS);
    }
}

/* In a process of its own: it is in the cage afterwards. */
static int refused_code(void)
{
    pam_handle_t *pamh = service_start("only", "root", &conv);
    int r = pam_open_session(pamh, 0);

    return pam_end(pamh, 0) == PAM_SUCCESS ? r : -1;
}

static void session_of_others_is_none(void **state)
{
    pam_handle_t *pamh;
    int status = 0;
    pid_t pid;

    (void)state;
    talk_reset(MOOD_ANSWER, "");
    pid = fork();
    if (pid == 0)
        _exit(refused_code());
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), PAM_SESSION_ERR);
    pamh = service_start("shared", "root", &conv);
    assert_int_equal(pam_open_session(pamh, 0), PAM_SUCCESS);
    assert_int_equal(pam_close_session(pamh, 0), PAM_SUCCESS);
    assert_int_equal(pam_end(pamh, 0), PAM_SUCCESS);
}

static int prepare(void **state)
{
    return dir_enter(state) < 0 ? -1 : services_make(state);
}

static int release(void **state)
{
    services_remove();
    return dir_leave(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_lets_its_user_in),
        cmocka_unit_test(denial_is_the_same_for_every_name),
        cmocka_unit_test(what_cannot_be_a_code_is_denied),
        cmocka_unit_test(without_only_others_are_left_alone),
        cmocka_unit_test(outage_is_told_in_one_sentence),
        cmocka_unit_test(account_follows_the_registry),
        cmocka_unit_test(credentials_and_password_do_nothing),
        cmocka_unit_test(session_of_others_is_none),
    };

    return cmocka_run_group_tests(tests, prepare, release);
}
