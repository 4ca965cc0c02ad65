/* SPDX-License-Identifier: ISC */
/*
 * test_registry_link_crash.c - full disks and sudden deaths while a link is used.
 *
 * What was accepted is used whatever comes after; what could not be stored was not accepted and is
 * as good as before. Children never assert; they tell by their exit code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/unit/registry_fixture.h"

#include "common/banned.h"

#define NOW_S          1800000000
#define CRASH_ROUNDS   60u
#define LINKS_A_ROUND  400u
#define PIPE_TIMEOUT_S 60u

static int user_make(struct registry *reg, struct user *ret_user)
{
    struct user_spec spec = {.name = "maria"};
    enum user_verdict verdict = USER_CONFLICT;
    int r = user_create(reg, &spec, taken_none, NULL, ret_user, &verdict);

    return r == 0 && verdict != USER_CREATED ? -EPROTO : r;
}

/* Nothing of a use is there: neither the link's nor the user's part of it. */
static bool is_unused(struct registry *reg, unsigned n, uint32_t uid)
{
    struct link link = link_of(reg, n);
    struct user user;

    return user_by_uid(reg, uid, &user) == 0 && user.state == USER_STATE_RESERVED &&
           link.uid == uid && link.used_s == 0 && link.revoked_s == 0;
}

/* The log of the database may not grow: COMMIT fails. */
static int limited_child(const char *dir)
{
    struct registry *reg;
    struct user user;
    int r;

    (void)signal(SIGXFSZ, SIG_IGN);
    if (registry_open(dir, NULL, &reg) < 0 || user_make(reg, &user) < 0 ||
        link_store(reg, 1, user.uid, LINK_PURPOSE_ANY) < 0)
        return 2;
    if (limit_set(1024) < 0)
        return 3;
    for (unsigned i = 0; i < 3; i++) {
        r = link_try(reg, 1, i % 2 ? 'c' : 't', "maria", NOW_S);
        if (r != -EIO) {
            (void)fprintf(stderr, "%d: %s\n", r, registry_error(reg));
            return 4;
        }
        if (strstr(registry_error(reg), "hash-of-a-secret") || !is_unused(reg, 1, user.uid))
            return 5;
        /* To refuse needs no disk. */
        if (link_try(reg, 1, 't', "ada", NOW_S) != LINK_REFUSED)
            return 6;
    }
    if (link_store(reg, 2, user.uid, LINK_PURPOSE_ANY) != -EIO || link_of(reg, 2).uid != 0 ||
        link_revoke(reg, "0000000000000001", NOW_S) != -EIO || !is_unused(reg, 1, user.uid))
        return 7;
    if (user_lock(reg, user.uid, true) != -EIO || user_set_expiry(reg, user.uid, 5) != -EIO ||
        !is_unused(reg, 1, user.uid))
        return 8;
    if (limit_set(RLIM_INFINITY) < 0)
        return 9;
    if (link_try(reg, 1, 'c', "maria", NOW_S) != LINK_ACCEPTED)
        return 10;
    if (link_try(reg, 1, 't', "maria", NOW_S) != LINK_REFUSED)
        return 11;
    _exit(0); /* without registry_close(): as by a signal */
}

static void commit_that_fails_uses_nothing_up(void **state)
{
    struct fixture *f = *state;
    struct user user;
    pid_t pid;

    fixture_close(f);
    pid = fork();
    if (pid == 0)
        _exit(limited_child(f->dir));
    child_succeeds(pid);
    fixture_open(f);
    assert_int_equal(link_of(f->reg, 1).used_s, NOW_S);
    assert_int_equal(link_try(f->reg, 1, 't', "maria", NOW_S), LINK_REFUSED);
    assert_int_equal(user_by_name(f->reg, "maria", &user), 0);
    assert_int_equal(user.state, USER_STATE_ACTIVE);
}

