/* SPDX-License-Identifier: ISC */
/* test_registry_restore.c - what a copy does not bring back: rights, ids of others, rows that are
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

static const struct restore_how really = {.taken = taken_none};

/* --- rights that were taken away ------------------------------------------------------------- */

struct told {
    char text[512];
};

static void told_add(struct told *told, const char *what, const char *name, uint32_t id)
{
    size_t len = strlen(told->text);

    (void)snprintf(told->text + len, sizeof(told->text) - len, "%s %s %u\n", what, name, id);
}

static int user_told(void *arg, enum restore_note what, const struct user *user)
{
    static const char *const words[] = {
        [RESTORE_GONE] = "gone", [RESTORE_BACK] = "back", [RESTORE_LOCKED] = "locked"};

    told_add(arg, words[what], user->name, user->uid);
    return 0;
}

static int dropped_told(void *arg, const struct caller *caller)
{
    assert_int_equal(caller->group_count, 1);
    told_add(arg, "dropped", caller->groups[0].name, caller->uid);
    return 0;
}

static int caller_told(void *arg, const struct caller *caller)
{
    char what[32];

    (void)snprintf(what, sizeof(what), "%#x %u", caller->verbs, caller->group_count);
    told_add(arg, what, caller->group_count > 0 ? caller->groups[0].name : "-", caller->uid);
    return 0;
}

static void caller_make(struct fixture *f, uint32_t uid, uint32_t verbs, const struct group *g,
                        uint32_t n)
{
    struct caller caller = {.uid = uid, .verbs = verbs, .group_count = n};

    for (uint32_t i = 0; i < n; i++)
        caller.groups[i] = g[i];
    assert_int_equal(caller_put(f->reg, &caller), 0);
}

static void state_is(struct fixture *f, const char *name, enum user_state state)
{
    struct user u;

    assert_int_equal(user_by_name(f->reg, name, &u), 0);
    if (u.state != state)
        fail_msg("%s is %s", name, user_state_key(u.state));
}

/*
 * What was taken away after the copy was made is not given back without a word: by the copy alone
 * bob would be unlocked, alice be there, and whoever has the uid 1001 by now be a caller.
 */
static void right_that_was_taken_away_stays_away(void **state)
{
    static const char *const all[] = {"ada", "bob", "carol", "dora"};
    struct fixture *f = *state;
    struct told told = {""}, callers = {""};
    struct restore_how how = {.is_rehearsal = true,
                              .taken = taken_none,
                              .on_user = user_told,
                              .on_dropped = dropped_told,
                              .arg = &told};
    struct registry_restored back;
    struct group g[2];
    uint32_t links;
    char email[40];

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        (void)snprintf(email, sizeof(email), "%s@example.org", all[i]);
        (void)user_new(f, email); /* 10001 to 10004 */
    }
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g[0]), 0); /* 10005 */
    caller_make(f, 1001, 7, g, 1);
    caller_make(f, 1002, 7, g, 1);
    assert_int_equal(user_lock(f->reg, 10004, true), 0);
    backup_take(f);
    assert_int_equal(user_delete(f->reg, 10001, &links), 0);
    assert_int_equal(user_lock(f->reg, 10002, true), 0);
    assert_int_equal(user_set_expiry(f->reg, 10003, 1), 0);
    assert_int_equal(user_lock(f->reg, 10004, false), 0);
    (void)user_new(f, "eve@example.org");                                           /* 10006 */
    assert_int_equal(group_create(f->reg, "course-b", taken_none, NULL, &g[1]), 0); /* 10007 */
    assert_int_equal(caller_del(f->reg, 1001), 0);
    caller_make(f, 1002, 1, g, 2);
    caller_make(f, 1003, 2, &g[1], 1);
    for (int rehearsal = 1; rehearsal >= 0; rehearsal--) {
        told.text[0] = '\0';
        how.is_rehearsal = rehearsal;
        how.digest = rehearsal ? NULL : back.digest;
        file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
        assert_int_equal(registry_restore(f->reg, &how, &back), 0);
        assert_string_equal(told.text, "gone eve 10006\nback ada 10001\nlocked bob 10002\n"
                                       "locked carol 10003\ndropped course-a 1001\n");
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        state_is(f, all[i], USER_STATE_LOCKED);
    assert_int_equal(caller_list(f->reg, caller_told, &callers), 0);
    assert_string_equal(callers.text, "0x1 1 course-a 1002\n0x2 0 - 1003\n");
    assert_true(index_agrees(f->dir, f->reg));
    /* They are told each time, and nobody who was not is locked. */
    assert_int_equal(user_lock(f->reg, 10001, false), 0);
    assert_int_equal(user_lock(f->reg, 10002, false), 0);
    assert_int_equal(user_lock(f->reg, 10003, false), 0);
    told.text[0] = '\0';
    how.digest = NULL;
    file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
    assert_int_equal(registry_restore(f->reg, &how, &back), 0);
    assert_string_equal(told.text, "dropped course-a 1001\n");
    state_is(f, "ada", USER_STATE_RESERVED);
    state_is(f, "carol", USER_STATE_RESERVED);
    state_is(f, "dora", USER_STATE_LOCKED);
}

