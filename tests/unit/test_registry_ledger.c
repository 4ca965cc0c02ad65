/* SPDX-License-Identifier: ISC */
/*
 * test_registry_ledger.c - ids and names that were given out stay used, whatever becomes of the
 * database.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define ISSUED "ledger/issued"

static void open_gives(const struct fixture *f, int expected, const char *sentence)
{
    struct registry *reg = NULL;
    int r = registry_open(f->dir, NULL, &reg);

    if (r != expected || (sentence && !strstr(registry_error(NULL), sentence)))
        fail_msg("%d instead of %d: %s", r, expected, registry_error(NULL));
    registry_close(reg);
}

static void issued_is(const struct fixture *f, const char *expected)
{
    char *text = file_text(path_of(f, ISSUED));

    assert_string_equal(text, expected);
    free(text);
}

static void issued_write(const struct fixture *f, const char *text, int flags)
{
    cleanup_close int fd = open(path_of(f, ISSUED), O_WRONLY | O_CLOEXEC | flags);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* The database as it is now, and later again in the place of a newer one. */
static void db_keep(struct fixture *f)
{
    fixture_close(f);
    file_copy(path_of(f, "registry/registry.db"), path_of(f, "kept.db"));
    fixture_open(f);
}

static void db_put_back(struct fixture *f)
{
    fixture_close(f);
    assert_int_equal(access(path_of(f, "registry/registry.db-wal"), F_OK), -1);
    file_copy(path_of(f, "kept.db"), path_of(f, "registry/registry.db"));
    fixture_open(f);
}

#define FIRST "10000 group atelier-users\n"

/* Says no when everything but COMMIT is done. */
static int taken_at_last(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    return !name && id == 0 ? -ETIMEDOUT : 0;
}

static void every_id_and_name_gets_a_line(void **state)
{
    struct fixture *f = *state;
    struct group g;

    issued_is(f, FIRST);
    (void)user_new(f, "maria@example.org");
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
    issued_is(f, FIRST "10001 user maria\n10002 group course-a\n");
    /* What is refused or undone is not in it, what is done without an id neither. */
    assert_int_equal(group_create(f->reg, "maria", taken_none, NULL, &g), -EEXIST);
    assert_int_equal(group_create(f->reg, "course-b", taken_at_last, NULL, &g), -ETIMEDOUT);
    assert_int_equal(user_join_group(f->reg, 10001, "course-a"), 0);
    (void)user_new(f, "ada@example.org");
    issued_is(f, FIRST "10001 user maria\n10002 group course-a\n10003 user ada\n");
    fixture_close(f);
    fixture_open(f);
    issued_is(f, FIRST "10001 user maria\n10002 group course-a\n10003 user ada\n");
}

static void older_database_gives_nothing_out_again(void **state)
{
    struct fixture *f = *state;
    struct user_spec spec = {.name = "maria"};
    struct registry_counts counts;
    struct user u;

    (void)user_new(f, "ada@example.org"); /* 10001 */
    db_keep(f);
    (void)user_new(f, "maria@example.org"); /* 10002 */
    (void)user_new(f, "karl@example.org");  /* 10003 */
    db_put_back(f);
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(user_by_name(f->reg, "maria", &u), -ENOENT);
    assert_int_equal(user_try(f, &spec, &u), USER_NAME_TAKEN);
    assert_int_equal(registry_count(f->reg, &counts), 0);
    assert_int_equal(counts.ids_free, ID_ALLOC_MAX - ID_ALLOC_MIN + 1 - 4);
    u = user_new(f, "maria@example.org");
    assert_string_equal(u.name, "maria2");
    assert_int_equal(u.uid, 10004);
    issued_is(f, FIRST "10001 user ada\n10002 user maria\n10003 user karl\n10004 user maria2\n");
}

