/* SPDX-License-Identifier: ISC */
/* test_registry.c - opening the registry: whose files, which schema, which index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/index_format.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define TMP_INDEX "nss/.index.tmp"

static unsigned mode_of(const struct fixture *f, const char *name)
{
    struct stat st;

    assert_int_equal(lstat(path_of(f, name), &st), 0);
    return st.st_mode & 07777;
}

static bool exists(const struct fixture *f, const char *name)
{
    return access(path_of(f, name), F_OK) == 0;
}

static void open_gives(const struct fixture *f, int expected)
{
    struct registry *reg = NULL;
    int r = registry_open(f->dir, NULL, &reg);

    if (r != expected)
        fail_msg("%d instead of %d: %s", r, expected, registry_error(NULL));
    if (r < 0)
        assert_null(reg);
    registry_close(reg);
}

static void new_registry_has_private_files_and_a_public_index(void **state)
{
    struct fixture *f = *state;
    struct registry_counts counts;
    struct group g;

    (void)user_new(f, "maria@example.org");
    assert_int_equal(mode_of(f, "registry/registry.db"), 0600);
    assert_int_equal(mode_of(f, "registry/registry.db-wal"), 0600);
    assert_int_equal(mode_of(f, "registry/lock"), 0600);
    assert_int_equal(mode_of(f, "nss/index"), 0644);
    assert_false(exists(f, "registry/registry.db-shm"));
    assert_false(exists(f, TMP_INDEX));
    assert_int_equal(group_by_name(f->reg, GROUP_ALL_USERS, &g), 0);
    assert_int_equal(g.gid, ID_ALLOC_MIN);
    assert_int_equal(registry_count(f->reg, &counts), 0);
    assert_int_equal(counts.users, 1);
    assert_int_equal(counts.groups, 1);
    assert_int_equal(counts.ids_free, ID_ALLOC_MAX - ID_ALLOC_MIN + 1 - 2);
}

static void directories_of_others_are_refused(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    assert_int_equal(chmod(path_of(f, "registry"), 0750), 0);
    open_gives(f, -EPERM);
    assert_non_null(strstr(registry_error(NULL), "registry/ has mode 0750"));
    assert_int_equal(chmod(path_of(f, "registry"), 0701), 0);
    open_gives(f, -EPERM);
    assert_int_equal(chmod(path_of(f, "registry"), 0700), 0);
    assert_int_equal(chmod(path_of(f, "nss"), 0775), 0);
    open_gives(f, -EPERM);
    assert_int_equal(chmod(path_of(f, "nss"), 0755), 0);
    open_gives(f, 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path_of(f, "nss"), 12345, (gid_t)-1), 0);
        open_gives(f, -EPERM);
        assert_int_equal(chown(path_of(f, "nss"), 0, (gid_t)-1), 0);
        open_gives(f, 0);
    }
}

static void missing_directories_are_refused(void **state)
{
    struct fixture *f = *state;
    struct registry *reg = NULL;

    assert_int_equal(registry_open("no-such-directory", NULL, &reg), -ENOENT);
    fixture_close(f);
    assert_int_equal(rename(path_of(f, "registry"), path_of(f, "real")), 0);
    open_gives(f, -ENOENT);
    assert_int_equal(symlink("real", path_of(f, "registry")), 0);
    open_gives(f, -ENOTDIR);
    assert_int_equal(unlink(path_of(f, "registry")), 0);
    assert_int_equal(rename(path_of(f, "real"), path_of(f, "registry")), 0);
    open_gives(f, 0);
}

static void database_that_is_a_link_is_refused(void **state)
{
    struct fixture *f = *state;
    const char *db = path_of(f, "registry/registry.db"), *real = path_of(f, "registry/real.db");

    fixture_close(f);
    assert_int_equal(rename(db, real), 0);
    assert_int_equal(symlink("real.db", db), 0);
    open_gives(f, -EPERM);
    assert_int_equal(unlink(db), 0);
    assert_int_equal(link(real, db), 0);
    open_gives(f, -EPERM);
    assert_int_equal(unlink(real), 0);
    open_gives(f, 0);
}

static void readable_database_is_made_private(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    assert_int_equal(chmod(path_of(f, "registry/registry.db"), 0644), 0);
    fixture_open(f);
    assert_int_equal(mode_of(f, "registry/registry.db"), 0600);
}

static void second_open_is_busy(void **state)
{
    struct fixture *f = *state;

    open_gives(f, -EBUSY);
    /* By our lock, before SQLite is asked. */
    assert_non_null(strstr(registry_error(NULL), "another process"));
    (void)user_new(f, "maria@example.org"); /* the first one is not disturbed */
    fixture_close(f);
    open_gives(f, 0);
}

