/* SPDX-License-Identifier: ISC */
/* test_ctl_admin.c - users and groups changed and removed, the index, backups: sent and printed. */
#include <errno.h>
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
#include "ctl/index_compare.h"
#include "ctl/restore.h"
#include "tests/unit/ctl_scene.h"

#include "common/banned.h"

#define OK HEAD("200 OK")
#define BUSY                                                                                       \
    HEAD("503 Service Unavailable") "{\"status\":\"busy\",\"message\":\"a run does not end\"}"
#define BEN    OK "{\"name\":\"ben\",\"uid\":10003,\"links_revoked\":0}"
#define NOBODY HEAD("404 Not Found") "{\"status\":\"unknown_user\",\"message\":\"no\"}"

static void a_changed_user_is_one_line(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s,
                              OK "{\"name\":\"bob\",\"uid\":10002,\"state\":\"active\","
                                 "\"expires_at\":\"2026-11-30T23:59:59Z\"}",
                              cmd_user_mod, false, WORDS("-e", "2026-11-30", "bob")),
                     CTL_OK);
    assert_memory_equal(s->request, "PATCH /v1/users/bob HTTP/1.1\r\n", 30);
    assert_non_null(strstr(s->request, "{\"expires_at\":\"2026-11-30T23:59:59Z\"}"));
    assert_string_equal(s->out, "bob      10002 active, expires 2026-11-30T23:59:59Z\n");
    assert_int_equal(answered(s,
                              OK
                              "{\"name\":\"bob\",\"uid\":10002,\"state\":\"active\",\"expires_at\":"
                              "null,\"groups\":[\"a\",\"b\"]}",
                              cmd_user_mod, false, WORDS("-aG", "b", "bob")),
                     CTL_OK);
    assert_string_equal(s->out, "bob      10002 active\n    groups: a,b\n");
    assert_int_equal(answered(s, NOBODY, cmd_user_mod, false, WORDS("-c", "x", "bob")), CTL_NO);
    assert_string_equal(
        s->err, "atelier: there is no user 'bob'; 'atelier user list' shows who there is\n");
    assert_int_equal(command(s, cmd_user_mod, false, WORDS("-c", "x", "Bob")), CTL_USAGE);
    assert_memory_equal(s->err, "atelier: 'Bob' is not a user name", 33);
}

static void a_user_is_shown_with_comment_and_shell(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s,
                              OK "{\"name\":\"bob\",\"uid\":10002,\"state\":\"active\",\"email\":"
                                 "null,\"external_ids\":[],\"created_s\":0,\"groups\":[],"
                                 "\"expires_at\":null,\"comment\":\"a\\u001b\",\"shell\":\"\"}",
                              cmd_user_show, false, WORDS("bob")),
                     CTL_OK);
    assert_non_null(strstr(s->out, "comment       a\\x1b\nshell         default\n"));
}

static void a_removed_user_is_asked_for_until_nothing_is_busy(void **state)
{
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s,
                     ANSWERS(BUSY, BUSY, OK "{\"name\":\"bob\",\"uid\":10002,\"links_revoked\":3}"),
                     cmd_user_del, false, WORDS("--no-scan", "bob")),
        CTL_OK);
    assert_memory_equal(s->request, "DELETE /v1/users/bob HTTP/1.1\r\n", 31);
    assert_memory_equal(s->out, "bob      10002 removed, open links taken back: 3\n", 48);
    assert_string_equal(s->err, "");
    assert_int_equal(answered_all(s, ANSWERS(BEN, BEN, BEN, NOBODY), cmd_user_del, true,
                                  WORDS("--no-scan", "ben", "bob")),
                     CTL_NO);
    assert_non_null(strstr(s->out, "{\"name\":\"ben\",\"uid\":10003,"));
    /* One who is not there is a slip, and then nobody goes. */
    assert_int_equal(answered_all(s, ANSWERS(BEN, NOBODY), cmd_user_del, false,
                                  WORDS("--no-scan", "ben", "bob")),
                     CTL_NO);
    assert_null(strstr(s->request, "DELETE"));
    assert_non_null(strstr(s->err, "there is no user 'bob'"));
    assert_non_null(strstr(s->err, "nobody was removed"));
    assert_int_equal(command(s, cmd_user_del, false, WORDS("ben", "b/../b")), CTL_USAGE);
}

