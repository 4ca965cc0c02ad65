/* SPDX-License-Identifier: ISC */
/* test_registry_backup.c - copies of the registry, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/index_format.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define BACKUP "registry/" REGISTRY_BACKUP_NAME

static const struct restore_how really = {.taken = taken_none};

/* --- backup ---------------------------------------------------------------------------------- */

static void backup_is_one_private_file_of_now(void **state)
{
    struct fixture *f = *state;
    struct registry_backup first, second;
    struct run_row row = {.run_id = "0123456789abcdef0123456789abcdef"};
    struct stat st;

    (void)user_new(f, "ada@example.org");
    assert_int_equal(run_put(f->reg, &row), 0); /* not committed yet */
    assert_int_equal(registry_backup(f->reg, &first), 0);
    assert_int_equal(first.users, 1);
    assert_int_equal(first.groups, 1);
    assert_int_equal(first.generation, generation_of(f));
    assert_int_equal(stat(path_of(f, BACKUP), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, first.bytes);
    assert_int_equal(copy_sql(path_of(f, BACKUP), "SELECT count(*) FROM users"), 1);
    assert_int_equal(copy_sql(path_of(f, BACKUP), "SELECT count(*) FROM runs"), 1);
    assert_int_equal(copy_sql(path_of(f, BACKUP), "PRAGMA user_version"), 4);
    /* Again: replaced. The registry goes on meanwhile. */
    (void)user_new(f, "karl@example.org");
    assert_int_equal(registry_backup(f->reg, &second), 0);
    assert_int_equal(second.users, 2);
    assert_int_equal(copy_sql(path_of(f, BACKUP), "SELECT count(*) FROM users"), 2);
    assert_int_equal(access(path_of(f, "registry/.copy.tmp"), F_OK), -1);
    assert_true(index_agrees(f->dir, f->reg));
}

/* --- restore --------------------------------------------------------------------------------- */

static void restore_brings_back_what_was(void **state)
{
    struct fixture *f = *state;
    struct user ada = user_new(f, "ada@example.org"), karl = user_new(f, "karl@example.org"), u;
    const struct user_change change = {.comment = "changed", .has_locked = true, .is_locked = true};
    struct registry_restored back;
    enum user_change_verdict verdict;
    const char *what;
    struct group g;
    uint32_t links;
    uint64_t before;

    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0); /* 10003 */
    assert_int_equal(user_join_group(f->reg, ada.uid, "course-a"), 0);
    assert_int_equal(group_rename(f->reg, g.gid, "winter", taken_none, NULL), 0);
    backup_take(f);
    assert_int_equal(user_delete(f->reg, karl.uid, &links), 0);
    assert_int_equal(user_change(f->reg, ada.uid, &change, &what, &verdict), 0);
    assert_int_equal(group_rename(f->reg, g.gid, "spring", taken_none, NULL), 0);
    (void)user_new(f, "eve@example.org"); /* 10004 */
    before = generation_of(f);
    back = restored_kept(f);
    assert_int_equal(back.users, 2);
    assert_int_equal(back.groups, 2);
    assert_int_equal(back.users_gone, 1);
    assert_true(generation_of(f) > before);
    /* Who was locked or deleted since then is locked, and else as they were. */
    assert_int_equal(user_by_uid(f->reg, ada.uid, &u), 0);
    assert_int_equal(u.state, USER_STATE_LOCKED);
    assert_int_equal(user_lock(f->reg, ada.uid, false), 0);
    assert_int_equal(user_by_uid(f->reg, ada.uid, &u), 0);
    assert_memory_equal(&u, &ada, sizeof(u));
    assert_int_equal(user_lock(f->reg, karl.uid, false), 0);
    assert_int_equal(user_by_uid(f->reg, karl.uid, &u), 0);
    assert_memory_equal(&u, &karl, sizeof(u));
    assert_int_equal(user_by_name(f->reg, "eve", &u), -ENOENT);
    assert_false(index_has_user(f->dir, 10004, "eve"));
    assert_int_equal(group_by_name(f->reg, "winter", &g), 0);
    assert_int_equal(g.gid, 10003);
    /* What was given out after it is used, in a registry that is opened again too. */
    for (int again = 0; again < 2; again++) {
        struct user_spec spec = {.name = "eve"};

        assert_int_equal(user_try(f, &spec, &u), USER_NAME_TAKEN);
        spec = (struct user_spec){.name = "late", .uid = 10004};
        assert_int_equal(user_try(f, &spec, &u), USER_UID_TAKEN);
        assert_int_equal(group_create(f->reg, "spring", taken_none, NULL, &g), -EEXIST);
        fixture_close(f);
        fixture_open(f);
        assert_true(index_agrees(f->dir, f->reg));
    }
    assert_int_equal(user_new(f, "eve@example.org").uid, 10005);
}

