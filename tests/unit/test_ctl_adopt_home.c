/* SPDX-License-Identifier: ISC */
/* test_ctl_adopt_home.c - the home of an adopted account is moved and given away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctl/adopt_home.h"
#include "tests/unit/ctl_place.h"

#include "common/banned.h"

struct left {
    char text[4096];
};

static void on_left(void *arg, const char *path, const char *why)
{
    struct left *left = arg;
    size_t used = strlen(left->text);

    (void)snprintf(left->text + used, sizeof(left->text) - used, "%s: %s\n", strrchr(path, '/') + 1,
                   why);
}

static const struct home_mark none = {0};
static const struct adopt_ids ids = {.old_uid = OLD, .old_gid = OLD, .uid = NEW};

static void what_the_account_did_not_own_does_not_change_hands(void **state)
{
    struct place *p = *state;
    struct left left = {0};
    const struct adopt_report report = {.left = on_left, .arg = &left};
    struct stat st;

    need_root();
    file_make(p, "homes/ada/own", OLD);
    file_make(p, "homes/ada/twice", OLD);
    assert_int_equal(linkat(p->fd, "homes/ada/twice", p->fd, "homes/ada/twice2", 0), 0);
    file_make(p, "homes/ada/roots", 0);
    file_make(p, "secret", OTHER);
    assert_int_equal(linkat(p->fd, "secret", p->fd, "homes/ada/stolen", 0), 0);
    assert_int_equal(symlinkat("../../secret", p->fd, "homes/ada/link"), 0);
    assert_int_equal(fchownat(p->fd, "homes/ada/link", OLD, OLD, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(mknodat(p->fd, "homes/ada/device", S_IFCHR | 0600, makedev(1, 3)), 0);
    assert_int_equal(fchownat(p->fd, "homes/ada/device", OLD, OLD, AT_SYMLINK_NOFOLLOW), 0);
    file_make(p, "homes/ada/suid", OLD);
    assert_int_equal(fchmodat(p->fd, "homes/ada/suid", 06755, 0), 0);
    file_make(p, "homes/ada/group", OLD);
    assert_int_equal(fchownat(p->fd, "homes/ada/group", OLD, OTHER, 0), 0);
    assert_int_equal(mkdirat(p->fd, "homes/ada/dir", 0700), 0);
    assert_int_equal(fchownat(p->fd, "homes/ada/dir", OLD, OLD, 0), 0);
    file_make(p, "homes/ada/dir/inner", OLD);

    /* A home of somebody else is not touched at all. */
    assert_int_equal(adopt_home_own(p->home, &ids, &none, 0700, &report), -EPERM);
    assert_int_equal(owner(p, "homes/ada/own"), OLD);
    assert_int_equal(fchownat(p->fd, "homes/ada", OLD, OLD, 0), 0);
    for (int round = 0; round < 2; round++) { /* and once more, as after a crash */
        left.text[0] = '\0';
        assert_int_equal(adopt_home_own(p->home, &ids, &none, 0700, &report), 0);
        assert_non_null(strstr(left.text, "roots: belongs to UID 0\n"));
        assert_non_null(strstr(left.text, "stolen: belongs to UID 54323, with other links\n"));
        assert_non_null(strstr(left.text, "device: a device\n"));
        assert_null(strstr(left.text, "twice"));
    }
    assert_int_equal(owner(p, "homes/ada"), NEW);
    assert_int_equal(owner(p, "homes/ada/own"), NEW);
    assert_int_equal(owner(p, "homes/ada/twice2"), NEW);
    assert_int_equal(owner(p, "homes/ada/link"), NEW);
    assert_int_equal(owner(p, "homes/ada/dir/inner"), NEW);
    assert_int_equal(owner(p, "homes/ada/work"), NEW);
    assert_int_equal(owner(p, "homes/ada/roots"), 0);
    assert_int_equal(owner(p, "homes/ada/device"), OLD);
    assert_int_equal(owner(p, "secret"), OTHER);
    assert_int_equal(fstatat(p->fd, "homes/ada/suid", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(st.st_gid, NEW);
    assert_int_equal(fstatat(p->fd, "homes/ada/group", &st, 0), 0);
    assert_int_equal(st.st_uid, NEW);
    assert_int_equal(st.st_gid, OTHER);
}

static mode_t mode(const struct place *p, const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static void a_home_moves_when_it_is_the_accounts_and_nothing_is_in_the_way(void **state)
{
    struct place *p = *state;
    char from[96], linked[96], *why = NULL;

    need_root();
    assert_int_equal(rmdir(p->home), 0);
    assert_int_equal(fchmod(p->fd, 0755), 0);
    assert_int_equal(mkdirat(p->fd, "old", 0755), 0);
    assert_int_equal(mkdirat(p->fd, "old/ada", 0755), 0);
    (void)snprintf(from, sizeof(from), "%s/old/ada", p->top);

    /* Of somebody else; in a directory that others can write; through a link. */
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &none, &why), -EPERM);
    assert_non_null(strstr(why, "belongs to UID 0"));
    free(why);
    assert_int_equal(fchownat(p->fd, "old/ada", OLD, OLD, 0), 0);
    assert_int_equal(fchmodat(p->fd, "old", 0777, 0), 0);
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &none, &why), -EPERM);
    assert_non_null(strstr(why, "is not root's alone"));
    free(why);
    assert_int_equal(fchmodat(p->fd, "old", 0755, 0), 0);
    assert_int_equal(symlinkat("old", p->fd, "way"), 0);
    (void)snprintf(linked, sizeof(linked), "%s/way/ada", p->top);
    assert_int_equal(adopt_home_move(linked, p->homes, "ada", &ids, &none, &why), -ENOTDIR);
    free(why);
    assert_int_equal(symlinkat("ada", p->fd, "old/link"), 0);
    (void)snprintf(linked, sizeof(linked), "%s/old/link", p->top);
    assert_int_equal(adopt_home_move(linked, p->homes, "ada", &ids, &none, &why), -ENOTDIR);
    free(why);

    /* There already. */
    assert_int_equal(mkdirat(p->fd, "homes/ada", 0700), 0);
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &none, &why), -EEXIST);
    assert_non_null(strstr(why, "there is a"));
    free(why);
    assert_int_equal(mode(p, "old/ada"), 0755);
    assert_int_equal(rmdir(p->home), 0);

    why = NULL;
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &none, &why), 0);
    assert_null(why);
    assert_int_equal(owner(p, "homes/ada"), OLD);
    assert_int_equal(mode(p, "homes/ada"), 0700);
    assert_false(is_there(p, "old/ada"));
    /* Again, and a home that is where it belongs. */
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &none, &why), -ENOENT);
    assert_int_equal(adopt_home_move(p->home, p->homes, "ada", &ids, &none, &why), 0);
    assert_int_equal(adopt_home_move("/nonexistent", p->homes, "ada", &ids, &none, &why), -ENOENT);
    assert_int_equal(adopt_home_move("/", p->homes, "ada", &ids, &none, &why), -ENOENT);
    assert_null(why);
}