static void a_removed_user_with_a_foreign_uid_is_not_believed(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, OK "{\"name\":\"bob\",\"uid\":0,\"links_revoked\":0}",
                              cmd_user_del, false, WORDS("-r", "bob")),
                     CTL_INTERNAL);
    assert_string_equal(s->out, "");
}

static void groups_are_shown_changed_and_removed(void **state)
{
    static const char group[] = OK "{\"name\":\"g\",\"gid\":10005,\"members\":[\"ann\",\"bob\"]}";
    static const char text[] = "name     g\ngid      10005\nmembers  ann,bob\n";
    struct scene *s = *state;

    assert_int_equal(answered(s, group, cmd_group_show, false, WORDS("g")), CTL_OK);
    assert_string_equal(s->out, text);
    assert_int_equal(answered(s, group, cmd_group_mod, false, WORDS("-aU", "bob", "g")), CTL_OK);
    assert_memory_equal(s->request, "PATCH /v1/groups/g HTTP/1.1\r\n", 29);
    assert_string_equal(s->out, text);
    assert_int_equal(
        answered(s, OK "{\"name\":\"g\",\"gid\":10005}", cmd_group_del, false, WORDS("g")), CTL_OK);
    assert_string_equal(s->out, "group g is removed\n");
    assert_int_equal(answered(s,
                              HEAD("409 Conflict") "{\"status\":\"bad_request\",\"message\":"
                                                   "\"caller 990 names it\"}",
                              cmd_group_del, false, WORDS("g")),
                     CTL_NO);
    assert_string_equal(s->err, "atelier: g: caller 990 names it\n");
}

/* --- the index ----------------------------------------------------------------------------- */

static int page_add(struct truth *t, const char *text)
{
    json_t *page = json_loads(text, 0, NULL);
    int r;

    assert_non_null(page);
    r = truth_add_page(t, page);
    json_decref(page);
    return r;
}

static void pages_follow_on_each_other(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"generation\":1,\"users\":[{\"name\":\"a\",\"uid\":-1,\"gids\":[]}],\"groups\":[]}",
        "{\"generation\":1,\"users\":[{\"name\":\"a\",\"uid\":1,\"gids\":[\"x\"]}],\"groups\":[]}",
        "{\"generation\":1,\"users\":[{\"name\":\"a\",\"uid\":2,\"gids\":[]},{\"name\":\"b\","
        "\"uid\":2,\"gids\":[]}],\"groups\":[]}",
        "{\"generation\":1,\"users\":[],\"groups\":[{\"name\":\"a\"}]}",
    };
    struct truth t = {0};

    (void)state;
    assert_int_equal(page_add(&t, "{\"generation\":1,\"users\":[{\"name\":\"a\",\"uid\":10001,"
                                  "\"gids\":[10000]}],\"groups\":[{\"name\":\"g\",\"gid\":10002},{"
                                  "\"name\":\"atelier-users\",\"gid\":10000}]}"),
                     0);
    assert_int_equal(page_add(&t, "{\"generation\":1,\"users\":[{\"name\":\"b\",\"uid\":10003,"
                                  "\"gids\":[10000,10002]}],\"groups\":[]}"),
                     0);
    assert_int_equal(t.user_count, 2);
    assert_int_equal(t.users[1].gids[1], 10002);
    assert_int_equal(t.groups[0].gid, 10000);
    assert_int_equal(page_add(&t, "{\"generation\":2,\"users\":[],\"groups\":[]}"), -ESTALE);
    truth_done(&t);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(page_add(&t, bad[i]), -EINVAL);
        truth_done(&t);
    }
}

struct noted {
    char text[4096];
};

static void on_difference(void *arg, const char *question, const char *registry, const char *nss)
{
    struct noted *n = arg;
    size_t used = strlen(n->text);

    (void)snprintf(n->text + used, sizeof(n->text) - used, "%s|%s|%s\n", question, registry, nss);
}