/* Also when the copy is put in the place of the database by hand. */
static void copy_in_the_place_of_the_database_gives_nothing_out_again(void **state)
{
    struct fixture *f = *state;
    struct user u;

    backup_take(f);
    assert_int_equal(user_new(f, "ada@example.org").uid, 10001);
    fixture_close(f);
    assert_int_equal(rename(path_of(f, "kept.db"), path_of(f, "registry/registry.db")), 0);
    fixture_open(f);
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(user_by_name(f->reg, "ada", &u), -ENOENT);
    u = user_new(f, "ada@example.org");
    assert_int_equal(u.uid, 10002);
    assert_string_equal(u.name, "ada2");
}

static void links_of_a_copy_are_dead(void **state)
{
    struct fixture *f = *state;
    uint32_t uid = user_new(f, "ada@example.org").uid;
    struct registry_restored back;

    for (unsigned n = 0; n < 4; n++)
        assert_int_equal(link_store(f->reg, n, uid, LINK_PURPOSE_ANY), 0);
    assert_int_equal(link_try(f->reg, 0, 't', "ada", LINK_MADE_S), LINK_ACCEPTED);
    backup_take(f);
    assert_int_equal(link_try(f->reg, 1, 't', "ada", LINK_MADE_S), LINK_ACCEPTED);
    assert_int_equal(link_try(f->reg, 1, 't', "ada", LINK_MADE_S), LINK_REFUSED);
    back = restored_kept(f);
    assert_int_equal(back.links_revoked, 3);
    for (unsigned n = 0; n < 4; n++) {
        assert_int_equal(link_try(f->reg, n, 't', "ada", LINK_MADE_S), LINK_REFUSED);
        assert_int_equal(link_try(f->reg, n, 'c', "ada", LINK_MADE_S), LINK_REFUSED);
    }
    assert_int_equal(link_store(f->reg, 5, uid, LINK_PURPOSE_ANY), 0);
    assert_int_equal(link_try(f->reg, 5, 't', "ada", LINK_MADE_S), LINK_ACCEPTED);
}

