/* SPDX-License-Identifier: ISC */
/*
 * test_registry_crash.c - full disks, failed renames and sudden deaths of the registry.
 *
 * What fails, fails for real: file size limits, a tmpfs without room, a directory in the way,
 * SIGKILL. Children never assert; they tell by their exit code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define CRASH_ROUNDS   200u
#define FEW_USERS      10u
#define MANY_USERS     49000u
#define MEASURED_USERS 40u

static int create(struct registry *reg, const char *email, struct user *ret_user,
                  enum user_verdict *ret_verdict)
{
    struct user_spec spec = {.email = email};

    return user_create(reg, &spec, taken_none, NULL, ret_user, ret_verdict);
}

static bool tmp_exists(const char *dir)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/nss/.index.tmp", dir);
    return access(path, F_OK) == 0;
}

/* The old state, after a failed creation. */
static bool state_is_old(const char *dir, struct registry *reg, const struct registry_counts *old)
{
    struct registry_counts now;

    return registry_count(reg, &now) == 0 && counts_equal(&now, old) && !tmp_exists(dir) &&
           index_agrees(dir, reg);
}

/* A creation under a limit on the size of files: refused, nothing changed, then it works. */
static int limited_child(const char *dir, rlim_t bytes, int expected)
{
    enum user_verdict verdict = USER_CONFLICT;
    struct registry_counts old;
    struct registry *reg;
    struct user user;
    int r;

    (void)signal(SIGXFSZ, SIG_IGN);
    if (registry_open(dir, NULL, &reg) < 0 || registry_count(reg, &old) < 0)
        return 2;
    if (limit_set(bytes) < 0)
        return 3;
    r = create(reg, "refused@example.org", &user, &verdict);
    if (r != expected) {
        (void)fprintf(stderr, "%d: %s\n", r, registry_error(reg));
        return 4;
    }
    if (strchr(registry_error(reg), '@') || strstr(registry_error(reg), "refused"))
        return 5;
    if (!state_is_old(dir, reg, &old))
        return 6;
    if (user_by_email(reg, "refused@example.org", &user) != -ENOENT)
        return 7;
    if (limit_set(RLIM_INFINITY) < 0)
        return 8;
    if (create(reg, "refused@example.org", &user, &verdict) != 0 || verdict != USER_CREATED)
        return 9;
    if (!index_agrees(dir, reg))
        return 10;
    registry_close(reg);
    return 0;
}

static void limited(struct fixture *f, rlim_t bytes, int expected)
{
    pid_t pid;

    fixture_close(f);
    pid = fork();
    if (pid == 0)
        _exit(limited_child(f->dir, bytes, expected));
    child_succeeds(pid);
    fixture_open(f);
    assert_true(index_agrees(f->dir, f->reg));
}

static void index_that_cannot_be_written_undoes_the_creation(void **state)
{
    struct fixture *f = *state;

    (void)user_new(f, "maria@example.org");
    limited(f, 128, -EFBIG); /* the index has 64 bytes of header and 40 for each user */
}

/* The index fits, the log of the database does not: it writes pages of 4 KiB. */
static void commit_that_fails_undoes_the_creation(void **state)
{
    struct fixture *f = *state;

    (void)user_new(f, "maria@example.org");
    limited(f, 8192, -EIO);
}

static void group_of_runs_that_cannot_be_committed_is_reported(void **state)
{
    struct fixture *f = *state;
    pid_t pid;

    fixture_close(f);
    pid = fork();
    if (pid == 0) {
        struct run_row row = {.run_id = "0123456789abcdef0123456789abcdef", .ended_us = 1};
        struct registry *reg;

        (void)signal(SIGXFSZ, SIG_IGN);
        if (registry_open(f->dir, NULL, &reg) < 0 || limit_set(1024) < 0)
            _exit(2);
        if (run_put(reg, &row) != 0 || run_commit(reg) != -EIO)
            _exit(3);
        if (run_commit(reg) != 0 || limit_set(RLIM_INFINITY) < 0)
            _exit(4);
        if (run_put(reg, &row) != 0 || run_commit(reg) != 0)
            _exit(5);
        _exit(0);
    }
    child_succeeds(pid);
    assert_int_equal(sql_value(f, "SELECT count(*) FROM runs"), 1);
}