static void lost_database_gives_nothing_out_again(void **state)
{
    struct fixture *f = *state;
    struct group g;

    (void)user_new(f, "maria@example.org");
    fixture_close(f);
    assert_int_equal(unlink(path_of(f, "registry/registry.db")), 0);
    fixture_open(f);
    assert_int_equal(group_by_name(f->reg, GROUP_ALL_USERS, &g), 0);
    assert_int_equal(g.gid, 10000); /* the same group, whose gid is in files and rules */
    assert_int_equal(group_create(f->reg, "maria", taken_none, NULL, &g), -EEXIST);
    assert_int_equal(user_new(f, "maria@example.org").uid, 10002);
    issued_is(f, FIRST "10001 user maria\n10002 user maria2\n");
    assert_true(index_agrees(f->dir, f->reg));
}

static void lost_ledger_is_written_anew(void **state)
{
    struct fixture *f = *state;

    (void)user_new(f, "maria@example.org");
    fixture_close(f);
    assert_int_equal(unlink(path_of(f, ISSUED)), 0);
    fixture_open(f);
    issued_is(f, FIRST "10001 user maria\n");
}

static void half_a_line_is_cut(void **state)
{
    static const char *const torn[] = {"1", "10002", "10002 user", "10002 user karl"};
    struct fixture *f = *state;

    (void)user_new(f, "maria@example.org");
    for (size_t i = 0; i < sizeof(torn) / sizeof(torn[0]); i++) {
        fixture_close(f);
        issued_write(f, torn[i], O_APPEND);
        fixture_open(f);
        issued_is(f, FIRST "10001 user maria\n");
    }
    assert_int_equal(user_new(f, "karl@example.org").uid, 10002); /* it was not given out */
    issued_is(f, FIRST "10001 user maria\n10002 user karl\n");
}

static void issued_write_bytes(const struct fixture *f, const char *bytes, size_t size)
{
    cleanup_close int fd = open(path_of(f, ISSUED), O_WRONLY | O_CLOEXEC | O_TRUNC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
}

/* Power failed: the file has its size, and zeros where the data should be. */
static void zeros_of_a_power_failure_are_cut(void **state)
{
#define TORN(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    static const struct {
        const char *bytes;
        size_t size;
    } torn[] = {
        TORN(FIRST "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        TORN(FIRST "10001 us\0\0\0\0\0\0\0\0\0\0\n"),
        TORN("\0\0\0\0\0\0\0\0\0"),
        TORN(FIRST "\0\0\0\0\0\0\0\0\n10001 user maria\n"),
        TORN(FIRST "10001 user maria\n\0\n10001 u"),
    };
#undef TORN
    static const char behind[] = FIRST "\0\0\0\0\n10002 user karl\n";
    struct fixture *f = *state;
    struct user_spec spec = {.name = "karl"};
    struct user u;

    (void)user_new(f, "maria@example.org");
    for (size_t i = 0; i < sizeof(torn) / sizeof(torn[0]); i++) {
        fixture_close(f);
        issued_write_bytes(f, torn[i].bytes, torn[i].size);
        fixture_open(f);
        issued_is(f, FIRST "10001 user maria\n");
    }
    /* What stands whole behind the zeros, and nowhere else, is not forgotten. */
    fixture_close(f);
    issued_write_bytes(f, behind, sizeof(behind) - 1);
    fixture_open(f);
    issued_is(f, FIRST "10001 user maria\n10002 user karl\n");
    assert_int_equal(user_try(f, &spec, &u), USER_NAME_TAKEN);
    assert_int_equal(user_new(f, "karl@example.org").uid, 10003);
}

/* By hand, or of a program that had no such check: it would never be read again. */
static void name_that_is_none_is_not_written(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    (void)sql_value(f, "INSERT INTO tombstones VALUES (20001, 'user', 'Bad Name')");
    open_gives(f, -EBADMSG, "20001");
    issued_is(f, FIRST);
}

static void line_that_is_none_is_named(void **state)
{
    static const char *const bad[] = {
        "\n",
        "10002 user karl \n",
        " 10002 user karl\n",
        "10002  user karl\n",
        "10002 User karl\n",
        "10002 user Karl\n",
        "10002 user \n",
        "10002 user karl\r\n",
        "010002 user karl\n",
        "10002 user abcdefghijklmnopqrstuvwxyz-012345\n",
        "9999 user karl\n",
        "59900 user karl\n",
        "0 user root\n",
        "99999999999999999999 user karl\n",
        "10002 user karl\n10003\n",
    };
    struct fixture *f = *state;

    (void)user_new(f, "maria@example.org");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fixture_close(f);
        issued_write(f, FIRST "10001 user maria\n", O_TRUNC);
        issued_write(f, bad[i], O_APPEND);
        open_gives(f, -EBADMSG,
                   i < sizeof(bad) / sizeof(bad[0]) - 1 ? "line 3 of ledger/issued"
                                                        : "line 4 of ledger/issued");
    }
    issued_write(f, FIRST "10001 user maria\n10002 user karl\n", O_TRUNC);
    open_gives(f, 0, NULL);
}