static void state_before_is_kept_and_can_be_restored(void **state)
{
    struct fixture *f = *state;
    struct registry_restored back, forth;
    char kept[128];
    struct stat st;
    struct user u;

    backup_take(f);
    (void)user_new(f, "ada@example.org");
    back = restored_kept(f);
    assert_int_equal(user_by_name(f->reg, "ada", &u), -ENOENT);
    assert_int_equal(strncmp(back.kept, "before-restore-", 15), 0);
    (void)snprintf(kept, sizeof(kept), "registry/%s", back.kept);
    assert_int_equal(stat(path_of(f, kept), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(rename(path_of(f, kept), path_of(f, "kept.db")), 0);
    forth = restored_kept(f);
    assert_int_equal(forth.users, 1);
    assert_int_equal(forth.users_gone, 0);
    assert_int_equal(user_by_name(f->reg, "ada", &u), 0);
    assert_int_equal(u.uid, 10001);
    /* Two in one second have two names. */
    backup_take(f);
    back = restored_kept(f);
    forth = restored_kept(f);
    assert_string_not_equal(back.kept, forth.kept);
}

struct gone {
    uint32_t v[4];
    unsigned n;
    int answer;
};

static int gone_note(void *arg, enum restore_note what, const struct user *user)
{
    struct gone *g = arg;

    assert_int_equal(what, RESTORE_GONE);
    g->v[g->n++] = user->uid;
    return g->answer;
}

static void rehearsal_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct registry_counts before, after;
    struct registry_restored back = {0};
    struct gone gone = {0};
    struct restore_how how = {.taken = taken_none, .on_user = gone_note, .arg = &gone};
    struct stat index[2];
    char *issued[2];
    struct user u;

    (void)user_new(f, "ada@example.org");
    assert_int_equal(link_store(f->reg, 1, 10001, LINK_PURPOSE_ANY), 0);
    backup_take(f);
    (void)user_new(f, "karl@example.org");
    (void)user_new(f, "eve@example.org");
    assert_int_equal(registry_count(f->reg, &before), 0);
    issued[0] = file_text(path_of(f, "ledger/issued"));
    assert_int_equal(stat(path_of(f, "nss/" INDEX_FILE_NAME), &index[0]), 0);
    for (int stop = 0; stop < 3; stop++) {
        /* Twice as a rehearsal; the third time for good, but whoever is told says no. */
        gone = (struct gone){.answer = stop == 0 ? 0 : 42};
        file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
        how.is_rehearsal = stop < 2;
        assert_int_equal(registry_restore(f->reg, &how, &back), gone.answer);
        assert_int_equal(gone.n, stop == 0 ? 2 : 1);
        assert_int_equal(gone.v[0], 10002);
        assert_int_equal(access(path_of(f, RESTORE_PATH), F_OK), 0);
        assert_int_equal(registry_count(f->reg, &after), 0);
        assert_true(counts_equal(&before, &after));
        assert_true(index_agrees(f->dir, f->reg));
    }
    assert_int_equal(back.users, 1);
    assert_int_equal(back.users_gone, 2);
    assert_int_equal(back.links_revoked, 1);
    assert_string_equal(back.kept, "");
    assert_int_equal(link_try(f->reg, 1, 't', "ada", LINK_MADE_S), LINK_ACCEPTED);
    issued[1] = file_text(path_of(f, "ledger/issued"));
    assert_string_equal(issued[0], issued[1]);
    assert_int_equal(stat(path_of(f, "nss/" INDEX_FILE_NAME), &index[1]), 0);
    assert_int_equal(index[0].st_ino, index[1].st_ino);
    free(issued[0]);
    free(issued[1]);
    /* And then for good, with the file of the rehearsal. */
    gone = (struct gone){0};
    assert_int_equal(registry_restore(f->reg, &how, &back), 0);
    assert_int_equal(gone.n, 2);
    assert_int_equal(gone.v[1], 10003);
    assert_int_equal(user_by_name(f->reg, "karl", &u), -ENOENT);
}

/* --- files that are none --------------------------------------------------------------------- */

static void byte_damage(const char *path, off_t at)
{
    cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
    char junk[512];

    memset(junk, 0xa5, sizeof(junk));
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
}

static void bad_file_make(const struct fixture *f, int kind)
{
    static const char *const sql[] = {
        "DROP TRIGGER tombstones_stay",
        "CREATE TABLE stranger (x TEXT)",
        "PRAGMA user_version = 0",
        "PRAGMA application_id = 0",
        "DELETE FROM members; DELETE FROM groups",
        "PRAGMA foreign_keys = OFF; INSERT INTO members VALUES (10999, 10999)",
        "UPDATE users SET name = 'karl' WHERE name = 'ada'",
        "PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM",
    };
    const char *path = path_of(f, RESTORE_PATH);
    cleanup_close int fd = -1;
    int64_t root;

    file_copy(path_of(f, "kept.db"), path);
    switch (kind) {
    case 0:
        fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, "no database, whatever its name says\n", 36), 36);
        break;
    case 1:
        assert_int_equal(truncate(path, 0), 0);
        break;
    case 2:
        assert_int_equal(truncate(path, 8192), 0);
        break;
    case 3: /* what no search of ours would come by */
        root = copy_sql(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'links_by_age'");
        byte_damage(path, (off_t)(root - 1) * 4096);
        break;
    default:
        (void)copy_sql(path, sql[kind - 4]);
        break;
    }
}
#define BAD_FILES 12

