/* SPDX-License-Identifier: ISC */
/* test_registry_schema.c - databases of released versions are brought to this one, or left alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

/* The tables as version 1 made them: a copy, so that an edit of the step itself is noticed. */
static const char version_1[] =
    "CREATE TABLE meta ("
    " id INTEGER PRIMARY KEY CHECK (id = 1),"
    " generation INTEGER NOT NULL CHECK (generation > 0),"
    " next_id INTEGER NOT NULL CHECK (next_id BETWEEN 10000 AND 59900),"
    " home_host TEXT NOT NULL) STRICT;"
    "CREATE TRIGGER meta_only_grows BEFORE UPDATE ON meta"
    " WHEN new.next_id < old.next_id OR new.generation < old.generation"
    " BEGIN SELECT RAISE(ABORT, 'a counter would fall'); END;"
    "CREATE TABLE tombstones ("
    " id INTEGER PRIMARY KEY CHECK (id BETWEEN 10000 AND 59899),"
    " kind TEXT NOT NULL CHECK (kind IN ('user', 'group')),"
    " name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TRIGGER tombstones_stay BEFORE DELETE ON tombstones"
    " BEGIN SELECT RAISE(ABORT, 'an id would become free'); END;"
    "CREATE TRIGGER tombstones_are_fixed BEFORE UPDATE ON tombstones"
    " BEGIN SELECT RAISE(ABORT, 'an id would become free'); END;"
    "CREATE TABLE users ("
    " uid INTEGER PRIMARY KEY REFERENCES tombstones (id),"
    " name TEXT NOT NULL UNIQUE,"
    " email TEXT CHECK (email = lower(email)),"
    " state TEXT NOT NULL"
    "  CHECK (state IN ('reserved', 'active', 'locked', 'expired', 'deleted')),"
    " shell INTEGER NOT NULL,"
    " created_s INTEGER NOT NULL,"
    " expires_s INTEGER NOT NULL,"
    " home_host TEXT NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX users_email ON users (email)"
    " WHERE email IS NOT NULL AND state <> 'deleted';"
    "CREATE TABLE external_ids ("
    " owner_uid INTEGER NOT NULL CHECK (owner_uid BETWEEN 0 AND 4294967294),"
    " external_id TEXT NOT NULL CHECK (external_id <> ''),"
    " uid INTEGER NOT NULL REFERENCES users (uid),"
    " PRIMARY KEY (owner_uid, external_id),"
    " UNIQUE (uid, owner_uid)) STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER external_ids_are_fixed BEFORE UPDATE ON external_ids"
    " BEGIN SELECT RAISE(ABORT, 'an external id would change hands'); END;"
    "CREATE TRIGGER users_deleted_free_external_ids AFTER UPDATE OF state ON users"
    " WHEN new.state = 'deleted'"
    " BEGIN DELETE FROM external_ids WHERE uid = new.uid; END;"
    "CREATE TABLE groups ("
    " gid INTEGER PRIMARY KEY REFERENCES tombstones (id),"
    " name TEXT NOT NULL UNIQUE,"
    " created_s INTEGER NOT NULL) STRICT;"
    "CREATE TABLE members ("
    " uid INTEGER NOT NULL REFERENCES users (uid),"
    " gid INTEGER NOT NULL REFERENCES groups (gid),"
    " PRIMARY KEY (uid, gid)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE callers ("
    " uid INTEGER PRIMARY KEY CHECK (uid BETWEEN 1 AND 4294967294),"
    " verbs TEXT NOT NULL,"
    " created_s INTEGER NOT NULL) STRICT;"
    "CREATE TABLE caller_groups ("
    " uid INTEGER NOT NULL REFERENCES callers (uid),"
    " gid INTEGER NOT NULL REFERENCES groups (gid),"
    " PRIMARY KEY (uid, gid)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE runs ("
    " run_id TEXT PRIMARY KEY,"
    " uid INTEGER NOT NULL,"
    " caller_uid INTEGER NOT NULL,"
    " net TEXT NOT NULL,"
    " program TEXT NOT NULL,"
    " accepted_us INTEGER NOT NULL,"
    " started_us INTEGER NOT NULL,"
    " ended_us INTEGER NOT NULL,"
    " status TEXT NOT NULL,"
    " exit_code INTEGER NOT NULL,"
    " signal INTEGER NOT NULL,"
    " cpu_us INTEGER NOT NULL,"
    " out_bytes INTEGER NOT NULL) STRICT;"
    "CREATE INDEX runs_by_user ON runs (uid, accepted_us);"
    "CREATE INDEX runs_open ON runs (run_id) WHERE ended_us = 0;"
    "PRAGMA application_id = 1096043602;"
    "PRAGMA user_version = 1;";

static const char version_1_rows[] =
    "INSERT INTO meta VALUES (1, 7, 10005, 'old-host');"
    "INSERT INTO tombstones VALUES (10000, 'group', 'atelier-users'), (10001, 'user', 'maria'),"
    " (10002, 'user', 'ada'), (10003, 'group', 'course-a'), (10004, 'user', 'gone');"
    "INSERT INTO users VALUES"
    " (10001, 'maria', 'maria@example.org', 'active', 0, 1700000000, 0, 'old-host'),"
    " (10002, 'ada', NULL, 'reserved', 0, 1700000001, 0, 'old-host'),"
    " (10004, 'gone', NULL, 'deleted', 0, 1700000002, 0, 'old-host');"
    "INSERT INTO external_ids VALUES (33, 'student-17', 10002);"
    "INSERT INTO groups VALUES (10000, 'atelier-users', 1600000000),"
    " (10003, 'course-a', 1600000001);"
    "INSERT INTO members VALUES (10001, 10000), (10002, 10000), (10002, 10003);"
    "INSERT INTO callers VALUES (33, 'users,runs', 1600000002);"
    "INSERT INTO caller_groups VALUES (33, 10003);"
    "INSERT INTO runs VALUES ('0123456789abcdef0123456789abcdef', 10001, 33, 'none', 'python3',"
    " 1, 2, 3, 'exit', 0, 0, 4, 5);";