/* One id of two people, or one name of two ids: whose are the files? */
static void line_that_contradicts_the_database_is_named(void **state)
{
    static const char *const bad[] = {"10001 user karl\n",           "10001 group maria\n",
                                      "10001 group karl\n",          "10005 user maria\n",
                                      "10005 group maria\n",         "10002 group course-b\n",
                                      "10000 group atelier-users2\n"};
    struct fixture *f = *state;
    struct group g;

    (void)user_new(f, "maria@example.org");
    assert_int_equal(group_create(f->reg, "course-a", taken_none, NULL, &g), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fixture_close(f);
        issued_write(f, bad[i], O_TRUNC);
        open_gives(f, -EEXIST, "line 1 of ledger/issued");
    }
    /* The controls: a later name of a group, and the gid that everybody's group had elsewhere. */
    issued_write(f, FIRST "10002 group course-a\n10002 group course-b\n", O_TRUNC);
    fixture_open(f);
    assert_int_equal(group_create(f->reg, "course-b", taken_none, NULL, &g), -EEXIST);
    fixture_close(f);
    issued_write(f, "10007 group atelier-users\n", O_APPEND);
    fixture_open(f);
    assert_int_equal(group_by_name(f->reg, GROUP_ALL_USERS, &g), 0);
    assert_int_equal(g.gid, 10000);
    assert_int_equal(user_new(f, "ada@example.org").uid, 10003);
    fixture_close(f);
    open_gives(f, 0, NULL);
}

static void ledger_of_others_is_refused(void **state)
{
    struct fixture *f = *state;
    const char *issued = path_of(f, ISSUED), *dir = path_of(f, "ledger");

    fixture_close(f);
    assert_int_equal(chmod(dir, 0750), 0);
    open_gives(f, -EPERM, "ledger/ has mode 0750");
    assert_int_equal(chmod(dir, 0700), 0);
    assert_int_equal(chmod(issued, 0644), 0);
    open_gives(f, -EPERM, "ledger/issued has mode 0644");
    assert_int_equal(chmod(issued, 0600), 0);
    assert_int_equal(link(issued, path_of(f, "second")), 0);
    open_gives(f, -EPERM, "ledger/issued is not a file of ours alone");
    assert_int_equal(unlink(path_of(f, "second")), 0);
    open_gives(f, 0, NULL);
    if (geteuid() == 0) {
        assert_int_equal(chown(issued, 12345, (gid_t)-1), 0);
        open_gives(f, -EPERM, "ledger/issued is not a file of ours alone");
        assert_int_equal(chown(issued, 0, (gid_t)-1), 0);
        assert_int_equal(chown(dir, 12345, (gid_t)-1), 0);
        open_gives(f, -EPERM, "ledger/ belongs to uid 12345");
        assert_int_equal(chown(dir, 0, (gid_t)-1), 0);
    }
    assert_int_equal(rename(issued, path_of(f, "real")), 0);
    assert_int_equal(symlink("../real", issued), 0);
    open_gives(f, -ELOOP, NULL);
    assert_int_equal(unlink(issued), 0);
    assert_int_equal(mkfifo(issued, 0600), 0);
    open_gives(f, -EPERM, "ledger/issued is not a file of ours alone");
    assert_int_equal(unlink(issued), 0);
    assert_int_equal(rmdir(dir), 0);
    open_gives(f, -ENOENT, "directory ledger/ is missing");
    assert_int_equal(mkdir(dir, 0700), 0);
    open_gives(f, 0, NULL);
}