static void file_that_is_no_registry_is_refused(void **state)
{
    struct fixture *f = *state;
    struct registry_restored back = {.users = 77};
    struct registry_counts before, after;
    struct user u;

    (void)user_new(f, "ada@example.org");
    backup_take(f);
    (void)user_new(f, "karl@example.org");
    assert_int_equal(registry_count(f->reg, &before), 0);
    for (int kind = 0; kind < BAD_FILES; kind++) {
        int r;

        bad_file_make(f, kind);
        r = registry_restore(f->reg, &really, &back);
        if (r != -EBADMSG || !strstr(registry_error(f->reg), REGISTRY_RESTORE_NAME))
            fail_msg("kind %d: %d: %s", kind, r, registry_error(f->reg));
        assert_int_equal(registry_count(f->reg, &after), 0);
        assert_true(counts_equal(&before, &after));
        assert_int_equal(user_by_name(f->reg, "karl", &u), 0);
        assert_true(index_agrees(f->dir, f->reg));
        assert_int_equal(unlink(path_of(f, RESTORE_PATH)), 0);
    }
    assert_int_equal(back.users, 77);
    file_copy(path_of(f, "kept.db"), path_of(f, RESTORE_PATH));
    (void)copy_sql(path_of(f, RESTORE_PATH), "PRAGMA user_version = 5");
    assert_int_equal(registry_restore(f->reg, &really, &back), -EPROTO);
    assert_int_equal(unlink(path_of(f, RESTORE_PATH)), 0);
    assert_int_equal(registry_restore(f->reg, &really, &back), -ENOENT);
    assert_int_equal(symlink("../kept.db", path_of(f, RESTORE_PATH)), 0);
    assert_int_equal(registry_restore(f->reg, &really, &back), -EPERM);
    assert_int_equal(unlink(path_of(f, RESTORE_PATH)), 0);
    assert_int_equal(link(path_of(f, "kept.db"), path_of(f, RESTORE_PATH)), 0);
    assert_int_equal(registry_restore(f->reg, &really, &back), -EPERM);
    assert_int_equal(unlink(path_of(f, RESTORE_PATH)), 0);
    assert_int_equal(restored_kept(f).users, 1);
}

/* A process dies in the middle of a change, and the pages of before are in its journal. */
static void journal_leave(const char *db_path)
{
    pid_t pid = fork();

    if (pid == 0) {
        sqlite3 *db = NULL;

        if (sqlite3_open(db_path, &db) != SQLITE_OK ||
            sqlite3_exec(db,
                         "BEGIN IMMEDIATE; UPDATE users SET comment = 'x'; UPDATE meta SET"
                         " generation = 999; DELETE FROM members",
                         NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_db_cacheflush(db) != SQLITE_OK)
            _exit(1);
        _exit(0);
    }
    child_succeeds(pid);
}

/* What lies beside it is of another one. */
static void log_beside_the_file_is_not_replayed(void **state)
{
    struct fixture *f = *state;
    struct user u;

    (void)user_new(f, "ada@example.org");
    backup_take(f);
    assert_int_equal(rename(path_of(f, "kept.db"), path_of(f, "older.db")), 0);
    (void)user_new(f, "karl@example.org");
    backup_take(f);
    journal_leave(path_of(f, "older.db"));
    file_copy(path_of(f, "older.db-journal"), path_of(f, RESTORE_PATH "-journal"));
    assert_int_equal(restored_kept(f).users, 2);
    assert_int_equal(user_by_name(f->reg, "karl", &u), 0);
    (void)user_new(f, "eve@example.org");
    file_copy(path_of(f, "registry/registry.db-wal"), path_of(f, RESTORE_PATH "-wal"));
    assert_int_equal(restored_kept(f).users, 2);
    assert_int_equal(user_by_name(f->reg, "eve", &u), -ENOENT);
    assert_int_equal(access(path_of(f, RESTORE_PATH "-wal"), F_OK), -1);
    assert_int_equal(access(path_of(f, RESTORE_PATH "-journal"), F_OK), -1);
}

/* --- registries of other hosts --------------------------------------------------------------- */

/* Another registry takes the place of the fixture's, which is gone with its ledger. */
static void host_new(struct fixture *f, const struct registry_options *options)
{
    fixture_close(f);
    assert_int_equal(unlink(path_of(f, "registry/registry.db")), 0);
    assert_int_equal(unlink(path_of(f, "ledger/issued")), 0);
    assert_int_equal(registry_open(f->dir, options, &f->reg), 0);
}

static int taken_below_10004(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)name;
    return id != 0 && id < 10004;
}

