/* SPDX-License-Identifier: ISC */
/* test_api_view.c - links, sessions and users as the API shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>

#include "sessiond/api/json_out.h"

#include "common/banned.h"

static const char *text_at(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static json_int_t number_at(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static struct link a_link(void)
{
    return (struct link){.link_id = "0123456789abcdef",
                         .uid = 10001,
                         .caller_uid = 33,
                         .purpose = LINK_PURPOSE_WEB,
                         .created_s = 1000,
                         .expires_s = 1900,
                         .name = "alice"};
}

static void state_of_a_link_is_whatever_ended_it(void **state)
{
    struct link l = a_link();

    (void)state;
    assert_string_equal(json_link_state(&l, 1000), "open");
    assert_string_equal(json_link_state(&l, 1899), "open");
    assert_string_equal(json_link_state(&l, 1900), "expired");
    l.revoked_s = 1500;
    assert_string_equal(json_link_state(&l, 1600), "revoked");
    assert_string_equal(json_link_state(&l, 5000), "revoked");
    l.used_s = 1400;
    assert_string_equal(json_link_state(&l, 1600), "used");
}

static void list_of_links_has_no_secret(void **state)
{
    struct link l = a_link();
    json_t *v = json_of_link(&l, 1000);

    (void)state;
    assert_non_null(v);
    assert_int_equal(json_object_size(v), 9);
    assert_string_equal(text_at(v, "id"), "0123456789abcdef");
    assert_string_equal(text_at(v, "user"), "alice");
    assert_string_equal(text_at(v, "purpose"), "web");
    assert_string_equal(text_at(v, "state"), "open");
    assert_string_equal(text_at(v, "created_at"), "1970-01-01T00:16:40Z");
    assert_string_equal(text_at(v, "expires_at"), "1970-01-01T00:31:40Z");
    assert_true(json_is_null(json_object_get(v, "used_at")));
    assert_int_equal(number_at(v, "uid"), 10001);
    assert_int_equal(number_at(v, "caller_uid"), 33);
    json_decref(v);
    l.used_s = 1001;
    v = json_of_link(&l, 2000);
    assert_string_equal(text_at(v, "used_at"), "1970-01-01T00:16:41Z");
    json_decref(v);
}

static void minted_link_has_both_forms_and_a_picture_only_if_asked_for(void **state)
{
    struct minted m = {.link = a_link(), .code = "AAAA-BBBB-CCCC"};
    json_t *v = json_of_minted(&m, "alice", "https://host/#atl_x", NULL);

    (void)state;
    assert_non_null(v);
    assert_int_equal(json_object_size(v), 7);
    assert_string_equal(text_at(v, "link"), "https://host/#atl_x");
    assert_string_equal(text_at(v, "code"), "AAAA-BBBB-CCCC");
    assert_string_equal(text_at(v, "user"), "alice");
    assert_string_equal(text_at(v, "expires_at"), "1970-01-01T00:31:40Z");
    assert_string_equal(text_at(v, "purpose"), "web");
    json_decref(v);
    v = json_of_minted(&m, "alice", "https://host/#atl_x", "\xe2\x96\x88\n");
    assert_string_equal(text_at(v, "qr"), "\xe2\x96\x88\n");
    json_decref(v);
}

static void session_shows_who_where_since_when_and_how_confined(void **state)
{
    struct wire_session_started m = {.uid = 10001,
                                     .holder_pid = 77,
                                     .init_pid = 78,
                                     .is_scoped = 1,
                                     .started_us = 1795953600999999,
                                     .session_id = "0123456789abcdef0123456789abcdef",
                                     .service = "atelier-sshd",
                                     .line = "atelier/1",
                                     .receipt = {.seccomp = 2}};
    json_t *v = json_of_session("alice", &m);

    (void)state;
    assert_non_null(v);
    assert_int_equal(json_object_size(v), 12);
    assert_string_equal(text_at(v, "id"), m.session_id);
    assert_string_equal(text_at(v, "user"), "alice");
    assert_int_equal(number_at(v, "uid"), 10001);
    assert_string_equal(text_at(v, "service"), "atelier-sshd");
    assert_string_equal(text_at(v, "line"), "atelier/1");
    assert_string_equal(text_at(v, "rhost"), "");
    assert_string_equal(text_at(v, "started_at"), "2026-11-29T12:00:00Z");
    assert_int_equal(number_at(v, "pid"), 77);
    assert_int_equal(number_at(v, "init_pid"), 78);
    assert_string_equal(text_at(v, "abstract"), "scoped");
    assert_int_equal(number_at(json_object_get(v, "receipt"), "seccomp"), 2);
    json_decref(v);
    m.is_scoped = 0;
    v = json_of_session("alice", &m);
    assert_string_equal(text_at(v, "abstract"), "shared");
    json_decref(v);
}

static void user_shows_the_expiry_or_null(void **state)
{
    struct user u = {.uid = 10001, .name = "alice"};
    json_t *v = json_of_user(&u, json_array(), NULL, 0);

    (void)state;
    assert_non_null(v);
    assert_true(json_is_null(json_object_get(v, "expires_at")));
    json_decref(v);
    u.expires_s = 1795953600;
    v = json_of_user(&u, json_array(), NULL, 0);
    assert_string_equal(text_at(v, "expires_at"), "2026-11-29T12:00:00Z");
    json_decref(v);
}

static void user_shows_comment_and_shell(void **state)
{
    struct user u = {.uid = 10001, .name = "alice", .comment = "Zoë, room 3", .shell = "/bin/dash"};
    json_t *v = json_of_user(&u, json_array(), NULL, 0);

    (void)state;
    assert_int_equal(json_object_size(v), 10);
    assert_string_equal(text_at(v, "comment"), "Zoë, room 3");
    assert_string_equal(text_at(v, "shell"), "/bin/dash");
    json_decref(v);
    u.comment[0] = u.shell[0] = '\0';
    v = json_of_user(&u, json_array(), NULL, 0);
    assert_string_equal(text_at(v, "comment"), "");
    assert_string_equal(text_at(v, "shell"), "");
    json_decref(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_of_a_link_is_whatever_ended_it),
        cmocka_unit_test(list_of_links_has_no_secret),
        cmocka_unit_test(minted_link_has_both_forms_and_a_picture_only_if_asked_for),
        cmocka_unit_test(session_shows_who_where_since_when_and_how_confined),
        cmocka_unit_test(user_shows_the_expiry_or_null),
        cmocka_unit_test(user_shows_comment_and_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
