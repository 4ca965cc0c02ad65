/* SPDX-License-Identifier: ISC */
/* test_ctl_login.c - invitations, links, lock, expiry and sessions: what is sent and printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/cmd.h"
#include "ctl/exit.h"
#include "ctl/minted.h"
#include "tests/unit/ctl_scene.h"

#include "common/banned.h"

#define CREATED HEAD("201 Created")
#define URL     "https://h.example.org/#atl_abc"
#define CODE    "0123-4567-89P9"
#define PERSON(name, uid, email)                                                                   \
    "{\"name\":\"" name "\",\"uid\":" uid ",\"email\":\"" email "\",\"created\":true}"
#define PEOPLE(is_dry, ...)                                                                        \
    HEAD("200 OK")                                                                                 \
    "{\"dry_run\":" is_dry ",\"created\":1,\"existed\":0,\"users\":[" __VA_ARGS__ "]}"
#define MARIA PERSON("maria", "10002", "maria@example.org")
#define BEN   PERSON("ben", "10003", "ben@example.org")
#define LINK_BODY(name, uid, purpose, more)                                                        \
    "{\"id\":\"00112233aabbccdd\",\"user\":\"" name "\",\"uid\":" uid ",\"link\":\"" URL           \
    "\",\"code\":\"" CODE "\",\"expires_at\":\"2026-12-13T20:15:00Z\",\"purpose\":\"" purpose      \
    "\"" more "}"
#define LINK(name, uid) CREATED LINK_BODY(name, uid, "any", "")
#define JSON_LINE(name, uid)                                                                       \
    "{\"user\":\"" name "\",\"uid\":" uid ",\"link\":\"" URL "\",\"code\":\"" CODE                 \
    "\",\"expires_at\":\"2026-12-13T20:15:00Z\",\"id\":\"00112233aabbccdd\"}\n"
#define TEXT(who, name, uid)                                                                       \
    who name ", uid " uid "\n    ssh -p 2222 " name "@h.example.org\n    " CODE "\n    " URL       \
             "\n    good once, until 2026-12-13T20:15:00Z\n"                                       \
             "    to take it back: atelier link revoke 00112233aabbccdd\n"

/* --- invite -------------------------------------------------------------------------------- */

static void an_invitation_prints_all_that_a_person_needs(void **state)
{
    static const char dry[] = "{\"dry_run\":true,\"users\":[{\"email\":\"maria@example.org\","
                              "\"groups\":[\"kurs\"]},{\"email\":\"ben@example.org\",\"groups\":["
                              "\"kurs\"]}]}POST /v1/imports HTTP/1.1\r\n";
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s,
                     ANSWERS(PEOPLE("true", MARIA "," BEN), PEOPLE("false", MARIA "," BEN),
                             LINK("maria", "10002"), LINK("ben", "10003")),
                     cmd_invite, false,
                     WORDS("maria@example.org", "--group", "kurs", "ben@example.org")),
        CTL_OK);
    assert_string_equal(s->out, TEXT("maria@example.org: ", "maria",
                                     "10002") "\n" TEXT("ben@example.org: ", "ben", "10003"));
    assert_string_equal(s->err, "");
    assert_memory_equal(s->request, "POST /v1/imports HTTP/1.1\r\n", 27);
    assert_non_null(strstr(s->request, dry));
    assert_non_null(strstr(s->request, "{\"dry_run\":false,\"users\":[{"));
    assert_non_null(
        strstr(s->request, "{\"user\":\"maria\",\"valid_s\":1209600,\"qr\":false}POST"));
    assert_non_null(strstr(s->request, "{\"user\":\"ben\",\"valid_s\":1209600,\"qr\":false}"));
}

static void an_invitation_as_json_is_one_line_for_each_person(void **state)
{
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s,
                     ANSWERS(PEOPLE("true", MARIA "," BEN), PEOPLE("false", MARIA "," BEN),
                             LINK("maria", "10002"), LINK("ben", "10003")),
                     cmd_invite, true, WORDS("--valid=2h", "maria@example.org", "ben@example.org")),
        CTL_OK);
    assert_string_equal(s->out, JSON_LINE("maria", "10002") JSON_LINE("ben", "10003"));
    assert_non_null(strstr(s->request, "\"valid_s\":7200"));
    assert_null(strstr(s->request, "group"));
}

