/* SPDX-License-Identifier: ISC */
/*
 * test_registry_index.c - the index is the one that the database makes, and nobody can hold it up.
 *
 * A publication reads only the rows that the change has touched. So after changes of every kind the
 * file must be the same, byte by byte, as the one that the next start makes of all rows.
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
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ids.h"
#include "tests/unit/index_build.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define ROUNDS     40u
#define CHANGES    12u
#define NAMES_SIZE 64u

/* What the next start, with no index to compare with, writes is what is there now. */
static void database_makes_the_same_bytes(struct fixture *f)
{
    const char *index = path_of(f, "nss/index");
    unsigned char *file, *again;
    size_t size, size_again;

    assert_true(index_agrees(f->dir, f->reg));
    file = file_load(index, &size);
    fixture_close(f);
    assert_int_equal(unlink(index), 0);
    fixture_open(f);
    again = file_load(index, &size_again);
    assert_true(file && again);
    assert_int_equal(size, size_again);
    assert_memory_equal(file, again, size);
    free(file);
    free(again);
}

/* The host has every third name, and gives up now and then. */
static int taken_at_random(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)id;
    if (random_below(40) == 0)
        return -EIO;
    return name && random_below(3) == 0;
}

static void user_create_at_random(struct fixture *f, char (*groups)[NAME_SIZE], unsigned n)
{
    char email[48], name[NAME_SIZE], external_id[24];
    const char *group = "no-such-group";
    struct user_spec spec = {.email = email, .groups = &group};
    enum user_verdict verdict;
    struct user user;

    (void)snprintf(email, sizeof(email), "u%u@example.org", random_below(60));
    (void)snprintf(name, sizeof(name), "name%u", random_below(60));
    (void)snprintf(external_id, sizeof(external_id), "x:%u", random_below(60));
    if (random_below(2) == 0)
        spec.name = name;
    if (random_below(3) == 0)
        spec.external_id = external_id;
    if (random_below(2) == 0)
        spec.group_count = 1;
    if (n > 0 && random_below(8) > 0)
        group = groups[random_below(n)];
    /* Whatever the verdict: most of the interesting ones store nothing or only a part. */
    (void)user_create(f->reg, &spec, taken_at_random, NULL, &user, &verdict);
}

/* As an import does: some of them exist, and now and then a row is refused. */
static void batch_at_random(struct fixture *f)
{
    char emails[5][48];
    struct user_spec specs[5] = {{0}};
    enum user_verdict verdicts[5];
    struct user users[5];
    size_t bad;

    for (unsigned i = 0; i < 5; i++) {
        (void)snprintf(emails[i], sizeof(emails[i]), "u%u@example.org", random_below(60));
        specs[i].email = emails[i];
        if (random_below(20) == 0)
            specs[i].name = "Bad";
    }
    (void)user_create_batch(f->reg, specs, 5, random_below(4) == 0, taken_at_random, NULL, users,
                            verdicts, &bad);
}

static void user_change_at_random(struct fixture *f, uint32_t uid, const char *group)
{
    const struct user_change change = {.comment = "changed",
                                       .groups_how = (enum user_groups_how)random_below(4),
                                       .groups = &group,
                                       .group_count = 1};
    enum user_change_verdict verdict;
    const char *what;

    (void)user_change(f->reg, uid, &change, &what, &verdict);
}

/* What an administrator does to groups. */
static void group_change_at_random(struct fixture *f, char name[NAME_SIZE])
{
    uint32_t uids[] = {ID_ALLOC_MIN + random_below(80), ID_ALLOC_MIN + random_below(80)};
    char other[NAME_SIZE];
    struct group g;

    if (group_by_name(f->reg, name, &g) < 0)
        return;
    switch (random_below(5)) {
    case 0:
        (void)snprintf(other, sizeof(other), "other%u", random_below(1000));
        if (group_rename(f->reg, g.gid, other, taken_at_random, NULL) == 0)
            memcpy(name, other, NAME_SIZE);
        break;
    case 1:
        if (random_below(8) == 0)
            (void)group_delete(f->reg, g.gid);
        break;
    default:
        (void)group_members_change(f->reg, g.gid, (enum user_groups_how)random_below(4), uids, 2);
        break;
    }
}

