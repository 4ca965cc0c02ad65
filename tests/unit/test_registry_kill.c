/* SPDX-License-Identifier: ISC */
/*
 * test_registry_kill.c - SIGKILL at any moment of a batch, a deletion, a rename, a restore.
 *
 * A child does one thing over and over and says through a pipe what came back; the parent kills it
 * at a random moment, opens the registry and looks: registry, ledger and index agree, what was
 * acknowledged is so, what was under way is done or not, and no id and no name is ever
 * acknowledged twice. Children never assert; they tell by their exit code.
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ids.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define ROUNDS     60u
#define BATCH      7u
#define ACKS_MAX   4096u
#define GIVEN_MAX  16384u
#define RESTORE_DB "registry/" REGISTRY_RESTORE_NAME

struct ack {
    uint32_t id; /* that was given out, or is gone; 0: something else was done */
    char name[NAME_SIZE];
};

/* Everything that was ever acknowledged. */
struct history {
    struct fixture *f;
    struct ack given[GIVEN_MAX]; /* ids and names */
    unsigned given_count;
    struct ack acks[ACKS_MAX]; /* of this round */
    unsigned n;
    unsigned total;
};

typedef void (*child_fn)(struct registry *reg, const char *dir, unsigned round, int pipe_fd);

/* --- the victim ------------------------------------------------------------------------------ */

static void say(int pipe_fd, uint32_t id, const char *name)
{
    struct ack ack = {.id = id};

    (void)str_copy(ack.name, sizeof(ack.name), name);
    if (fd_write_full(pipe_fd, &ack, sizeof(ack)) < 0)
        _exit(9);
}

static void create_one(struct registry *reg, unsigned round, unsigned i, int pipe_fd)
{
    enum user_verdict verdict = USER_CONFLICT;
    char email[48];
    struct user_spec spec = {.email = email};
    struct user user;

    (void)snprintf(email, sizeof(email), "kill@r%u.i%u.example", round, i);
    if (user_create(reg, &spec, taken_none, NULL, &user, &verdict) < 0 || verdict != USER_CREATED)
        _exit(3);
    say(pipe_fd, user.uid, user.name);
}

static void batches(struct registry *reg, const char *dir, unsigned round, int pipe_fd)
{
    (void)dir;
    for (unsigned i = 0;; i++) {
        char emails[BATCH][48];
        struct user_spec specs[BATCH] = {{0}};
        enum user_verdict verdicts[BATCH];
        struct user users[BATCH];
        size_t bad = 0;

        for (unsigned k = 0; k < BATCH; k++) {
            (void)snprintf(emails[k], sizeof(emails[k]), "batch@r%u.i%u.k%u.example", round, i, k);
            specs[k].email = emails[k];
        }
        if (user_create_batch(reg, specs, BATCH, false, taken_none, NULL, users, verdicts, &bad) <
                0 ||
            bad != BATCH)
            _exit(4);
        for (unsigned k = 0; k < BATCH; k++)
            say(pipe_fd, users[k].uid, users[k].name);
    }
}

static int first_take(void *arg, const struct user *user)
{
    *(struct user *)arg = *user;
    return 1;
}

static void deletions(struct registry *reg, const char *dir, unsigned round, int pipe_fd)
{
    (void)dir;
    for (unsigned i = 0;; i++) {
        struct user user;
        uint32_t links;

        create_one(reg, round, i, pipe_fd);
        if (user_list(reg, first_take, &user) != 1 || user_delete(reg, user.uid, &links) < 0)
            _exit(5);
        say(pipe_fd, 0, user.name);
    }
}

static void renames(struct registry *reg, const char *dir, unsigned round, int pipe_fd)
{
    (void)dir;
    for (unsigned i = 0;; i++) {
        char name[NAME_SIZE];

        (void)snprintf(name, sizeof(name), "group-%u-%u", round, i);
        if (group_rename(reg, ID_ALLOC_MIN + 1, name, taken_none, NULL) < 0)
            _exit(6);
        say(pipe_fd, 0, name);
    }
}