/* All rows of all tables of version 1 as one text. */
static const char version_1_dump[] =
    "SELECT group_concat(t, ';') FROM ("
    " SELECT 'm' || next_id || home_host AS t FROM meta"
    " UNION ALL SELECT id || kind || name FROM tombstones"
    " UNION ALL SELECT uid || name || ifnull(email, '-') || state || shell || created_s ||"
    "  expires_s || home_host FROM users"
    " UNION ALL SELECT owner_uid || external_id || uid FROM external_ids"
    " UNION ALL SELECT gid || name || created_s FROM groups"
    " UNION ALL SELECT uid || ' ' || gid FROM members"
    " UNION ALL SELECT uid || verbs || created_s FROM callers"
    " UNION ALL SELECT uid || '-' || gid FROM caller_groups"
    " UNION ALL SELECT run_id || uid || caller_uid || net || program || accepted_us || started_us"
    "  || ended_us || status || exit_code || signal || cpu_us || out_bytes FROM runs)";

static const char schema_dump[] =
    "SELECT group_concat(s, ';') FROM (SELECT type || name || ifnull(sql, '') AS s"
    " FROM sqlite_schema ORDER BY type, name)";

#define TEXT_SIZE 16384

static void text_get(const struct fixture *f, const char *sql, char ret_text[TEXT_SIZE])
{
    sqlite3_stmt *s = NULL;
    sqlite3 *db = NULL;

    assert_null(f->reg);
    assert_int_equal(sqlite3_open(path_of(f, "registry/registry.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_int_equal(str_copy(ret_text, TEXT_SIZE, (const char *)sqlite3_column_text(s, 0)), 0);
    assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* In the place of the fixture's database, one as version 1 left it. */
static void version_1_make(struct fixture *f)
{
    sqlite3 *db = NULL;

    fixture_close(f);
    assert_int_equal(unlink(path_of(f, "registry/registry.db")), 0);
    assert_int_equal(sqlite3_open(path_of(f, "registry/registry.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, version_1, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, version_1_rows, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 1);
}

static void version_1_is_migrated_and_keeps_everything(void **state)
{
    struct fixture *f = *state;
    char fresh[TEXT_SIZE], before[TEXT_SIZE], after[TEXT_SIZE];
    struct user_spec spec = {.external_id = "student-17", .owner_uid = 33};
    struct user u;
    struct caller c;

    fixture_close(f);
    text_get(f, schema_dump, fresh);
    version_1_make(f);
    text_get(f, version_1_dump, before);
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 2);
    assert_int_equal(sql_value(f, "PRAGMA application_id"), 1096043602);
    text_get(f, version_1_dump, after);
    assert_string_equal(before, after);
    text_get(f, schema_dump, after);
    assert_string_equal(fresh, after); /* old and new databases do not differ */

    fixture_open(f);
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(user_by_email(f->reg, "maria@example.org", &u), 0);
    assert_int_equal(u.uid, 10001);
    assert_int_equal(u.state, USER_STATE_ACTIVE);
    assert_int_equal(u.created_s, 1700000000);
    assert_int_equal(u.expires_s, 0);
    assert_int_equal(user_try(f, &spec, &u), USER_EXISTED);
    assert_int_equal(u.uid, 10002);
    assert_int_equal(u.state, USER_STATE_RESERVED);
    assert_int_equal(caller_get(f->reg, 33, &c), 0);
    assert_int_equal(c.group_count, 1);
    assert_int_equal(user_by_name(f->reg, "gone", &u), -ENOENT);
    assert_int_equal(user_new(f, "late@example.org").uid, 10005);
    /* And what is new works on what is old. */
    assert_int_equal(link_store(f->reg, 1, 10002, LINK_PURPOSE_ANY), 0);
    assert_int_equal(link_try(f->reg, 1, 'c', "ada", LINK_MADE_S), LINK_ACCEPTED);
    assert_int_equal(user_by_uid(f->reg, 10002, &u), 0);
    assert_int_equal(u.state, USER_STATE_ACTIVE);
}

/* The step fails when half of it is done. */
static void migration_that_fails_changes_nothing(void **state)
{
    struct fixture *f = *state;
    char before[TEXT_SIZE], after[TEXT_SIZE];
    struct registry *reg = NULL;

    version_1_make(f);
    (void)sql_value(f, "CREATE TABLE sessions (stranger TEXT)");
    text_get(f, schema_dump, before);
    assert_true(registry_open(f->dir, NULL, &reg) < 0);
    assert_null(reg);
    assert_non_null(strstr(registry_error(NULL), "make the tables"));
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 1);
    text_get(f, schema_dump, after);
    assert_string_equal(before, after);
    (void)sql_value(f, "DROP TABLE sessions");
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 2);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(version_1_is_migrated_and_keeps_everything),
        REGISTRY_TEST(migration_that_fails_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