/* And back to what was a moment ago. */
static void restore_at_random(struct fixture *f)
{
    const struct restore_how how = {.taken = taken_none, .is_rehearsal = random_below(2) == 0};
    struct registry_restored back;
    struct registry_backup backup;

    assert_int_equal(registry_backup(f->reg, &backup), 0);
    for (unsigned i = random_below(3); i > 0; i--)
        batch_at_random(f);
    assert_int_equal(rename(path_of(f, "registry/" REGISTRY_BACKUP_NAME),
                            path_of(f, "registry/" REGISTRY_RESTORE_NAME)),
                     0);
    if (registry_restore(f->reg, &how, &back) < 0)
        fail_msg("registry_restore: %s", registry_error(f->reg));
}

static void changes_of_every_kind_leave_the_index_of_the_database(void **state)
{
    static char groups[NAMES_SIZE][NAME_SIZE];
    struct fixture *f = *state;
    struct registry_counts counts;
    unsigned n = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < CHANGES; i++) {
            uint32_t uid = ID_ALLOC_MIN + random_below(80);
            struct group g;
            uint32_t links;

            switch (random_below(14)) {
            case 0:
                if (n == NAMES_SIZE)
                    break;
                (void)snprintf(groups[n], NAME_SIZE, "group%u", random_below(60));
                if (group_create(f->reg, groups[n], taken_at_random, NULL, &g) == 0)
                    n++;
                break;
            case 1:
                (void)user_lock(f->reg, uid, true);
                break;
            case 2:
                (void)user_lock(f->reg, uid, false);
                break;
            case 3:
                batch_at_random(f);
                break;
            case 4:
                (void)user_delete(f->reg, uid, &links);
                break;
            case 5:
            case 6:
            case 7:
                if (n > 0)
                    user_change_at_random(f, uid, groups[random_below(n)]);
                break;
            case 8:
            case 9:
            case 10:
                if (n > 0)
                    group_change_at_random(f, groups[random_below(n)]);
                break;
            case 11:
                if (random_below(4) == 0)
                    restore_at_random(f);
                break;
            default:
                user_create_at_random(f, groups, n);
                break;
            }
        }
        database_makes_the_same_bytes(f);
    }
    assert_int_equal(registry_count(f->reg, &counts), 0);
    print_message("%u users, %u groups\n", counts.users, counts.groups);
    assert_true(counts.users > 20 && counts.groups > 5);
}

static void index_ends_with_the_last_who_is_left(void **state)
{
    struct fixture *f = *state;
    uint32_t links;
    struct user last;

    (void)user_new(f, "maria@example.org");
    last = user_new(f, "jo@example.org");
    assert_int_equal(user_delete(f->reg, last.uid, &links), 0);
    database_makes_the_same_bytes(f);
    last = user_new(f, "ada@example.org");
    database_makes_the_same_bytes(f);
    assert_true(index_has_user(f->dir, last.uid, last.name));
}

static void what_changed_while_nobody_watched_is_found_and_put_right(void **state)
{
    struct fixture *f = *state;
    struct user ada = user_new(f, "ada@example.org");
    const char *index = path_of(f, "nss/index");

    fixture_close(f);
    fixture_open(f);
    assert_int_equal(registry_index_found(f->reg), INDEX_FOUND_RIGHT);
    fixture_close(f);
    (void)sql_value(f, "DELETE FROM members WHERE uid = 10001");
    assert_true(index_has_gids(f->dir, ada.name, (const uint32_t[]){10000}, 1));
    fixture_open(f);
    assert_int_equal(registry_index_found(f->reg), INDEX_FOUND_ANOTHER);
    assert_true(index_has_gids(f->dir, ada.name, NULL, 0));
    fixture_close(f);
    assert_int_equal(unlink(index), 0);
    fixture_open(f);
    assert_int_equal(registry_index_found(f->reg), INDEX_FOUND_NONE);
    assert_true(index_has_user(f->dir, ada.uid, ada.name));
}