static void restores(struct registry *reg, const char *dir, unsigned round, int pipe_fd)
{
    char from[128], to[128];

    (void)snprintf(from, sizeof(from), "%s/kept.db", dir);
    (void)snprintf(to, sizeof(to), "%s/" RESTORE_DB, dir);
    for (unsigned i = 0;; i++) {
        const struct restore_how how = {.taken = taken_none};
        struct registry_restored back;

        create_one(reg, round, i, pipe_fd);
        file_copy(from, to);
        if (registry_restore(reg, &how, &back) < 0)
            _exit(7);
        say(pipe_fd, 0, "restored");
    }
}

/* --- the parent ------------------------------------------------------------------------------ */

static void acks_read(struct history *h, int fd, unsigned max)
{
    size_t n = 0;

    while (max-- > 0) {
        assert_true(h->n < ACKS_MAX);
        assert_int_equal(fd_read_full(fd, &h->acks[h->n], sizeof(struct ack), &n), 0);
        if (n != sizeof(struct ack))
            return;
        h->n++;
    }
}

static void kill_once(struct history *h, child_fn child, unsigned round)
{
    struct timespec pause = {.tv_nsec = (long)random_below(10000) * 1000};
    int fds[2], status = 0;
    pid_t pid;

    h->n = 0;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct registry *reg;

        (void)close(fds[0]);
        if (registry_open(h->f->dir, NULL, &reg) < 0)
            _exit(2);
        child(reg, h->f->dir, round, fds[1]);
    }
    (void)close(fds[1]);
    acks_read(h, fds[0], random_below(3));
    (void)nanosleep(&pause, NULL);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("child ended with status 0x%x", (unsigned)status);
    acks_read(h, fds[0], UINT32_MAX);
    (void)close(fds[0]);
}

/* No id twice, and no name twice. */
static void history_note(struct history *h)
{
    for (unsigned i = 0; i < h->n; i++) {
        const struct ack *ack = &h->acks[i];

        h->total++;
        if (ack->id == 0)
            continue;
        for (unsigned k = 0; k < h->given_count; k++)
            assert_true(h->given[k].id != ack->id && strcmp(h->given[k].name, ack->name) != 0);
        assert_true(h->given_count < GIVEN_MAX);
        h->given[h->given_count++] = *ack;
    }
}

/* The ledger has what the database has; and both have what was acknowledged. */
static void ledger_agrees(struct history *h)
{
    char *issued = file_text(path_of(h->f, "ledger/issued"));
    unsigned lines = 0;

    for (const char *p = issued; (p = strchr(p, '\n')); p++)
        lines++;
    for (unsigned i = 0; i < h->n; i++) {
        char line[64];

        (void)snprintf(line, sizeof(line), "\n%u user %s\n", h->acks[i].id, h->acks[i].name);
        assert_true(h->acks[i].id == 0 || strstr(issued, line));
    }
    free(issued);
    assert_int_equal(lines, sql_value(h->f, "SELECT (SELECT count(*) FROM tombstones) +"
                                            " (SELECT count(*) FROM used_names)"));
}

/* Kill, open, look. Leaves the registry open. */
static void round_do(struct history *h, child_fn child, unsigned round)
{
    kill_once(h, child, round);
    fixture_open(h->f);
    assert_true(index_agrees(h->f->dir, h->f->reg));
    history_note(h);
    fixture_close(h->f);
    ledger_agrees(h);
    fixture_open(h->f);
    assert_int_equal(access(path_of(h->f, RESTORE_DB), F_OK), -1);
    assert_int_equal(access(path_of(h->f, "registry/.copy.tmp"), F_OK), -1);
}

static void acks_resolve(struct history *h, bool expected)
{
    for (unsigned i = 0; i < h->n; i++) {
        struct user user;
        int r = user_by_name(h->f->reg, h->acks[i].name, &user);

        if (h->acks[i].id == 0)
            continue;
        assert_int_equal(r, expected ? 0 : -ENOENT);
        assert_true(!expected || user.uid == h->acks[i].id);
        assert_int_equal(index_has_user(h->f->dir, h->acks[i].id, h->acks[i].name), expected);
    }
}