/* On a host that never had them nobody was deleted. */
static void registry_of_a_lost_host_comes_back_unlocked(void **state)
{
    struct fixture *f = *state;
    struct told told = {""};
    const struct restore_how how = {.taken = taken_none, .on_user = user_told, .arg = &told};
    struct registry_restored back;

    (void)user_new(f, "ada@example.org");
    backup_take(f);
    fixture_close(f);
    assert_int_equal(unlink(path_of(f, "registry/registry.db")), 0);
    assert_int_equal(unlink(path_of(f, "ledger/issued")), 0);
    fixture_open(f);
    file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
    assert_int_equal(registry_restore(f->reg, &how, &back), 0);
    assert_string_equal(told.text, "");
    state_is(f, "ada", USER_STATE_RESERVED);
}

/* --- who has it by now ----------------------------------------------------------------------- */

struct other {
    const char *name;
    uint32_t id;
    int last; /* the answer to the last question */
    unsigned asked;
};

static int other_taken(void *arg, const char *name, uint32_t id)
{
    struct other *other = arg;

    if (!name && id == 0)
        return other->last;
    other->asked++;
    return name ? other->name && strcmp(name, other->name) == 0 : id == other->id;
}

static void id_or_name_that_the_host_has_by_now_is_refused(void **state)
{
    static const struct {
        struct other other;
        int expected;
        const char *sentence;
    } cases[] = {
        {{.id = 10001}, -EEXIST, "id 10001 of zed"},
        {{.name = "zed"}, -EEXIST, "the name of zed"},
        {{.id = 10003}, -EEXIST, "id 10003 of course-a"},
        {{.name = "course-a"}, -EEXIST, "the name of course-a"},
        {{.name = "winter"}, -EEXIST, "the name of winter"},
        {{.last = -ETIMEDOUT}, -ETIMEDOUT, "not stored"},
        /* Who is here is ours: the host is not asked for them, as NSS would name ourselves. */
        {{.id = 10002}, 0, NULL},
        {{.name = "karl"}, 0, NULL},
        {{.id = 10004}, 0, NULL},
    };
    struct fixture *f = *state;
    struct registry_restored back;
    struct group g[2];
    uint32_t links;

    (void)user_new(f, "zed@example.org");                                           /* 10001 */
    (void)user_new(f, "karl@example.org");                                          /* 10002 */
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g[0]), 0); /* 10003 */
    assert_int_equal(group_create(f->reg, "winter", taken_none, NULL, &g[1]), 0);   /* 10004 */
    backup_take(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct other other = cases[i].other;
        const struct restore_how how = {.taken = other_taken, .host = &other};
        char season[NAME_SIZE];
        struct user u;
        int r;

        (void)snprintf(season, sizeof(season), "season-%zu", i);
        if (user_by_name(f->reg, "zed", &u) == 0)
            assert_int_equal(user_delete(f->reg, 10001, &links), 0);
        if (group_by_name(f->reg, "course-a", &g[0]) == 0)
            assert_int_equal(group_delete(f->reg, 10003), 0);
        if (group_by_name(f->reg, "winter", &g[0]) == 0)
            assert_int_equal(group_rename(f->reg, 10004, season, taken_none, NULL), 0);
        file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
        r = registry_restore(f->reg, &how, &back);
        if (r != cases[i].expected || (r < 0 && !strstr(registry_error(f->reg), cases[i].sentence)))
            fail_msg("case %zu: %d: %s", i, r, registry_error(f->reg));
        assert_int_equal(user_by_name(f->reg, "zed", &u), r == 0 ? 0 : -ENOENT);
        if (r == 0)
            assert_int_equal(other.asked, 5);
        assert_true(index_agrees(f->dir, f->reg));
    }
}