/* With 0, 1, 2 ... pages left on the disk. */
static int full_disk_child(const char *dir)
{
    unsigned refused = 0, used = 0;
    struct registry *reg;
    struct user user;

    if (state_dirs_make(dir) < 0 || registry_open(dir, NULL, &reg) < 0 || user_make(reg, &user) < 0)
        return 2;
    for (unsigned pages = 0; pages < 20; pages++) {
        int r;

        if (link_store(reg, pages, user.uid, LINK_PURPOSE_ANY) < 0)
            return 3;
        /* From an empty log on. */
        registry_close(reg);
        if (registry_open(dir, NULL, &reg) < 0 || filler_make(dir, pages * 4096) < 0)
            return 4;
        r = link_try(reg, pages, 't', "maria", NOW_S);
        if (r != LINK_ACCEPTED && r != -ENOSPC) {
            (void)fprintf(stderr, "%d: %s\n", r, registry_error(reg));
            return 5;
        }
        if ((r == LINK_ACCEPTED) != (link_of(reg, pages).used_s == NOW_S))
            return 6;
        refused += r < 0;
        used += r == LINK_ACCEPTED;
        if (filler_remove(dir) < 0)
            return 7;
        registry_close(reg);
        if (registry_open(dir, NULL, &reg) < 0)
            return 8;
        if ((r == LINK_ACCEPTED) != (link_of(reg, pages).used_s == NOW_S))
            return 9;
        if (link_try(reg, pages, 'c', "maria", NOW_S) !=
            (r == LINK_ACCEPTED ? LINK_REFUSED : LINK_ACCEPTED))
            return 10;
    }
    registry_close(reg);
    print_message("full disk: %u uses failed, %u done\n", refused, used);
    return refused > 1 && used > 1 ? 0 : 11;
}

static void full_disk_uses_nothing_up(void **state)
{
    on_small_disk(*state, full_disk_child);
}

/* --- death at any moment --------------------------------------------------------------------- */

/* Says the number of each link after link_consume() has accepted it. */
static void uses_until_killed(const char *dir, unsigned first, uint32_t uid, int pipe_fd)
{
    struct registry *reg;

    (void)alarm(PIPE_TIMEOUT_S);
    if (registry_open(dir, NULL, &reg) < 0)
        _exit(2);
    for (unsigned n = first; n < first + LINKS_A_ROUND; n++) {
        if (link_store(reg, n, uid, LINK_PURPOSE_SSH) < 0)
            _exit(3);
        if (link_try(reg, n, n % 2 ? 't' : 'c', "maria", NOW_S) != LINK_ACCEPTED)
            _exit(4);
        if (fd_write_full(pipe_fd, &n, sizeof(n)) < 0)
            _exit(5);
    }
    (void)pause();
    _exit(6);
}

/* Kills it at some moment after its first answer. Return: one past the last link it accepted. */
static unsigned crash_once(const struct fixture *f, unsigned first, uint32_t uid)
{
    struct timespec pause_time = {.tv_nsec = (long)random_below(40000000)};
    unsigned next = first, number;
    int fds[2], status = -1;
    size_t n = 0;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        uses_until_killed(f->dir, first, uid, fds[1]);
    }
    (void)close(fds[1]);
    assert_int_equal(fd_read_full(fds[0], &number, sizeof(number), &n), 0);
    assert_int_equal(n, sizeof(number));
    (void)nanosleep(&pause_time, NULL);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (n == sizeof(number)) {
        assert_int_equal(number, next);
        next++;
        assert_int_equal(fd_read_full(fds[0], &number, sizeof(number), &n), 0);
    }
    (void)close(fds[0]);
    return next;
}

static void accepted_links_stay_used_after_sudden_death(void **state)
{
    struct fixture *f = *state;
    struct user user = user_new(f, "maria@example.org");
    unsigned accepted = 0, unanswered = 0;

    for (unsigned round = 0; round < CRASH_ROUNDS; round++) {
        unsigned first = round * LINKS_A_ROUND, next;

        fixture_close(f);
        next = crash_once(f, first, user.uid);
        fixture_open(f);
        for (unsigned n = first; n < next; n++) {
            assert_int_equal(link_of(f->reg, n).used_s, NOW_S);
            assert_int_equal(link_try(f->reg, n, 't', "maria", NOW_S), LINK_REFUSED);
        }
        accepted += next - first;
        /* The one that death may have met: used or unused, but never both. */
        if (next < first + LINKS_A_ROUND) {
            struct link met = {.uid = 0};
            char link_id[LINK_ID_SIZE];

            (void)snprintf(link_id, sizeof(link_id), "%016x", next);
            if (link_get(f->reg, link_id, &met) == 0) {
                enum link_verdict expected = met.used_s ? LINK_REFUSED : LINK_ACCEPTED;

                assert_int_equal(link_try(f->reg, next, 'c', "maria", NOW_S), expected);
                unanswered++;
            }
        }
    }
    print_message("crash: %u rounds, %u uses answered, %u links met half-way\n", CRASH_ROUNDS,
                  accepted, unanswered);
    assert_true(accepted >= CRASH_ROUNDS);
}

#define CRASH_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRASH_TEST(commit_that_fails_uses_nothing_up),
        CRASH_TEST(full_disk_uses_nothing_up),
        CRASH_TEST(accepted_links_stay_used_after_sudden_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