static void one_address_that_is_refused_stops_all(void **state)
{
    static const char refused[] =
        HEAD("409 Conflict") "{\"status\":\"bad_request\",\"field\":\"users[1].email\","
                             "\"message\":\"not this one\"}";
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s, ANSWERS(refused), cmd_invite, false, WORDS("a@b", "maria@b", "ben@b")),
        CTL_NO);
    assert_string_equal(s->out, "");
    assert_string_equal(s->err, "atelier: maria@b: not this one (field email)\n"
                                "atelier: nobody was invited\n");
    assert_null(strstr(s->request, "\"dry_run\":false"));
}

static void one_failing_link_does_not_lose_the_others(void **state)
{
    static const char locked[] =
        HEAD("403 Forbidden") "{\"status\":\"locked\",\"message\":\"the user is locked\"}";
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s,
                     ANSWERS(PEOPLE("true", MARIA "," BEN), PEOPLE("false", MARIA "," BEN), locked,
                             LINK("ben", "10003")),
                     cmd_invite, false, WORDS("maria@example.org", "ben@example.org")),
        CTL_NO);
    assert_string_equal(s->out, TEXT("ben@example.org: ", "ben", "10003"));
    assert_string_equal(s->err, "atelier: maria@example.org: the user is locked\n"
                                "atelier: maria@example.org has the user maria, but no link; "
                                "when that is mended, 'atelier link mint maria' makes one\n");
}

static void when_the_service_is_gone_the_rest_is_told_so(void **state)
{
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s, ANSWERS(PEOPLE("true", MARIA "," BEN), PEOPLE("false", MARIA "," BEN), ""),
                     cmd_invite, true, WORDS("maria@example.org", "ben@example.org")),
        CTL_UNAVAILABLE);
    assert_string_equal(s->out, "");
    assert_non_null(strstr(s->err, "atelier: maria@example.org has the user maria, but no link"));
    assert_non_null(strstr(s->err, "atelier: ben@example.org has no link\n"));
}

static void fewer_people_than_asked_for_are_an_error(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered_all(s, ANSWERS(PEOPLE("true", MARIA)), cmd_invite, false,
                                  WORDS("maria@example.org", "ben@example.org")),
                     CTL_INTERNAL);
}

static int invitation(const char *const *words)
{
    char *argv[16] = {(char *)(uintptr_t) "atelier invite"};
    struct invite_args args;
    struct options opt = {0};
    int argc = 1;

    for (; *words; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    if (invite_args_parse(&opt, argc, argv, ARGP_SILENT, &args) < 0)
        return -1;
    json_decref(args.groups);
    return 0;
}

static void all_addresses_are_looked_at_before_anything_is_sent(void **state)
{
    static const char *const wrong[] = {
        "",     "a",     "@b",         "a@",         "a@b@c", "a b@c", "a@b c",   "a@b..c", "a@.b",
        "a@b.", "a@b_c", "\xc3\xa4@b", "a@\xc3\xa4", "a@b\n", "<a@b>", "a@b,c@d", "\"a\"@b"};
    char local[80], label[80];

    (void)state;
    assert_int_equal(invitation(WORDS("a@b", "c.d+e@f-g.example.org")), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (invitation(WORDS("a@b", wrong[i])) == 0)
            fail_msg("'%s'", wrong[i]);
    }
    (void)snprintf(local, sizeof(local), "%064d@b", 0);
    (void)snprintf(label, sizeof(label), "a@%063d", 0);
    assert_int_equal(invitation(WORDS(local, label)), 0);
    (void)snprintf(local, sizeof(local), "%065d@b", 0);
    assert_int_not_equal(invitation(WORDS(local)), 0);
    (void)snprintf(label, sizeof(label), "a@%064d", 0);
    assert_int_not_equal(invitation(WORDS(label)), 0);
    assert_int_not_equal(invitation(WORDS("a@b", "c@d", "A@B")), 0);
    assert_int_not_equal(invitation(WORDS(NULL)), 0);
    assert_int_equal(invitation(WORDS("a@b", "--valid", "14d", "--qr")), 0);
    assert_int_not_equal(invitation(WORDS("a@b", "--valid", "15d")), 0);
    assert_int_not_equal(invitation(WORDS("a@b", "--valid", "0s")), 0);
    assert_int_not_equal(invitation(WORDS("a@b", "--valid", "14")), 0);
    assert_int_equal(invitation(WORDS("--csv", "people.csv", "--dry-run")), 0);
    assert_int_not_equal(invitation(WORDS("--csv", "people.csv", "a@b")), 0);
    assert_int_equal(invitation(WORDS("a@b", "--group", "one,two")), 0);
    assert_int_not_equal(invitation(WORDS("a@b", "--group", "one,,two")), 0);
}

/* --- links --------------------------------------------------------------------------------- */

static void a_minted_link_is_printed_once_and_asked_for_as_said(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, LINK("maria", "10002"), cmd_link_mint, false, WORDS("maria")),
                     CTL_OK);
    assert_string_equal(s->out, TEXT("", "maria", "10002"));
    assert_memory_equal(s->request, "POST /v1/links HTTP/1.1\r\n", 25);
    assert_non_null(strstr(s->request, "\r\n\r\n{\"user\":\"maria\"}"));
    assert_int_equal(answered(s, LINK("maria", "10002"), cmd_link_mint, true,
                              WORDS("maria", "--purpose=ssh", "--valid=90s", "--qr")),
                     CTL_OK);
    assert_string_equal(s->out, JSON_LINE("maria", "10002"));
    assert_non_null(strstr(s->request, "{\"user\":\"maria\",\"purpose\":\"ssh\",\"valid_s\":90,"
                                       "\"qr\":true}"));
}