/* Whoever gets the old UID while the home waits for its new owner. */
static void a_closed_home_is_roots_until_it_is_given(void **state)
{
    struct place *p = *state;
    struct left left = {0};
    const struct adopt_report report = {.left = on_left, .arg = &left};
    struct home_mark mark = {0}, other;
    char *why = NULL, from[96];

    need_root();
    assert_int_equal(adopt_home_look(p->home, &ids, &mark), -EPERM); /* root's own */
    assert_int_equal(fchownat(p->fd, "homes/ada", OLD, OLD, 0), 0);
    assert_int_equal(fchmodat(p->fd, "homes/ada", 02755, 0), 0);
    file_make(p, "homes/ada/own", OLD);
    assert_int_equal(adopt_home_look(p->home, &ids, &mark), 0);
    assert_true(mark.ino != 0);
    assert_int_equal(mark.mode, 02755);
    other = (struct home_mark){.ino = mark.ino + 1, .mode = 0755};
    for (int round = 0; round < 2; round++) { /* and once more, as after a crash */
        assert_int_equal(adopt_home_close(p->home, &ids, &mark), 0);
        assert_int_equal(owner(p, "homes/ada"), 0);
        assert_int_equal(mode(p, "homes/ada"), 0700);
    }
    /* A directory of root's that is not this one is none of ours. */
    assert_true(adopt_home_is(p->home, &mark));
    assert_false(adopt_home_is(p->home, &other));
    assert_false(adopt_home_is(p->home, &none));
    assert_int_equal(adopt_home_close(p->home, &ids, &other), -EPERM);
    assert_int_equal(adopt_home_own(p->home, &ids, &none, 0700, &report), -EPERM);
    assert_int_equal(owner(p, "homes/ada/own"), OLD);

    /* It can still be moved. */
    assert_int_equal(fchmod(p->fd, 0755), 0);
    assert_int_equal(mkdirat(p->fd, "old", 0755), 0);
    assert_int_equal(renameat(p->fd, "homes/ada", p->fd, "old/ada"), 0);
    (void)snprintf(from, sizeof(from), "%s/old/ada", p->top);
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &none, &why), -EPERM);
    free(why);
    assert_int_equal(adopt_home_move(from, p->homes, "ada", &ids, &mark, &why), 0);
    assert_int_equal(adopt_home_own(p->home, &ids, &mark, mark.mode, &report), 0);
    assert_int_equal(owner(p, "homes/ada"), NEW);
    assert_int_equal(owner(p, "homes/ada/own"), NEW);
    assert_int_equal(mode(p, "homes/ada"), 02755);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_account_did_not_own_does_not_change_hands),
        TEST(a_home_moves_when_it_is_the_accounts_and_nothing_is_in_the_way),
        TEST(a_closed_home_is_roots_until_it_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