static void registry_moves_to_a_new_host(void **state)
{
    static const struct registry_options other = {
        .id_min = ID_ALLOC_MIN, .id_max = ID_ALLOC_MAX, .taken = taken_below_10004};
    struct fixture *f = *state;
    struct registry_counts counts;
    struct user u;
    struct group g;
    char *issued;

    (void)user_new(f, "ada@example.org");  /* 10001 */
    (void)user_new(f, "karl@example.org"); /* 10002 */
    backup_take(f);
    host_new(f, &other); /* GROUP_ALL_USERS is 10004 */
    assert_int_equal(restored_kept(f).users, 2);
    assert_int_equal(group_by_name(f->reg, GROUP_ALL_USERS, &g), 0);
    assert_int_equal(g.gid, 10000);
    assert_int_equal(user_by_name(f->reg, "ada", &u), 0);
    assert_int_equal(u.uid, 10001);
    issued = file_text(path_of(f, "ledger/issued"));
    assert_string_equal(issued, "10004 group atelier-users\n10000 group atelier-users\n"
                                "10001 user ada\n10002 user karl\n");
    free(issued);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(registry_count(f->reg, &counts), 0);
    assert_int_equal(counts.ids_free, ID_ALLOC_MAX + 1 - 10005);
    assert_int_equal(user_new(f, "eve@example.org").uid, 10005);
}

/* Whose files would they be? */
static void registry_with_ids_of_others_is_refused(void **state)
{
    struct fixture *f = *state;
    struct registry_restored back;
    struct user_spec spec = {.name = "ada", .uid = 20000};
    struct user u;

    (void)user_new(f, "ada@example.org");
    backup_take(f);
    host_new(f, NULL);
    (void)user_new(f, "karl@example.org"); /* 10001 is karl here */
    assert_int_equal(restore_kept(f, false, &back), -EEXIST);
    assert_non_null(strstr(registry_error(f->reg), "karl with id 10001"));
    assert_int_equal(user_by_name(f->reg, "karl", &u), 0);
    host_new(f, NULL);
    assert_int_equal(user_try(f, &spec, &u), USER_CREATED); /* ada is 20000 here */
    assert_int_equal(restore_kept(f, false, &back), -EEXIST);
    host_new(f, NULL);
    assert_int_equal(restored_kept(f).users, 1);
}

static void older_schema_is_migrated(void **state)
{
    struct fixture *f = *state;
    struct user u;

    (void)user_new(f, "ada@example.org");
    backup_take(f);
    (void)copy_sql(
        path_of(f, "kept.db"),
        "DROP TABLE used_names; DROP TRIGGER tombstones_are_new; DROP INDEX members_by_group;"
        "ALTER TABLE users DROP COLUMN comment; ALTER TABLE users DROP COLUMN login_shell;"
        "ALTER TABLE sessions DROP COLUMN receipt;"
        "PRAGMA user_version = 2");
    (void)user_new(f, "karl@example.org");
    assert_int_equal(restored_kept(f).users, 1);
    assert_int_equal(user_by_name(f->reg, "ada", &u), 0);
    assert_string_equal(u.comment, "");
    assert_int_equal(user_new(f, "karl@example.org").uid, 10003);
}

/* --- what fails on the way ------------------------------------------------------------------- */

static bool is_whole(const char *dir, struct registry *reg)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/registry/.copy.tmp", dir);
    return index_agrees(dir, reg) && access(path, F_OK) < 0;
}

static int create(struct registry *reg, const char *name)
{
    struct user_spec spec = {.name = name};
    enum user_verdict verdict = USER_CONFLICT;
    struct user user;
    int r = user_create(reg, &spec, taken_none, NULL, &user, &verdict);

    return r < 0 ? r : (int)verdict;
}

/*
 * ada is in the copy, karl is not. With 0, 1, 2 ... pages left each write of backup and restore
 * meets the end of the disk.
 */