static struct history *history_make(void **state)
{
    struct history *h = calloc(1, sizeof(*h));
    struct group g;

    assert_non_null(h);
    h->f = *state;
    assert_int_equal(group_create(h->f->reg, "group-first", taken_none, NULL, &g), 0);
    assert_int_equal(g.gid, ID_ALLOC_MIN + 1);
    fixture_close(h->f);
    return h;
}

static void history_end(struct history *h, const char *what)
{
    print_message("%s: %u kills, %u answers before them\n", what, ROUNDS, h->total);
    assert_true(h->total > ROUNDS / 2);
    free(h);
}

static void batch_is_there_or_not(void **state)
{
    struct history *h = history_make(state);
    struct registry_counts counts;

    for (unsigned round = 0; round < ROUNDS; round++) {
        round_do(h, batches, round);
        acks_resolve(h, true);
        assert_int_equal(registry_count(h->f->reg, &counts), 0);
        assert_int_equal(counts.users % BATCH, 0);
        fixture_close(h->f);
    }
    history_end(h, "batch");
}

static void deletion_is_done_or_not(void **state)
{
    struct history *h = history_make(state);

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct user user;

        round_do(h, deletions, round);
        for (unsigned i = 0; i < h->n; i++) {
            struct user_spec spec = {.name = h->acks[i].name};

            if (h->acks[i].id != 0)
                continue;
            assert_int_equal(user_by_name(h->f->reg, h->acks[i].name, &user), -ENOENT);
            assert_int_equal(user_try(h->f, &spec, &user), USER_NAME_TAKEN);
        }
        fixture_close(h->f);
    }
    history_end(h, "deletion");
}

static void rename_is_done_or_not(void **state)
{
    struct history *h = history_make(state);

    for (unsigned round = 0; round < ROUNDS; round++) {
        char next[NAME_SIZE];
        struct group g;
        bool is_done;

        round_do(h, renames, round);
        (void)snprintf(next, sizeof(next), "group-%u-%u", round, h->n);
        is_done = group_by_name(h->f->reg, next, &g) == 0;
        if (h->n > 0)
            assert_int_equal(group_by_name(h->f->reg, h->acks[h->n - 1].name, &g),
                             is_done ? -ENOENT : 0);
        for (unsigned i = 0; i < h->n; i++)
            assert_int_equal(group_create(h->f->reg, h->acks[i].name, taken_none, NULL, &g),
                             -EEXIST);
        fixture_close(h->f);
    }
    history_end(h, "rename");
}

/* Who was made after the copy and before the last restore is gone; who was made after it is there.
 */
static void restore_is_done_or_not(void **state)
{
    struct history *h = history_make(state);
    struct registry_backup backup;

    fixture_open(h->f);
    assert_int_equal(registry_backup(h->f->reg, &backup), 0);
    assert_int_equal(
        rename(path_of(h->f, "registry/" REGISTRY_BACKUP_NAME), path_of(h->f, "kept.db")), 0);
    fixture_close(h->f);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned last = 0;

        round_do(h, restores, round);
        for (unsigned i = 0; i < h->n; i++) {
            struct user_spec spec = {.name = h->acks[i].name};
            struct user user;

            if (h->acks[i].id == 0)
                last = i;
            else
                assert_int_equal(user_try(h->f, &spec, &user), USER_NAME_TAKEN);
        }
        h->n = last; /* the one after it may be gone by a restore that was under way */
        acks_resolve(h, false);
        fixture_close(h->f);
        assert_int_equal(kept_remove(h->f->dir), 0);
    }
    history_end(h, "restore");
}

#define KILL_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KILL_TEST(batch_is_there_or_not),
        KILL_TEST(deletion_is_done_or_not),
        KILL_TEST(rename_is_done_or_not),
        KILL_TEST(restore_is_done_or_not),
    };

    /* What SIGKILL leaves is in memory either way, and fsync costs nothing there. */
    if (chdir("/dev/shm") < 0)
        print_message("no /dev/shm: this takes a while\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