static void a_link_for_one_door_does_not_show_the_way_to_the_other(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, CREATED LINK_BODY("maria", "10002", "web", ""), cmd_link_mint,
                              false, WORDS("maria")),
                     CTL_OK);
    assert_null(strstr(s->out, "ssh -p"));
    assert_non_null(strstr(s->out, "    " URL "\n"));
    assert_int_equal(answered(s, CREATED LINK_BODY("maria", "10002", "ssh", ""), cmd_link_mint,
                              false, WORDS("maria")),
                     CTL_OK);
    assert_non_null(strstr(s->out, "    ssh -p 2222 maria@h.example.org\n    " CODE "\n"));
    assert_null(strstr(s->out, URL));
}

static void a_qr_code_is_drawn_and_nothing_else_in_its_place(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s,
                              CREATED LINK_BODY("maria", "10002", "any",
                                                ",\"qr\":\"\\u2588\\u2580 \\u2584\\n\""),
                              cmd_link_mint, false, WORDS("maria", "--qr")),
                     CTL_OK);
    assert_string_equal(s->out, TEXT("", "maria", "10002") "\u2588\u2580 \u2584\n");
    assert_int_equal(
        answered(s, CREATED LINK_BODY("maria", "10002", "any", ",\"qr\":\"\\u2588\\u001b[2J\\n\""),
                 cmd_link_mint, false, WORDS("maria", "--qr")),
        CTL_INTERNAL);
    assert_string_equal(s->out, "");
}

static void an_error_never_holds_a_secret(void **state)
{
    static const char *const answers[] = {
        /* A success that lacks something, and an error that holds too much. */
        CREATED "{\"id\":\"00112233aabbccdd\",\"link\":\"" URL "\",\"code\":\"" CODE "\"}",
        HEAD("500 Oops") "{\"link\":\"" URL "\",\"code\":\"" CODE "\"}",
        HEAD("500 Oops") URL " " CODE,
    };
    struct scene *s = *state;

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        assert_int_equal(answered(s, answers[i], cmd_link_mint, false, WORDS("maria")),
                         CTL_INTERNAL);
        assert_string_equal(s->out, "");
        assert_memory_equal(s->err, "atelier: ", 9);
        assert_null(strstr(s->err, "0123"));
        assert_null(strstr(s->err, "atl_"));
    }
}

#define LISTED(used)                                                                               \
    "{\"id\":\"00112233aabbccdd\",\"user\":\"maria\",\"uid\":10002,\"purpose\":\"ssh\",\"state\":" \
    "\"open\",\"created_at\":\"2026-11-29T20:00:00Z\",\"expires_at\":\"2026-11-29T20:15:00Z\","    \
    "\"used_at\":" used ",\"caller_uid\":990}"