/* --- a change that is stored and not in the ledger ------------------------------------------- */

static int create(struct registry *reg, const char *email, struct user *ret_user)
{
    struct user_spec spec = {.email = email};
    enum user_verdict verdict = USER_CONFLICT;
    int r = user_create(reg, &spec, taken_none, NULL, ret_user, &verdict);

    return r < 0 ? r : (int)verdict;
}

/*
 * The ledger has grown so large that one more line breaks the limit on files, and nothing else
 * does.
 */
static int limited_child(const char *dir)
{
    struct user user, again;
    struct registry *reg;
    char path[128];
    struct stat st;
    int r;

    (void)signal(SIGXFSZ, SIG_IGN);
    (void)snprintf(path, sizeof(path), "%s/" ISSUED, dir);
    if (registry_open(dir, NULL, &reg) < 0 || stat(path, &st) < 0 ||
        limit_set((rlim_t)st.st_size + 5) < 0)
        return 2;
    r = create(reg, "late@example.org", &user);
    if (r != -EINPROGRESS || !strstr(registry_error(reg), "stored")) {
        (void)fprintf(stderr, "%d: %s\n", r, registry_error(reg));
        return 3;
    }
    /* Stored, and nobody sees it: neither NSS nor who asks again. */
    if (user_by_email(reg, "late@example.org", &user) != 0 ||
        index_has_user(dir, user.uid, user.name))
        return 4;
    if (create(reg, "late@example.org", &again) != -EIO)
        return 5;
    if (limit_set(RLIM_INFINITY) < 0 || create(reg, "late@example.org", &again) != USER_EXISTED)
        return 6;
    if (again.uid != user.uid || !index_has_user(dir, user.uid, user.name) ||
        !index_agrees(dir, reg))
        return 7;
    registry_close(reg);
    return 0;
}

static void change_that_the_ledger_lacks_is_not_published(void **state)
{
    struct fixture *f = *state;
    struct stat before, after;
    char lines[64 * 1024] = "";
    size_t size = 0;
    pid_t pid;

    for (unsigned id = 30000; id < 32600; id++)
        size += (size_t)snprintf(lines + size, sizeof(lines) - size, "%u user filler-%u\n", id, id);
    fixture_close(f);
    issued_write(f, lines, O_APPEND);
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(stat(path_of(f, ISSUED), &before), 0);
    pid = fork();
    if (pid == 0)
        _exit(limited_child(f->dir));
    child_succeeds(pid);
    assert_int_equal(stat(path_of(f, ISSUED), &after), 0);
    assert_int_equal(after.st_size, before.st_size + (off_t)strlen("10001 user late\n"));
    fixture_open(f);
    assert_true(index_agrees(f->dir, f->reg));
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(every_id_and_name_gets_a_line),
        REGISTRY_TEST(older_database_gives_nothing_out_again),
        REGISTRY_TEST(lost_database_gives_nothing_out_again),
        REGISTRY_TEST(lost_ledger_is_written_anew),
        REGISTRY_TEST(half_a_line_is_cut),
        REGISTRY_TEST(zeros_of_a_power_failure_are_cut),
        REGISTRY_TEST(name_that_is_none_is_not_written),
        REGISTRY_TEST(line_that_is_none_is_named),
        REGISTRY_TEST(line_that_contradicts_the_database_is_named),
        REGISTRY_TEST(ledger_of_others_is_refused),
        REGISTRY_TEST(change_that_the_ledger_lacks_is_not_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