/* A directory in the place of the index: the rename fails, when COMMIT has been done. */
static void rename_that_fails_is_made_up_for(void **state)
{
    struct fixture *f = *state;
    const char *index = path_of(f, "nss/index");
    struct user_spec spec = {.email = "maria@example.org"};
    enum user_verdict verdict = USER_CONFLICT;
    const struct user_change lock = {.has_locked = true, .is_locked = true};
    enum user_change_verdict changed;
    struct user user, again;
    const char *what;

    assert_int_equal(unlink(index), 0);
    assert_int_equal(mkdir(index, 0700), 0);
    assert_int_equal(create(f->reg, "maria@example.org", &user, &verdict), -EINPROGRESS);
    assert_non_null(strstr(registry_error(f->reg), "stored"));
    assert_false(tmp_exists(f->dir));
    assert_int_equal(user_by_email(f->reg, "maria@example.org", &user), 0);
    /* As long as NSS does not show her, nobody is told that she exists. */
    assert_int_equal(create(f->reg, "maria@example.org", &again, &verdict), -EIO);
    assert_int_equal(user_exists_already(f->reg, &spec, &again, &verdict), -EIO);
    assert_int_equal(verdict, USER_CONFLICT);
    /* But she can be locked. */
    assert_int_equal(user_change(f->reg, user.uid, &lock, &what, &changed), 0);
    assert_int_equal(user_by_uid(f->reg, user.uid, &user), 0);
    assert_int_equal(user.state, USER_STATE_LOCKED);
    assert_int_equal(rmdir(index), 0);
    assert_int_equal(create(f->reg, "maria@example.org", &again, &verdict), 0);
    assert_int_equal(verdict, USER_EXISTED);
    assert_memory_equal(&user, &again, sizeof(user));
    assert_true(index_has_user(f->dir, user.uid, user.name));
    assert_true(index_agrees(f->dir, f->reg));
}

/* The same, and then death: COMMIT is done and the rename never comes. */
static void death_between_commit_and_rename_is_made_up_for(void **state)
{
    struct fixture *f = *state;
    const char *index = path_of(f, "nss/index"), *old = path_of(f, "nss/old");
    pid_t pid;

    fixture_close(f);
    pid = fork();
    if (pid == 0) {
        enum user_verdict verdict;
        struct registry *reg;
        struct user user;

        if (registry_open(f->dir, NULL, &reg) < 0 || rename(index, old) < 0 ||
            mkdir(index, 0700) < 0)
            _exit(2);
        if (create(reg, "maria@example.org", &user, &verdict) != -EINPROGRESS)
            _exit(3);
        if (rmdir(index) < 0 || rename(old, index) < 0)
            _exit(4);
        _exit(0); /* without registry_close(): as by a signal */
    }
    child_succeeds(pid);
    fixture_open(f);
    assert_true(index_agrees(f->dir, f->reg));
    assert_true(index_has_user(f->dir, ID_ALLOC_MIN + 1, "maria"));
}

static int taken_dies(void *arg, const char *name, uint32_t id)
{
    (void)arg;
    (void)id;
    if (name)
        _exit(0);
    return 0;
}

static void death_inside_the_transaction_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    pid_t pid;

    fixture_close(f);
    pid = fork();
    if (pid == 0) {
        struct user_spec spec = {.email = "maria@example.org"};
        enum user_verdict verdict;
        struct registry *reg;
        struct user user;

        if (registry_open(f->dir, NULL, &reg) < 0)
            _exit(2);
        (void)user_create(reg, &spec, taken_dies, NULL, &user, &verdict);
        _exit(3);
    }
    child_succeeds(pid);
    fixture_open(f);
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(user_new(f, "ada@example.org").uid, ID_ALLOC_MIN + 1);
}

/* --- a disk that is full --------------------------------------------------------------------- */

