/* SPDX-License-Identifier: ISC */
/* test_index_trust.c - which file, in which directory, the index reader looks at. */
#include "common/index_read.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/index_build.h"

#include "common/banned.h"

#define DIR       "."
#define FILE_PATH INDEX_FILE_NAME

static const struct index_user maria = {10001, 10001, INDEX_SHELL_ATELIER, "maria"};
static const struct index_content content = {.users = &maria, .user_count = 1, .generation = 1};

static char start_dir[] = "/tmp/atelier-index-XXXXXX";

static int dir_setup(void **state)
{
    (void)state;
    if (!mkdtemp(start_dir) || chmod(start_dir, 0755) < 0 || chdir(start_dir) < 0)
        return -1;
    return 0;
}

static int dir_teardown(void **state)
{
    (void)state;
    (void)unlink(FILE_PATH);
    (void)unlink(FILE_PATH ".tmp");
    return chdir("/") < 0 || rmdir(start_dir) < 0 ? -1 : 0;
}

static int file_setup(void **state)
{
    (void)state;
    (void)chmod(start_dir, 0755);
    return index_build(FILE_PATH, &content);
}

static void only_a_plain_single_file_is_trusted(void **state)
{
    struct index ix;

    (void)state;
    assert_int_equal(index_open(DIR, &ix), 0);
    index_close(&ix);

    assert_int_equal(link(FILE_PATH, "second"), 0);
    assert_int_equal(index_open(DIR, &ix), -EPERM);
    assert_int_equal(unlink("second"), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    index_close(&ix);

    assert_int_equal(rename(FILE_PATH, "moved"), 0);
    assert_int_equal(index_open(DIR, &ix), -ENOENT);
    assert_int_equal(symlink("moved", FILE_PATH), 0);
    assert_int_equal(index_open(DIR, &ix), -EPERM);
    assert_int_equal(unlink(FILE_PATH), 0);
    assert_int_equal(mkfifo(FILE_PATH, 0644), 0);
    assert_int_equal(index_open(DIR, &ix), -EPERM);
    assert_int_equal(unlink(FILE_PATH), 0);
    assert_int_equal(mkdir(FILE_PATH, 0755), 0);
    assert_int_equal(index_open(DIR, &ix), -EPERM);
    assert_int_equal(rmdir(FILE_PATH), 0);
    assert_int_equal(rename("moved", FILE_PATH), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    index_close(&ix);
}

static void what_others_may_write_is_not_trusted(void **state)
{
    static const mode_t bad[] = {0664, 0646, 0666};
    struct index ix;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(chmod(FILE_PATH, bad[i]), 0);
        assert_int_equal(index_open(DIR, &ix), -EPERM);
        assert_int_equal(chmod(FILE_PATH, 0644), 0);
        assert_int_equal(chmod(start_dir, bad[i] | 0111), 0);
        assert_int_equal(index_open(start_dir, &ix), -EPERM);
        assert_int_equal(chmod(start_dir, 0755), 0);
        assert_int_equal(index_open(start_dir, &ix), 0);
        index_close(&ix);
    }
    assert_int_equal(symlink(start_dir, "link"), 0);
    assert_int_equal(index_open("link", &ix), -EPERM);
    assert_int_equal(unlink("link"), 0);
    assert_int_equal(index_open(FILE_PATH, &ix), -EPERM);
}

static void file_of_another_user_is_not_trusted(void **state)
{
    struct index ix;

    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    assert_int_equal(chown(FILE_PATH, 12345, 12345), 0);
    assert_int_equal(index_open(DIR, &ix), -EPERM);
    /* The same file is right when the directory has that owner, and root's file always is. */
    assert_int_equal(chown(start_dir, 12345, 12345), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    index_close(&ix);
    assert_int_equal(chown(FILE_PATH, 0, 0), 0);
    assert_int_equal(index_open(DIR, &ix), 0);
    index_close(&ix);
    assert_int_equal(chown(FILE_PATH, 12346, 0), 0);
    assert_int_equal(index_open(DIR, &ix), -EPERM);
    assert_int_equal(chown(start_dir, 0, 0), 0);
}

static void lease_of_the_owner_is_a_failure_and_not_a_hang(void **state)
{
    int fd = open(FILE_PATH, O_RDWR | O_CLOEXEC);
    struct index ix;

    (void)state;
    assert_true(fd >= 0);
    if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
        (void)close(fd);
        print_message("skipped: no leases on this file system (%s)\n", strerror(errno));
        skip();
    }
    /* The break of the lease is announced by SIGIO, which ends a process by default. */
    (void)fcntl(fd, F_SETSIG, SIGCHLD);
    assert_int_equal(index_open(DIR, &ix), -EAGAIN);
    (void)close(fd);
    assert_int_equal(index_open(DIR, &ix), 0);
    index_close(&ix);
}

static void path_that_is_too_long_is_an_error(void **state)
{
    char dir[400];
    struct index ix;

    (void)state;
    memset(dir, 'd', sizeof(dir));
    for (size_t n = 200; n < sizeof(dir); n++) {
        int r;

        dir[n] = '\0';
        r = index_open(dir, &ix);
        assert_true(r == -ENOENT || r == -ENAMETOOLONG);
        dir[n] = 'd';
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_a_plain_single_file_is_trusted, file_setup),
        cmocka_unit_test_setup(what_others_may_write_is_not_trusted, file_setup),
        cmocka_unit_test_setup(file_of_another_user_is_not_trusted, file_setup),
        cmocka_unit_test_setup(lease_of_the_owner_is_a_failure_and_not_a_hang, file_setup),
        cmocka_unit_test_setup(path_that_is_too_long_is_an_error, file_setup),
    };

    return cmocka_run_group_tests(tests, dir_setup, dir_teardown);
}