/* --- somebody who locks what he can -------------------------------------------------------- */

#define STRANGER      12345u
#define WITHIN_S      5 /* far more than it takes, far less than the stranger stays */
#define STRANGER_STAY 60

/* What an unprivileged process can lock of a file that it may read. */
struct locks {
    bool has_read_lock, has_flock, has_open_read_lock;
    bool has_write_lock, has_lease; /* what the kernel refuses */
};

/* Every lock of every kind on the index, and then sit on them. */
static _Noreturn void stranger_child(int nss_fd, int pipe_fd)
{
    struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    struct locks locks = {0};
    int fd, other;

    /* grp.h and registry.h have a struct group each. */
    if (syscall(SYS_setgroups, 0, NULL) < 0 || setresgid(STRANGER, STRANGER, STRANGER) < 0 ||
        setresuid(STRANGER, STRANGER, STRANGER) < 0)
        _exit(2);
    fd = openat(nss_fd, INDEX_FILE_NAME, O_RDONLY | O_CLOEXEC);
    other = openat(nss_fd, INDEX_FILE_NAME, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || other < 0)
        _exit(3);
    locks.has_read_lock = fcntl(fd, F_SETLK, &all) == 0;
    locks.has_open_read_lock = fcntl(other, F_OFD_SETLK, &all) == 0;
    locks.has_flock = flock(fd, LOCK_EX | LOCK_NB) == 0;
    all.l_type = F_WRLCK;
    locks.has_write_lock = fcntl(fd, F_SETLK, &all) == 0;
    locks.has_lease = fcntl(fd, F_SETLEASE, F_RDLCK) == 0 || fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
    if (fd_write_full(pipe_fd, &locks, sizeof(locks)) < 0)
        _exit(4);
    (void)sleep(STRANGER_STAY);
    _exit(0);
}

static void who_can_read_the_index_cannot_hold_up_anything(void **state)
{
    struct fixture *f = *state;
    struct locks locks = {0};
    struct user before = user_new(f, "before@example.org"), after;
    int nss_fd = open(path_of(f, "nss"), O_PATH | O_DIRECTORY | O_CLOEXEC), fds[2], status;
    size_t n = 0;
    pid_t pid;

    if (geteuid() != 0) {
        print_message("skipped: only root can become somebody else\n");
        skip();
    }
    assert_true(nss_fd >= 0);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    fixture_close(f); /* a child that keeps its lock would be a hindrance of our own */
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        stranger_child(nss_fd, fds[1]);
    (void)close(fds[1]);
    assert_int_equal(fd_read_full(fds[0], &locks, sizeof(locks), &n), 0);
    assert_int_equal(n, sizeof(locks));
    /* The control: these he has. */
    assert_true(locks.has_read_lock && locks.has_open_read_lock && locks.has_flock);
    assert_false(locks.has_write_lock || locks.has_lease);

    (void)alarm(WITHIN_S);
    fixture_open(f);
    assert_true(index_has_user(f->dir, before.uid, before.name));
    for (unsigned i = 0; i < 20; i++) {
        char email[32];

        (void)snprintf(email, sizeof(email), "after%u@example.org", i);
        after = user_new(f, email);
        assert_true(index_has_user(f->dir, after.uid, after.name));
    }
    assert_int_equal(registry_rebuild_index(f->reg), 0);
    assert_true(index_agrees(f->dir, f->reg));
    (void)alarm(0);

    assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* he still sits there */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(fds[0]);
    (void)close(nss_fd);
}

#define INDEX_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        INDEX_TEST(changes_of_every_kind_leave_the_index_of_the_database),
        INDEX_TEST(what_changed_while_nobody_watched_is_found_and_put_right),
        INDEX_TEST(index_ends_with_the_last_who_is_left),
        INDEX_TEST(who_can_read_the_index_cannot_hold_up_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