/* With 0, 1, 2 ... pages left: each write of a creation meets the end of the disk. */
static int full_disk_child(const char *dir)
{
    unsigned refused = 0, created = 0;
    struct registry *reg;

    if (state_dirs_make(dir) < 0 || registry_open(dir, NULL, &reg) < 0)
        return 2;
    for (off_t pages = 0; pages < 40; pages++) {
        enum user_verdict verdict = USER_CONFLICT;
        struct registry_counts old;
        struct user user;
        char email[32];
        int r;

        (void)snprintf(email, sizeof(email), "p%u@example.org", (unsigned)pages);
        if (registry_count(reg, &old) < 0 || filler_make(dir, pages * 4096) < 0)
            return 3;
        r = create(reg, email, &user, &verdict);
        if (r != 0 && r != -ENOSPC) {
            (void)fprintf(stderr, "%d: %s\n", r, registry_error(reg));
            return 4;
        }
        if (r == 0 ? verdict != USER_CREATED || !index_agrees(dir, reg)
                   : !state_is_old(dir, reg, &old))
            return 5;
        refused += r != 0;
        created += r == 0;
        if (filler_remove(dir) < 0)
            return 6;
        registry_close(reg);
        if (registry_open(dir, NULL, &reg) < 0 || !index_agrees(dir, reg))
            return 7;
        if ((user_by_email(reg, email, &user) == 0) != (r == 0))
            return 8;
        if (create(reg, email, &user, &verdict) != 0)
            return 9;
    }
    registry_close(reg);
    print_message("full disk: %u creations refused, %u done\n", refused, created);
    return refused > 2 && created > 2 ? 0 : 10;
}

static void full_disk_undoes_the_creation(void **state)
{
    on_small_disk(*state, full_disk_child);
}

/* --- death at any moment --------------------------------------------------------------------- */

/* What the child says after user_create() came back. */
struct ack {
    uint32_t uid;
    char name[NAME_SIZE];
};

static void creations_until_killed(const char *dir, unsigned round, int pipe_fd)
{
    struct registry *reg;

    if (registry_open(dir, NULL, &reg) < 0)
        _exit(2);
    for (unsigned i = 0;; i++) {
        enum user_verdict verdict;
        struct user user;
        struct ack ack;
        char email[48];

        (void)snprintf(email, sizeof(email), "crash@r%u.i%u.example", round, i);
        if (create(reg, email, &user, &verdict) < 0 || verdict != USER_CREATED)
            _exit(3);
        ack.uid = user.uid;
        memcpy(ack.name, user.name, sizeof(ack.name));
        if (fd_write_full(pipe_fd, &ack, sizeof(ack)) < 0)
            _exit(4);
    }
}

struct acks {
    struct ack v[16384];
    unsigned n;
};

/* One life of a child: some creations acknowledged, then SIGKILL at a random moment. */
static void crash_once(struct fixture *f, unsigned round, struct acks *acks)
{
    struct timespec pause = {.tv_nsec = (long)random_below(8000) * 1000};
    unsigned wanted = random_below(4);
    int fds[2], status = 0;
    size_t n = 0;
    pid_t pid;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        creations_until_killed(f->dir, round, fds[1]);
    }
    (void)close(fds[1]);
    for (unsigned i = 0; i < wanted; i++) {
        assert_int_equal(fd_read_full(fds[0], &acks->v[acks->n], sizeof(struct ack), &n), 0);
        assert_int_equal(n, sizeof(struct ack));
        acks->n++;
    }
    (void)nanosleep(&pause, NULL);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    do {
        assert_true(acks->n < sizeof(acks->v) / sizeof(acks->v[0]));
        assert_int_equal(fd_read_full(fds[0], &acks->v[acks->n], sizeof(struct ack), &n), 0);
        acks->n += n == sizeof(struct ack);
    } while (n == sizeof(struct ack));
    (void)close(fds[0]);
}

static void acks_hold(struct fixture *f, const struct acks *acks, unsigned from)
{
    for (unsigned i = from; i < acks->n; i++) {
        struct user user;

        if (i > 0)
            assert_true(acks->v[i].uid > acks->v[i - 1].uid); /* so none is there twice */
        assert_int_equal(user_by_uid(f->reg, acks->v[i].uid, &user), 0);
        assert_string_equal(user.name, acks->v[i].name);
        assert_true(index_has_user(f->dir, user.uid, user.name));
    }
}

static void acknowledged_users_survive_sudden_death(void **state)
{
    struct fixture *f = *state;
    struct acks *acks = calloc(1, sizeof(*acks));
    struct registry_counts counts;

    assert_non_null(acks);
    fixture_close(f);
    for (unsigned round = 0; round < CRASH_ROUNDS; round++) {
        unsigned from = acks->n;

        crash_once(f, round, acks);
        fixture_open(f);
        assert_false(tmp_exists(f->dir));
        assert_true(index_agrees(f->dir, f->reg));
        acks_hold(f, acks, from);
        fixture_close(f);
    }
    fixture_open(f);
    acks_hold(f, acks, 0);
    assert_int_equal(registry_count(f->reg, &counts), 0);
    print_message("crash: %u rounds, %u users acknowledged, %u stored\n", CRASH_ROUNDS, acks->n,
                  counts.users);
    assert_true(acks->n > CRASH_ROUNDS / 2);
    assert_true(counts.users >= acks->n);
    /* One more per round at most: stored, and killed before the answer. */
    assert_true(counts.users <= acks->n + CRASH_ROUNDS);
    free(acks);
}

