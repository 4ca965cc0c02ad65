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

/* And what version 2 had besides. */
static const char version_2[] =
    "CREATE TABLE links ("
    " link_id TEXT PRIMARY KEY NOT NULL,"
    " uid INTEGER NOT NULL REFERENCES users (uid),"
    " caller_uid INTEGER NOT NULL CHECK (caller_uid BETWEEN 0 AND 4294967294),"
    " purpose TEXT NOT NULL CHECK (purpose IN ('any', 'ssh', 'web')),"
    " token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),"
    " code_hash BLOB NOT NULL UNIQUE CHECK (length(code_hash) = 32),"
    " created_s INTEGER NOT NULL CHECK (created_s > 0),"
    " expires_s INTEGER NOT NULL CHECK (expires_s > created_s),"
    " used_s INTEGER NOT NULL CHECK (used_s >= 0),"
    " revoked_s INTEGER NOT NULL CHECK (revoked_s >= 0),"
    " CHECK (token_hash <> code_hash),"
    " CHECK (used_s = 0 OR revoked_s = 0)) STRICT;"
    "CREATE INDEX links_by_age ON links (created_s);"
    "CREATE INDEX links_by_user ON links (uid);"
    "CREATE TRIGGER links_have_new_secrets BEFORE INSERT ON links"
    " WHEN EXISTS (SELECT 1 FROM links WHERE link_id = new.link_id"
    "  OR token_hash IN (new.token_hash, new.code_hash)"
    "  OR code_hash IN (new.token_hash, new.code_hash))"
    " BEGIN SELECT RAISE(ABORT, 'a link would be replaced'); END;"
    "CREATE TRIGGER links_are_used_once BEFORE UPDATE OF used_s, revoked_s ON links"
    " WHEN old.used_s <> 0 OR old.revoked_s <> 0"
    " BEGIN SELECT RAISE(ABORT, 'a link would be used again'); END;"
    "CREATE TRIGGER links_are_fixed BEFORE UPDATE ON links"
    " WHEN new.link_id IS NOT old.link_id OR new.uid IS NOT old.uid"
    "  OR new.caller_uid IS NOT old.caller_uid OR new.purpose IS NOT old.purpose"
    "  OR new.token_hash IS NOT old.token_hash OR new.code_hash IS NOT old.code_hash"
    "  OR new.created_s IS NOT old.created_s OR new.expires_s IS NOT old.expires_s"
    " BEGIN SELECT RAISE(ABORT, 'a link would become another'); END;"
    "CREATE TABLE sessions ("
    " session_id TEXT PRIMARY KEY NOT NULL,"
    " uid INTEGER NOT NULL,"
    " service TEXT NOT NULL,"
    " line TEXT NOT NULL,"
    " rhost TEXT NOT NULL,"
    " started_us INTEGER NOT NULL,"
    " ended_us INTEGER NOT NULL,"
    " end TEXT NOT NULL) STRICT;"
    "CREATE INDEX sessions_by_user ON sessions (uid, started_us);"
    "CREATE INDEX sessions_open ON sessions (session_id) WHERE ended_us = 0;"
    "CREATE INDEX users_by_expiry ON users (expires_s) WHERE expires_s > 0;"
    "PRAGMA user_version = 2;";

static const char version_2_rows[] =
    "INSERT INTO links VALUES ('0123456789abcdef', 10001, 33, 'ssh', zeroblob(32),"
    "  randomblob(32), 1700000000, 1700000900, 1700000001, 0),"
    " ('fedcba9876543210', 10002, 0, 'any', randomblob(32), randomblob(32), 1700000000,"
    "  4000000000, 0, 0);"
    "INSERT INTO sessions VALUES ('0123456789abcdef0123456789abcdef', 10001, 'atelier-sshd',"
    "  'atelier/1', '198.51.100.7', 6, 7, 'closed');";

/* All rows of the tables that version 2 had besides. */
static const char version_2_dump[] =
    "SELECT group_concat(t, ';') FROM ("
    " SELECT link_id || uid || caller_uid || purpose || hex(token_hash) || hex(code_hash)"
    "  || created_s || expires_s || used_s || revoked_s AS t FROM links"
    " UNION ALL SELECT session_id || uid || service || line || rhost || started_us || ended_us"
    "  || end FROM sessions)";

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
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 4);
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

static void version_2_make(struct fixture *f)
{
    version_1_make(f);
    (void)sql_value(f, version_2);
    (void)sql_value(f, version_2_rows);
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 2);
}

static void version_2_is_migrated_and_keeps_everything(void **state)
{
    struct fixture *f = *state;
    char fresh[TEXT_SIZE], before[2][TEXT_SIZE], after[TEXT_SIZE];
    struct user_spec spec = {.name = "late", .comment = "Late Comer", .shell = "/bin/zsh"};
    struct group g;
    struct user u;

    fixture_close(f);
    text_get(f, schema_dump, fresh);
    version_2_make(f);
    text_get(f, version_1_dump, before[0]);
    text_get(f, version_2_dump, before[1]);
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 4);
    text_get(f, version_1_dump, after);
    assert_string_equal(before[0], after);
    text_get(f, version_2_dump, after);
    assert_string_equal(before[1], after);
    text_get(f, schema_dump, after);
    assert_string_equal(fresh, after);

    fixture_open(f);
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(user_by_name(f->reg, "maria", &u), 0);
    assert_string_equal(u.comment, "");
    assert_string_equal(u.shell, "");
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED);
    assert_int_equal(u.uid, 10005);
    /* The names of before are in the ledger now, of who is gone too. */
    fixture_close(f);
    assert_int_equal(unlink(path_of(f, "registry/registry.db")), 0);
    fixture_open(f);
    assert_int_equal(group_create(f->reg, "gone", taken_none, NULL, &g), -EEXIST);
    assert_int_equal(user_new(f, "x@example.org").uid, 10006);
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
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 4);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(version_1_is_migrated_and_keeps_everything),
        REGISTRY_TEST(version_2_is_migrated_and_keeps_everything),
        REGISTRY_TEST(migration_that_fails_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