static void reserved_name_does_not_come_in_by_a_copy(void **state)
{
    struct fixture *f = *state;
    struct registry_restored back;

    backup_take(f);
    (void)copy_sql(path_of(f, "kept.db"),
                   "INSERT INTO tombstones VALUES (20001, 'group', 'docker');"
                   "INSERT INTO groups VALUES (20001, 'docker', 1)");
    assert_int_equal(restore_kept(f, false, &back), -EEXIST);
    assert_non_null(strstr(registry_error(f->reg), "docker"));
    backup_take(f);
    (void)copy_sql(path_of(f, "kept.db"), "INSERT INTO tombstones VALUES (20001, 'group', 'dock');"
                                          "INSERT INTO groups VALUES (20001, 'dock', 1)");
    assert_int_equal(restored_kept(f).groups, 2);
}

/* --- which file, and was it taken ------------------------------------------------------------ */

static void file_that_was_not_looked_at_is_refused(void **state)
{
    struct fixture *f = *state;
    struct restore_how how = {.taken = taken_none, .is_rehearsal = true};
    struct registry_restored shown, back;
    struct user u;

    (void)user_new(f, "ada@example.org");
    backup_take(f);
    file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
    assert_int_equal(registry_restore(f->reg, &how, &shown), 0);
    assert_int_equal(strlen(shown.digest), 64);
    assert_int_equal(registry_restore(f->reg, &how, &back), 0);
    assert_string_equal(shown.digest, back.digest);
    (void)user_new(f, "karl@example.org");
    /* One byte of a text is enough. */
    (void)copy_sql(path_of(f, RESTORE_PATH), "UPDATE users SET comment = 'x'");
    how = (struct restore_how){.taken = taken_none, .digest = shown.digest};
    assert_int_equal(registry_restore(f->reg, &how, &back), -ESTALE);
    assert_int_equal(user_by_name(f->reg, "karl", &u), 0);
    file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
    assert_int_equal(registry_restore(f->reg, &how, &back), 0);
    assert_string_equal(shown.digest, back.digest);
    assert_int_equal(user_by_name(f->reg, "karl", &u), -ENOENT);
}

/* A directory in the place of the index: all is stored, and then something fails. */
static void restore_that_is_stored_says_so(void **state)
{
    struct fixture *f = *state;
    struct registry_restored back = {0};
    const char *index = path_of(f, "nss/index");
    struct user u;

    (void)user_new(f, "ada@example.org");
    backup_take(f);
    (void)user_new(f, "karl@example.org");
    assert_int_equal(unlink(index), 0);
    assert_int_equal(mkdir(index, 0700), 0);
    assert_int_equal(restore_kept(f, false, &back), -EINPROGRESS);
    assert_non_null(strstr(registry_error(f->reg), "stored"));
    assert_int_equal(back.users, 1);
    assert_int_equal(back.users_gone, 1);
    assert_int_not_equal(back.kept[0], 0);
    assert_int_equal(user_by_name(f->reg, "karl", &u), -ENOENT);
    assert_int_equal(rmdir(index), 0);
    assert_int_equal(user_new(f, "eve@example.org").uid, 10003);
    assert_true(index_agrees(f->dir, f->reg));
}

/* --- rows that are none ---------------------------------------------------------------------- */

#define USER_ROW(uid, name, more)                                                                  \
    "INSERT INTO tombstones VALUES (" uid ", 'user', '" name "');"                                 \
    "INSERT INTO users VALUES (" uid ", '" name "', " more ")"

/*
 * What no code of ours would have stored, in tables that are whole. Each would be refused later, by
 * the ledger, the index or a look-up, when the old state is gone.
 */