static void links_are_listed_without_secrets(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s,
                              HEAD("200 OK") "{\"links\":[" LISTED("null") "," LISTED(
                                  "\"2026-11-29T20:01:00Z\"") "]}",
                              cmd_link_list, false, WORDS(NULL)),
                     CTL_OK);
    assert_memory_equal(s->request, "GET /v1/links HTTP/1.1\r\n", 24);
    assert_string_equal(
        s->out,
        "ID                USER   PURPOSE  STATE  CREATED               EXPIRES               "
        "USED                  CALLER\n"
        "00112233aabbccdd  maria  ssh      open   2026-11-29T20:00:00Z  2026-11-29T20:15:00Z  "
        "-                     990\n"
        "00112233aabbccdd  maria  ssh      open   2026-11-29T20:00:00Z  2026-11-29T20:15:00Z  "
        "2026-11-29T20:01:00Z  990\n");
}

static void a_link_is_revoked_by_its_id_and_a_secret_is_not_repeated(void **state)
{
    static const char *const wrong[] = {
        CODE, "0011223344556677/..", "00112233AABBCCDD", "00112233aabbccd", URL, ""};
    struct scene *s = *state;

    assert_int_equal(
        answered(s, HEAD("204 No Content"), cmd_link_revoke, false, WORDS("00112233aabbccdd")),
        CTL_OK);
    assert_memory_equal(s->request, "DELETE /v1/links/00112233aabbccdd HTTP/1.1\r\n", 44);
    assert_string_equal(s->out, "link 00112233aabbccdd is taken back\n");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(command(s, cmd_link_revoke, false, WORDS(wrong[i])), CTL_USAGE);
        assert_true(wrong[i][0] == '\0' || !strstr(s->err, wrong[i]));
    }
}

static void the_host_of_a_link_is_found(void **state)
{
    static const struct {
        const char *link, *host;
    } cases[] = {
        {"https://h.example.org/#x", "h.example.org"},
        {"https://h:8443/a#x", "h"},
        {"http://[2001:db8::1]:80/#x", "2001:db8::1"},
        {"https://#x", "HOST"},
        {"nonsense", "HOST"},
        {"", "HOST"},
        {"https://h#x", "h"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *host = host_of_link(cases[i].link);

        assert_string_equal(host, cases[i].host);
        free(host);
    }
}

/* --- lock and expiry ----------------------------------------------------------------------- */

#define PATCHED(name, state, expires)                                                              \
    HEAD("200 OK")                                                                                 \
    "{\"name\":\"" name "\",\"uid\":10002,\"state\":\"" state                                      \
    "\",\"email\":null,\"external_ids\":[],\"created_s\":1,\"groups\":[],"                         \
    "\"expires_at\":" expires "}"

static void users_are_locked_one_by_one(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered_all(s,
                                  ANSWERS(PATCHED("maria", "locked", "null"),
                                          HEAD("404 Not Found") "{\"status\":\"unknown_user\","
                                                                "\"message\":\"no such user\"}",
                                          PATCHED("ben", "locked", "\"2026-12-01T00:00:00Z\"")),
                                  cmd_user_lock, false, WORDS("maria", "ada", "ben")),
                     CTL_NO);
    assert_string_equal(s->out, "maria    10002 locked\n"
                                "ben      10002 locked, expires 2026-12-01T00:00:00Z\n");
    assert_string_equal(
        s->err, "atelier: there is no user 'ada'; 'atelier user list' shows who there is\n");
    assert_memory_equal(s->request, "PATCH /v1/users/maria HTTP/1.1\r\n", 32);
    assert_non_null(strstr(s->request, "\r\n\r\n{\"locked\":true}PATCH /v1/users/ada HTTP/1.1"));
    assert_int_equal(
        answered(s, PATCHED("maria", "active", "null"), cmd_user_unlock, true, WORDS("maria")),
        CTL_OK);
    assert_non_null(strstr(s->request, "{\"locked\":false}"));
    assert_memory_equal(s->out, "{\"name\":\"maria\",", 16);
    assert_int_equal(command(s, cmd_user_lock, false, WORDS("maria", "../groups")), CTL_USAGE);
}