static void reader_of_the_database_is_kept_out(void **state)
{
    struct fixture *f = *state;
    struct fixture other = {0};
    int64_t n = 0;

    memcpy(other.dir, f->dir, sizeof(other.dir));
    (void)user_new(f, "maria@example.org");
    assert_int_equal(sql_run(&other, "SELECT count(*) FROM users", &n), SQLITE_BUSY);
    fixture_close(f);
    assert_int_equal(sql_run(&other, "SELECT count(*) FROM users", &n), SQLITE_OK);
    assert_int_equal(n, 1);
}

static void newer_schema_is_refused(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    assert_int_equal(sql_value(f, "PRAGMA user_version"), 4);
    (void)sql_value(f, "PRAGMA user_version = 5");
    open_gives(f, -EPROTO);
    assert_non_null(strstr(registry_error(NULL), "newer"));
    (void)sql_value(f, "PRAGMA user_version = 4");
    open_gives(f, 0);
}

static void foreign_database_is_refused(void **state)
{
    struct fixture *f = *state;
    int fd;

    fixture_close(f);
    (void)sql_value(f, "PRAGMA user_version = 0");
    open_gives(f, -EPROTO);
    fd = open(path_of(f, "registry/registry.db"), O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "this is no database, whatever its name says\n", 44), 44);
    (void)close(fd);
    open_gives(f, -EBADMSG);
}

static void tables_refuse_what_must_never_happen(void **state)
{
    static const char *const bad[] = {
        "UPDATE meta SET next_id = next_id - 1",
        "UPDATE meta SET next_id = 60000",
        "UPDATE meta SET generation = generation - 1",
        "INSERT INTO meta VALUES (2, 1, 10000, '')",
        "DELETE FROM tombstones",
        "UPDATE tombstones SET name = 'other'",
        "INSERT INTO tombstones VALUES (59900, 'user', 'canary')",
        "INSERT INTO tombstones VALUES (10500, 'user', 'maria')",
        "INSERT OR REPLACE INTO tombstones VALUES (10001, 'user', 'other')",
        "INSERT INTO used_names (id, kind, name) VALUES (10000, 'group', 'old');"
        " INSERT INTO tombstones VALUES (10500, 'user', 'old')",
        "DELETE FROM used_names",
        "UPDATE used_names SET name = 'other'",
        "UPDATE users SET uid = 0",
        "UPDATE users SET state = 'root'",
        "UPDATE users SET email = 'Maria@example.org' WHERE name = 'maria'",
        "UPDATE users SET email = 'ada@example.org' WHERE name = 'maria'",
        "UPDATE users SET created_s = 'yesterday'",
        "PRAGMA foreign_keys = ON; INSERT INTO members VALUES (10001, 27)",
        "PRAGMA foreign_keys = ON; DELETE FROM users",
    };
    struct fixture *f = *state;

    (void)user_new(f, "maria@example.org");
    (void)user_new(f, "ada@example.org");
    fixture_close(f);
    (void)sql_value(f, "INSERT INTO used_names (id, kind, name) VALUES (10000, 'group', 'former')");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t v = 0;
        int rc = sql_run(f, bad[i], &v);

        if ((rc & 0xff) != SQLITE_CONSTRAINT)
            fail_msg("%d: %s", rc, bad[i]);
    }
    (void)sql_value(f, "UPDATE meta SET next_id = next_id + 1");
    (void)sql_value(f, "UPDATE users SET email = 'm@example.org' WHERE name = 'maria'");
}