/* The host's own sources are asked: root is somebody else there, and the other does not exist. */
static void both_sides_of_a_difference_are_whole_lines(void **state)
{
    struct noted noted = {0};
    const struct differences d = {.one = on_difference, .arg = &noted};
    struct truth t = {0};

    (void)state;
    assert_int_equal(page_add(&t, "{\"generation\":1,\"users\":[{\"name\":\"root\",\"uid\":59999,"
                                  "\"gids\":[59998]}],\"groups\":[{\"name\":\"no-such-group\","
                                  "\"gid\":59998}]}"),
                     0);
    compare_host(&t, &d);
    truth_done(&t);
    assert_non_null(strstr(noted.text, "host: passwd root|root:*:59999:59999::" ATELIER_HOMES_DIR
                                       "/root:" ATELIER_PROGRAMS_DIR "/shell|root:x:0:0:"));
    assert_non_null(strstr(noted.text, "host: passwd 59999|root:*:59999:59999::" ATELIER_HOMES_DIR
                                       "/root:" ATELIER_PROGRAMS_DIR "/shell|nobody\n"));
    assert_non_null(strstr(noted.text, "host: group root|root:*:59999:|root:x:0:"));
    assert_non_null(strstr(noted.text, "host: groups of root|in group 59998|not in it\n"));
    assert_non_null(strstr(noted.text, "host: group 59998|no-such-group:*:59998:|nobody\n"));
}

static void an_index_that_cannot_be_read_is_no_agreement(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s,
                              HEAD("403 Forbidden") "{\"status\":\"not_allowed\",\"message\":"
                                                    "\"no\"}",
                              cmd_index_verify, false, WORDS(NULL)),
                     CTL_NOPERM);
    assert_memory_equal(s->request, "GET /v1/index/0 HTTP/1.1\r\n", 26);
    /* It says that there is more, but does not go on. */
    assert_int_equal(answered(s, OK "{\"generation\":1,\"users\":[],\"groups\":[],\"more\":true}",
                              cmd_index_verify, false, WORDS(NULL)),
                     CTL_INTERNAL);
    assert_int_equal(answered(s, OK "{\"generation\":4,\"users\":2,\"groups\":1}",
                              cmd_index_rebuild, false, WORDS(NULL)),
                     CTL_OK);
    assert_string_equal(s->out, "2 users, 1 groups, generation 4\n");
}

/* --- backup -------------------------------------------------------------------------------- */

static void a_backup_overwrites_nothing_and_a_failed_one_leaves_nothing(void **state)
{
    struct scene *s = *state;
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/backup", s->dir);
    assert_int_equal(answered(s, BUSY, cmd_backup, false, WORDS(path)), CTL_BUSY);
    assert_null(fopen(path, "re"));
    assert_int_equal(answered(s,
                              OK "{\"file\":\"../x\",\"bytes\":1,\"generation\":1,\"users\":1,"
                                 "\"groups\":1}",
                              cmd_backup, false, WORDS(path)),
                     CTL_INTERNAL);
    assert_null(fopen(path, "re"));
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fclose(f);
    assert_int_equal(command(s, cmd_backup, false, WORDS(path)), CTL_NO);
    assert_non_null(strstr(s->err, "a backup does not overwrite anything"));
    assert_int_equal(remove(path), 0);
    assert_int_equal(command(s, cmd_restore, false, WORDS(path)), CTL_USAGE);
    assert_non_null(strstr(s->err, "No such file"));
}

/* The arguments are those of a rehearsal, of a call without a question, or of one with. */
static int restore_agreed(struct options *opt, int argc, char **argv)
{
    const struct restore_args args = {.opt = opt, .file = argv[1], .is_yes = argc > 2};

    return (int)restore_do(&args);
}

static int restore_rehearsed(struct options *opt, int argc, char **argv)
{
    const struct restore_args args = {.opt = opt, .file = argv[1], .is_dry_run = true};

    (void)argc;
    return (int)restore_do(&args);
}

#define PLAN                                                                                       \
    "\"users\":3,\"groups\":1,\"links_revoked\":2,\"gone\":[{\"name\":\"late\",\"uid\":10009}],"   \
    "\"back\":[{\"name\":\"alice\",\"uid\":10002}],\"locked\":[{\"name\":\"bob\",\"uid\":10003}]," \
    "\"callers_dropped\":[{\"uid\":4294967294,\"verbs\":[\"users\",\"runs\"],\"groups\":["         \
    "\"g\\u001b\"]}],\"digest\":\"d1\","