static int full_disk_child(const char *dir)
{
    unsigned refused[2] = {0}, done[2] = {0};
    char backup[128], path[128];
    struct registry *reg;

    (void)snprintf(backup, sizeof(backup), "%s/" BACKUP, dir);
    (void)snprintf(path, sizeof(path), "%s/" RESTORE_PATH, dir);
    if (state_dirs_make(dir) < 0 || registry_open(dir, NULL, &reg) < 0 || create(reg, "ada") != 0)
        return 2;
    for (off_t pages = 0; pages < 160; pages += 4) {
        struct registry_restored back = {0};
        struct registry_backup made;
        struct user user;
        char name[32];
        bool has;
        int r;

        (void)snprintf(name, sizeof(name), "karl%u", (unsigned)pages);
        if (filler_make(dir, pages * 4096) < 0)
            return 3;
        r = registry_backup(reg, &made);
        refused[0] += r < 0;
        done[0] += r == 0;
        if ((r != 0 && r != -ENOSPC) || !is_whole(dir, reg))
            return 4;
        if (filler_remove(dir) < 0 || registry_backup(reg, &made) < 0 || rename(backup, path) < 0 ||
            create(reg, name) != 0 || filler_make(dir, pages * 4096) < 0)
            return 5;
        r = registry_restore(reg, &really, &back);
        refused[1] += r < 0;
        done[1] += r == 0;
        if (r != 0 && r != -ENOSPC && r != -EINPROGRESS) {
            (void)fprintf(stderr, "%d: %s\n", r, registry_error(reg));
            return 6;
        }
        has = user_by_name(reg, name, &user) == 0;
        if (has != (r == -ENOSPC))
            return 7;
        if (filler_remove(dir) < 0)
            return 8;
        if (create(reg, name) != USER_NAME_TAKEN)
            return 9;
        registry_close(reg);
        if (registry_open(dir, NULL, &reg) < 0 || !is_whole(dir, reg))
            return 10;
        if ((user_by_name(reg, name, &user) == 0) != has || create(reg, name) != USER_NAME_TAKEN)
            return 11;
        if (kept_remove(dir) < 0)
            return 12;
    }
    registry_close(reg);
    print_message("full disk: %u of %u backups and %u of %u restores refused\n", refused[0],
                  refused[0] + done[0], refused[1], refused[1] + done[1]);
    return refused[0] > 2 && done[0] > 2 && refused[1] > 2 && done[1] > 2 ? 0 : 13;
}

static void full_disk_leaves_the_old_state_or_the_new_one(void **state)
{
    on_small_disk(*state, full_disk_child);
}

static void open_sweeps_what_a_crash_left(void **state)
{
    static const char *const left[] = {"registry/.copy.tmp", "registry/.copy.tmp-journal",
                                       RESTORE_PATH, RESTORE_PATH "-journal", RESTORE_PATH "-wal"};
    struct fixture *f = *state;

    backup_take(f);
    fixture_close(f);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        file_copy(path_of(f, "kept.db"), path_of(f, left[i]));
    file_copy(path_of(f, "kept.db"), path_of(f, BACKUP));
    fixture_open(f);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        assert_int_equal(access(path_of(f, left[i]), F_OK), -1);
    assert_int_equal(access(path_of(f, BACKUP), F_OK), 0);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(backup_is_one_private_file_of_now),
        REGISTRY_TEST(restore_brings_back_what_was),
        REGISTRY_TEST(copy_in_the_place_of_the_database_gives_nothing_out_again),
        REGISTRY_TEST(links_of_a_copy_are_dead),
        REGISTRY_TEST(state_before_is_kept_and_can_be_restored),
        REGISTRY_TEST(rehearsal_changes_nothing),
        REGISTRY_TEST(file_that_is_no_registry_is_refused),
        REGISTRY_TEST(log_beside_the_file_is_not_replayed),
        REGISTRY_TEST(registry_moves_to_a_new_host),
        REGISTRY_TEST(registry_with_ids_of_others_is_refused),
        REGISTRY_TEST(older_schema_is_migrated),
        REGISTRY_TEST(full_disk_leaves_the_old_state_or_the_new_one),
        REGISTRY_TEST(open_sweeps_what_a_crash_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