static void expiry_is_sent_as_a_moment_or_as_null(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, PATCHED("maria", "active", "\"2026-11-30T23:59:59Z\""),
                              cmd_user_expire, false, WORDS("maria", "2026-11-30")),
                     CTL_OK);
    assert_string_equal(s->out, "maria    10002 active, expires 2026-11-30T23:59:59Z\n");
    assert_memory_equal(s->request, "PATCH /v1/users/maria HTTP/1.1\r\n", 32);
    assert_non_null(strstr(s->request, "\r\n\r\n{\"expires_at\":\"2026-11-30T23:59:59Z\"}"));
    assert_int_equal(answered(s, PATCHED("maria", "active", "null"), cmd_user_expire, false,
                              WORDS("maria", "never")),
                     CTL_OK);
    assert_non_null(strstr(s->request, "\r\n\r\n{\"expires_at\":null}"));
    assert_int_equal(
        answered(s, PATCHED("maria", "active", "7"), cmd_user_expire, false, WORDS("maria", "+1d")),
        CTL_INTERNAL);
    assert_int_equal(command(s, cmd_user_expire, false, WORDS("maria", "yesterday")), CTL_USAGE);
    assert_int_equal(command(s, cmd_user_expire, false, WORDS("maria")), CTL_USAGE);
    assert_int_equal(command(s, cmd_user_expire, false, WORDS("maria", "never", "x")), CTL_USAGE);
}

/* --- sessions ------------------------------------------------------------------------------ */

#define ID_A "aaaa0000000000000000000000000001"
#define ID_B "aaaa0000000000000000000000000002"
#define ID_C "cccc0000000000000000000000000003"
#define SESSION(id, user, line)                                                                    \
    "{\"id\":\"" id "\",\"user\":\"" user "\",\"uid\":10002,\"service\":\"atelier-sshd\","         \
    "\"line\":\"" line "\",\"rhost\":\"198.51.100.2\",\"started_at\":\"2026-11-29T20:15:00Z\","    \
    "\"pid\":77,\"init_pid\":78,\"receipt\":{\"seccomp\":2,\"uid\":[10002,10002]},"                \
    "\"abstract\":\"scoped\"}"
#define SESSIONS                                                                                   \
    HEAD("200 OK")                                                                                 \
    "{\"sessions\":[" SESSION(ID_A, "maria", "at/0") "," SESSION(ID_B, "ben", "") "," SESSION(     \
        ID_C, "ada", "at/2") "]}"

static void sessions_are_listed_with_the_first_digits(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, SESSIONS, cmd_session_list, false, WORDS(NULL)), CTL_OK);
    assert_memory_equal(s->request, "GET /v1/sessions HTTP/1.1\r\n", 27);
    assert_memory_equal(s->out,
                        "ID            USER   UID    SERVICE       LINE  FROM          STARTED     "
                        "          PID\n"
                        "aaaa00000000  maria  10002  atelier-sshd  at/0  198.51.100.2  2026-11-29T"
                        "20:15:00Z  77\n"
                        "aaaa00000000  ben    10002  atelier-sshd  -     ",
                        220);
    assert_int_equal(answered(s, SESSIONS, cmd_session_list, true, WORDS(NULL)), CTL_OK);
    assert_non_null(strstr(s->out, ID_B));
}

static void a_session_is_shown_by_the_first_digits(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered_all(s, ANSWERS(SESSIONS, HEAD("200 OK") SESSION(ID_C, "ada", "")),
                                  cmd_session_show, false, WORDS("cccc")),
                     CTL_OK);
    assert_non_null(strstr(s->request, "GET /v1/sessions/" ID_C " HTTP/1.1\r\n"));
    assert_non_null(strstr(s->out, "id                " ID_C "\n"));
    assert_non_null(strstr(s->out, "\nabstract sockets  scoped\n"));
    assert_non_null(strstr(s->out, "\nreceipt.uid       [10002,10002]\n"));
    assert_int_equal(answered_all(s, ANSWERS(SESSIONS, HEAD("200 OK") SESSION(ID_C, "ada", "")),
                                  cmd_session_show, true, WORDS(ID_C)),
                     CTL_OK);
    assert_string_equal(s->out, SESSION(ID_C, "ada", "") "\n");
}