static void a_restore_shows_who_gets_what_back(void **state)
{
    struct scene *s = *state;

    assert_int_equal(answered(s, OK "{\"dry_run\":true," PLAN "\"kept\":null}", restore_rehearsed,
                              false, WORDS("f")),
                     CTL_OK);
    assert_non_null(strstr(s->request, "{\"dry_run\":true}"));
    assert_string_equal(
        s->out,
        "3 users, 1 groups; 2 open links revoked\n"
        "gone, as they came after the backup: 1\n"
        "    late     10009\n"
        "    their homes stay; an account that was adopted does not become a local one "
        "again\n"
        "come back, as they were removed after the backup, but locked ('atelier user unlock "
        "NAME' lets them in): 1\n"
        "    alice    10002\n"
        "stay locked, as they are now: 1\n"
        "    bob      10003\n"
        "programs that do not get the API back, and what would give it to them: 1\n"
        "    atelier caller add 4294967294 --group g\\x1b --verb users --verb runs\n"
        "homes are in no backup: they stay as they are\n");
    /* An api that does not say who comes back is not believed. */
    assert_int_equal(answered(s,
                              OK "{\"dry_run\":true,\"users\":3,\"groups\":1,\"links_revoked\":2,"
                                 "\"gone\":[],\"digest\":\"d1\",\"kept\":null}",
                              restore_rehearsed, false, WORDS("f")),
                     CTL_INTERNAL);
}

static void what_is_restored_is_what_was_shown(void **state)
{
    static const char rehearsed[] = OK "{\"dry_run\":true," PLAN "\"kept\":null}";
    static const char done[] = OK "{\"dry_run\":false," PLAN "\"kept\":\"before.db\"}";
    struct scene *s = *state;
    const char *second;

    assert_int_equal(
        answered_all(s, ANSWERS(rehearsed, done), restore_agreed, false, WORDS("f", "-y")), CTL_OK);
    second = strstr(s->request + 10, "POST /v1/restore");
    assert_non_null(second);
    assert_non_null(strstr(second, "{\"dry_run\":false,\"digest\":\"d1\"}"));
    /* Once. */
    assert_null(strstr(strstr(s->out, "stay locked") + 1, "stay locked"));
    assert_non_null(strstr(s->out, "restored; the state before is kept: " ATELIER_STATE_DIR
                                   "/registry/before.db\n"));
    /* The file is another one by now. */
    assert_int_equal(
        answered_all(s,
                     ANSWERS(rehearsed,
                             HEAD("400 Bad Request") "{\"status\":"
                                                     "\"bad_request\",\"field\":\"digest\","
                                                     "\"message\":\"the file is another one\"}"),
                     restore_agreed, false, WORDS("f", "-y")),
        CTL_USAGE);
    assert_non_null(strstr(s->err, "the file is another one"));
    assert_null(strstr(s->out, "restored"));
    /* Somebody came between. */
    assert_int_equal(answered_all(s,
                                  ANSWERS(rehearsed, OK "{\"dry_run\":false,\"users\":9,"
                                                        "\"groups\":1,\"links_revoked\":0,"
                                                        "\"gone\":[],\"back\":[],\"locked\":[],"
                                                        "\"callers_dropped\":[],\"digest\":\"d1\","
                                                        "\"kept\":\"before.db\"}"),
                                  restore_agreed, false, WORDS("f", "-y")),
                     CTL_OK);
    assert_non_null(strstr(s->out, "meanwhile something changed, and this was done:\n9 users"));
    /* One object for a program. */
    assert_int_equal(
        answered_all(s, ANSWERS(rehearsed, done), restore_agreed, true, WORDS("f", "-y")), CTL_OK);
    assert_memory_equal(s->out, "{\"dry_run\":false,", 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_changed_user_is_one_line),
        TEST(a_user_is_shown_with_comment_and_shell),
        TEST(a_removed_user_is_asked_for_until_nothing_is_busy),
        TEST(a_removed_user_with_a_foreign_uid_is_not_believed),
        TEST(groups_are_shown_changed_and_removed),
        cmocka_unit_test(pages_follow_on_each_other),
        cmocka_unit_test(both_sides_of_a_difference_are_whole_lines),
        TEST(an_index_that_cannot_be_read_is_no_agreement),
        TEST(a_backup_overwrites_nothing_and_a_failed_one_leaves_nothing),
        TEST(a_restore_shows_who_gets_what_back),
        TEST(what_is_restored_is_what_was_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