static void row_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = {
        USER_ROW("20001", "Bad Name", "NULL, 'active', 1, 1, 0, 'h', '', ''"),
        "INSERT INTO tombstones VALUES (20001, 'user', 'Bad Name')",
        "INSERT INTO tombstones VALUES (20001, 'user', 'x' || char(10) || '10007 user y')",
        "INSERT INTO tombstones VALUES (20001, 'user', '')",
        "INSERT INTO tombstones VALUES (20001, 'user', cast(x'61620063' AS TEXT))",
        "INSERT INTO used_names VALUES (10002, 'Bad Name', 'group')",
        "INSERT INTO used_names VALUES (10001, 'ada-two', 'group')",
        "INSERT INTO used_names VALUES (20001, 'eve', 'user')",
        "INSERT INTO used_names VALUES (20001, 'ada', 'group')",
        "INSERT INTO used_names VALUES (20001, 'twice', 'group'), (20002, 'twice', 'group')",
        "UPDATE users SET email = 'no address'",
        "UPDATE users SET comment = 'a:b'",
        "UPDATE users SET login_shell = '/bin/sh -c id'",
        "UPDATE users SET expires_s = -1",
        "UPDATE users SET created_s = 9000000000000000000",
        "INSERT INTO external_ids VALUES (7, char(7), 10001)",
        "INSERT INTO callers VALUES (1001, 'users,everything', 1)",
        "WITH RECURSIVE n (i) AS (SELECT 20000 UNION ALL SELECT i + 1 FROM n WHERE i < 20040)"
        " INSERT INTO tombstones SELECT i, 'group', 'g' || i FROM n;"
        "INSERT INTO groups SELECT id, name, 1 FROM tombstones WHERE id >= 20000;"
        "INSERT INTO members SELECT 10001, id FROM tombstones WHERE id >= 20000",
        "INSERT INTO sessions VALUES ('s', 10001, 'ssh', printf('%0100d', 0), '', 1, 0, '', '')",
        "UPDATE meta SET generation = 9223372036854775806",
    };
    static const char good[] =
        USER_ROW("20001", "good-name", "'a@b.de', 'active', 1, 1, 0, 'h', 'good', '/bin/sh'");
    struct fixture *f = *state;
    struct registry_restored back = {0};
    struct registry_counts before, after;
    struct group g;
    char *issued[2];

    (void)user_new(f, "ada@example.org");                                        /* 10001 */
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0); /* 10002 */
    backup_take(f);
    assert_int_equal(registry_count(f->reg, &before), 0);
    issued[0] = file_text(path_of(f, "ledger/issued"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (int rehearsal = 1; rehearsal >= 0; rehearsal--) {
            struct restore_how how = really;
            int r;

            file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
            (void)copy_sql(path_of(f, RESTORE_PATH), bad[i]);
            how.is_rehearsal = rehearsal;
            r = registry_restore(f->reg, &how, &back);
            if (r != -EBADMSG || !strstr(registry_error(f->reg), REGISTRY_RESTORE_NAME))
                fail_msg("%s: %d: %s", bad[i], r, r < 0 ? registry_error(f->reg) : "taken");
        }
        assert_int_equal(registry_count(f->reg, &after), 0);
        assert_true(counts_equal(&before, &after));
    }
    issued[1] = file_text(path_of(f, "ledger/issued"));
    assert_string_equal(issued[0], issued[1]);
    free(issued[0]);
    free(issued[1]);
    /* The control, and everything goes on. */
    (void)copy_sql(path_of(f, "kept.db"), good);
    assert_int_equal(restored_kept(f).users, 2);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(user_new(f, "eve@example.org").uid, 10003);
}

/* A counter at its end would never give an id out again, nor publish. */
static void counters_of_a_copy_are_not_believed(void **state)
{
    struct fixture *f = *state;
    uint64_t before;

    (void)user_new(f, "ada@example.org"); /* 10001 */
    backup_take(f);
    (void)copy_sql(path_of(f, "kept.db"), "INSERT INTO tombstones VALUES (10002, 'user', 'eve');"
                                          "UPDATE meta SET next_id = 59900, generation = 1 << 62");
    for (int again = 0; again < 2; again++) {
        before = generation_of(f);
        (void)restored_kept(f);
        assert_int_equal(generation_of(f), before + 1);
        assert_int_equal(copy_sql(path_of(f, "kept.db"), "SELECT next_id FROM meta"), 59900);
    }
    assert_int_equal(user_new(f, "karl@example.org").uid, 10003);
    backup_take(f);
    (void)restored_kept(f);
    assert_int_equal(user_new(f, "karla@example.org").uid, 10004);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(right_that_was_taken_away_stays_away),
        REGISTRY_TEST(registry_of_a_lost_host_comes_back_unlocked),
        REGISTRY_TEST(id_or_name_that_the_host_has_by_now_is_refused),
        REGISTRY_TEST(reserved_name_does_not_come_in_by_a_copy),
        REGISTRY_TEST(file_that_was_not_looked_at_is_refused),
        REGISTRY_TEST(restore_that_is_stored_says_so),
        REGISTRY_TEST(row_that_is_none_is_refused),
        REGISTRY_TEST(counters_of_a_copy_are_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