/* Objects by their members, arrays by their elements, and what sessiond watches itself. */
static void a_receipt_is_shown_in_lines_that_fit(void **state)
{
    static const char shown[] = HEAD(
        "200 OK") "{\"id\":\"" ID_C
                  "\",\"user\":\"ada\",\"uid\":10002,\"service\":\"atelier-sshd\",\"line\":\"\","
                  "\"rhost\":\"\",\"started_at\":\"2026-03-01T09:30:00Z\",\"pid\":77,\"init_pid\":"
                  "78,"
                  "\"abstract\":\"scoped\",\"receipt\":{\"cgroup\":{\"mode\":\"v2\",\"leaf\":"
                  "\"/sys/fs/cgroup/atelier.slice/atelier-holder.service/u10002/"
                  "s0123456789abcdef\"},"
                  "\"skills\":[\"plot@"
                  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\","
                  "\"b\"]},\"watch\":{\"memory\":true,\"processes\":false}}";
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s, ANSWERS(SESSIONS, shown), cmd_session_show, false, WORDS("cccc")), CTL_OK);
    for (const char *line = s->out; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 1, 79);
    assert_non_null(strstr(s->out, "\nreceipt.cgroup.mode  \"v2\"\n"));
    assert_non_null(strstr(s->out, "\nreceipt.skills       \"plot@0123456789abcdef"));
    assert_non_null(strstr(s->out, "\nwatch.processes      false\n"));
}

static void digits_that_do_not_name_one_session_end_nothing(void **state)
{
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s, ANSWERS(SESSIONS), cmd_session_kill, false, WORDS("cccc", "aaaa")), CTL_NO);
    assert_non_null(strstr(s->err, "more than one session begins with aaaa"));
    assert_null(strstr(s->request, "DELETE"));
    assert_int_equal(
        answered_all(s, ANSWERS(SESSIONS), cmd_session_kill, false, WORDS("cccc", "dddd")), CTL_NO);
    assert_string_equal(s->err, "atelier: there is no session dddd\n");
    assert_null(strstr(s->request, "DELETE"));
    assert_int_equal(answered_all(s, ANSWERS(SESSIONS), cmd_session_show, false, WORDS("aaaa")),
                     CTL_NO);
    assert_int_equal(command(s, cmd_session_kill, false, WORDS("cccc", "ccc")), CTL_USAGE);
    assert_int_equal(command(s, cmd_session_kill, false, WORDS("cccc/..")), CTL_USAGE);
    assert_int_equal(command(s, cmd_session_kill, false, WORDS(ID_C "0")), CTL_USAGE);
    assert_int_equal(command(s, cmd_session_show, false, WORDS("")), CTL_USAGE);
    assert_int_equal(answered_all(s,
                                  ANSWERS(HEAD("200 OK") "{\"sessions\":[{\"id\":\"cccc/../x\"}]}"),
                                  cmd_session_kill, false, WORDS("cccc")),
                     CTL_INTERNAL);
}

static void sessions_are_ended_by_their_whole_ids(void **state)
{
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s,
                     ANSWERS(SESSIONS,
                             HEAD("404 Not Found") "{\"status\":\"bad_request\",\"message\":"
                                                   "\"it is gone\"}",
                             HEAD("204 No Content")),
                     cmd_session_kill, false, WORDS("cccc", ID_A)),
        CTL_NO);
    assert_non_null(strstr(s->request, "DELETE /v1/sessions/" ID_C " HTTP/1.1\r\n"));
    assert_non_null(strstr(s->request, "DELETE /v1/sessions/" ID_A " HTTP/1.1\r\n"));
    assert_string_equal(s->err, "atelier: it is gone\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_invitation_prints_all_that_a_person_needs),
        TEST(an_invitation_as_json_is_one_line_for_each_person),
        TEST(one_address_that_is_refused_stops_all),
        TEST(one_failing_link_does_not_lose_the_others),
        TEST(fewer_people_than_asked_for_are_an_error),
        TEST(when_the_service_is_gone_the_rest_is_told_so),
        TEST(all_addresses_are_looked_at_before_anything_is_sent),
        TEST(a_minted_link_is_printed_once_and_asked_for_as_said),
        TEST(a_link_for_one_door_does_not_show_the_way_to_the_other),
        TEST(a_qr_code_is_drawn_and_nothing_else_in_its_place),
        TEST(an_error_never_holds_a_secret),
        TEST(links_are_listed_without_secrets),
        TEST(a_link_is_revoked_by_its_id_and_a_secret_is_not_repeated),
        TEST(the_host_of_a_link_is_found),
        TEST(users_are_locked_one_by_one),
        TEST(expiry_is_sent_as_a_moment_or_as_null),
        TEST(sessions_are_listed_with_the_first_digits),
        TEST(a_session_is_shown_by_the_first_digits),
        TEST(a_receipt_is_shown_in_lines_that_fit),
        TEST(digits_that_do_not_name_one_session_end_nothing),
        TEST(sessions_are_ended_by_their_whole_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