static void index_byte_flip(const struct fixture *f, off_t at)
{
    int fd = open(path_of(f, "nss/index"), O_RDWR | O_CLOEXEC);
    unsigned char byte = 0;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (unsigned char)~byte;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

enum damage {
    DAMAGE_GONE,
    DAMAGE_TORN,
    DAMAGE_LONGER,
    DAMAGE_GENERATION,
    DAMAGE_VERSION,
    DAMAGE_ENTRY,
    DAMAGE_LAST_BYTE,
    DAMAGE_MODE,
    DAMAGE_OLDER,
    DAMAGE_COUNTED,
    DAMAGE_ROW,
    DAMAGE_NONE, /* the control: a good index is left alone */
    DAMAGE__COUNT,
};

static void index_damage(const struct fixture *f, enum damage damage)
{
    const char *index = path_of(f, "nss/index"), *older = path_of(f, "nss/older");
    struct stat st;

    assert_int_equal(stat(index, &st), 0);
    switch (damage) {
    case DAMAGE_GONE:
        assert_int_equal(unlink(index), 0);
        break;
    case DAMAGE_TORN:
        assert_int_equal(truncate(index, st.st_size - 1), 0);
        break;
    case DAMAGE_LONGER:
        assert_int_equal(truncate(index, st.st_size + 1), 0);
        break;
    case DAMAGE_GENERATION:
        index_byte_flip(f, offsetof(struct index_header, generation));
        break;
    case DAMAGE_VERSION:
        index_byte_flip(f, offsetof(struct index_header, version));
        break;
    case DAMAGE_ENTRY:
        index_byte_flip(f, sizeof(struct index_header) + offsetof(struct index_entry, name));
        break;
    case DAMAGE_LAST_BYTE:
        index_byte_flip(f, st.st_size - 1);
        break;
    case DAMAGE_MODE:
        assert_int_equal(chmod(index, 0666), 0);
        break;
    case DAMAGE_OLDER:
        assert_int_equal(rename(older, index), 0);
        break;
    case DAMAGE_COUNTED:
        (void)sql_value(f, "UPDATE meta SET generation = generation + 1");
        break;
    case DAMAGE_ROW: /* behind the registry's back, and without counting */
        (void)sql_value(f, "UPDATE users SET name = 'mario' WHERE name = 'maria'");
        break;
    case DAMAGE_NONE:
    case DAMAGE__COUNT:
        break;
    }
}

static void open_writes_a_damaged_index_anew(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(rename(path_of(f, "nss/index"), path_of(f, "nss/older")), 0);
    (void)user_new(f, "maria@example.org");
    for (enum damage damage = 0; damage < DAMAGE__COUNT; damage++) {
        const char *index = path_of(f, "nss/index");
        struct stat before, after;

        fixture_close(f);
        index_damage(f, damage);
        if (damage == DAMAGE_NONE)
            assert_int_equal(stat(index, &before), 0);
        fixture_open(f);
        assert_true(index_agrees(f->dir, f->reg));
        assert_int_equal(mode_of(f, "nss/index"), 0644);
        if (damage == DAMAGE_NONE) {
            assert_int_equal(stat(index, &after), 0);
            assert_int_equal(before.st_ino, after.st_ino);
        }
    }
}

static void rebuild_reads_rows_that_were_changed_behind_the_registry(void **state)
{
    struct fixture *f = *state;
    struct user u = user_new(f, "maria@example.org");
    struct registry_counts before, after;

    fixture_close(f);
    (void)sql_value(f, "UPDATE users SET name = 'mario' WHERE name = 'maria'");
    fixture_open(f);
    assert_int_equal(truncate(path_of(f, "nss/index"), 100), 0);
    assert_int_equal(registry_count(f->reg, &before), 0);
    assert_int_equal(registry_rebuild_index(f->reg), 0);
    assert_int_equal(registry_count(f->reg, &after), 0);
    assert_true(after.generation == before.generation + 1);
    assert_true(index_has_user(f->dir, u.uid, "mario"));
    assert_true(index_agrees(f->dir, f->reg));
}

/* A program that still has the old module must not believe an old index for ever. */
static void open_removes_the_index_of_version_one(void **state)
{
    static const char *const names[] = {"nss/index.cdb", "nss/.index.cdb.tmp"};
    struct fixture *f = *state;

    fixture_close(f);
    for (size_t i = 0; i < 2; i++) {
        int fd = open(path_of(f, names[i]), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        (void)close(fd);
    }
    fixture_open(f);
    for (size_t i = 0; i < 2; i++)
        assert_false(exists(f, names[i]));
    assert_true(index_agrees(f->dir, f->reg));
}

static void open_sweeps_the_temporary_index(void **state)
{
    struct fixture *f = *state;
    int fd;

    fixture_close(f);
    fd = open(path_of(f, TMP_INDEX), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    fixture_open(f);
    assert_false(exists(f, TMP_INDEX));
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(new_registry_has_private_files_and_a_public_index),
        REGISTRY_TEST(directories_of_others_are_refused),
        REGISTRY_TEST(missing_directories_are_refused),
        REGISTRY_TEST(database_that_is_a_link_is_refused),
        REGISTRY_TEST(readable_database_is_made_private),
        REGISTRY_TEST(second_open_is_busy),
        REGISTRY_TEST(reader_of_the_database_is_kept_out),
        REGISTRY_TEST(newer_schema_is_refused),
        REGISTRY_TEST(foreign_database_is_refused),
        REGISTRY_TEST(tables_refuse_what_must_never_happen),
        REGISTRY_TEST(open_writes_a_damaged_index_anew),
        REGISTRY_TEST(rebuild_reads_rows_that_were_changed_behind_the_registry),
        REGISTRY_TEST(open_removes_the_index_of_version_one),
        REGISTRY_TEST(open_sweeps_the_temporary_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