/* --- many ------------------------------------------------------------------------------------ */

static int64_t clock_us(clockid_t clock)
{
    struct timespec ts;

    (void)clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Users p10001, p10002 ... up to uid @last, all in the group of all. */
static void users_seed(struct fixture *f, uint32_t last)
{
    char sql[1024];

    (void)snprintf(sql, sizeof(sql),
                   "BEGIN; CREATE TEMP TABLE n AS WITH RECURSIVE c (i) AS (SELECT 10001 UNION ALL"
                   " SELECT i + 1 FROM c WHERE i < %u) SELECT i FROM c;"
                   "INSERT INTO tombstones (id, kind, name) SELECT i, 'user', 'p' || i FROM n;"
                   "INSERT INTO users (uid, name, email, state, shell, created_s, expires_s,"
                   " home_host) SELECT i, 'p' || i, 'p' || i || '@example.org',"
                   " 'active', 0, 1700000000, 0, '' FROM n;"
                   "INSERT INTO members (uid, gid) SELECT i, 10000 FROM n;"
                   "UPDATE meta SET next_id = %u + 1; COMMIT",
                   last, last);
    (void)sql_value(f, sql);
}

struct cost {
    int64_t wall_us, cpu_us;
};

/* One creation with its publication among @users: the quickest, for others use the machine, too. */
static struct cost creation_cost(struct fixture *f, uint32_t users)
{
    struct cost best = {INT64_MAX, INT64_MAX};
    int64_t begin, begin_cpu;
    struct stat st;

    fixture_close(f);
    users_seed(f, ID_ALLOC_MIN + users);
    begin = clock_us(CLOCK_MONOTONIC);
    fixture_open(f);
    print_message("open with %u users and no index: %lld us\n", users,
                  (long long)(clock_us(CLOCK_MONOTONIC) - begin));
    for (unsigned i = 0; i < MEASURED_USERS; i++) {
        int64_t wall, cpu;
        char email[32];

        (void)snprintf(email, sizeof(email), "late%u@example.org", i);
        begin = clock_us(CLOCK_MONOTONIC);
        begin_cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        (void)user_new(f, email);
        wall = clock_us(CLOCK_MONOTONIC) - begin;
        cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu;
        best.wall_us = wall < best.wall_us ? wall : best.wall_us;
        best.cpu_us = cpu < best.cpu_us ? cpu : best.cpu_us;
    }
    assert_true(index_agrees(f->dir, f->reg));
    assert_int_equal(stat(path_of(f, "nss/index"), &st), 0);
    print_message("create and publish among %u users: %lld us, %lld us of it on the CPU, %lld "
                  "bytes\n",
                  users, (long long)best.wall_us, (long long)best.cpu_us, (long long)st.st_size);
    return best;
}

static void creation_stays_cheap_among_many_users(void **state)
{
    struct fixture *f = *state;
    struct cost few, many;
    void *other;

    few = creation_cost(f, FEW_USERS);
    assert_int_equal(fixture_setup(&other), 0);
    many = creation_cost(other, MANY_USERS);
    assert_int_equal(fixture_teardown(&other), 0);
    /* Reading all rows from the database would be two hundred times as much. */
    assert_true(many.wall_us <= 20 * few.wall_us);
}

#define CRASH_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRASH_TEST(index_that_cannot_be_written_undoes_the_creation),
        CRASH_TEST(commit_that_fails_undoes_the_creation),
        CRASH_TEST(group_of_runs_that_cannot_be_committed_is_reported),
        CRASH_TEST(rename_that_fails_is_made_up_for),
        CRASH_TEST(death_between_commit_and_rename_is_made_up_for),
        CRASH_TEST(death_inside_the_transaction_leaves_nothing),
        CRASH_TEST(full_disk_undoes_the_creation),
        CRASH_TEST(acknowledged_users_survive_sudden_death),
        CRASH_TEST(creation_stays_cheap_among_many_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
