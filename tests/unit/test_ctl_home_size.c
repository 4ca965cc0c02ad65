/* SPDX-License-Identifier: ISC */
/* test_ctl_home_size.c - what a home takes, and what the policy gives. */
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
#include <unistd.h>

#include "ctl/home_size.h"
#include "ctl/policy_disk.h"
#include "tests/unit/ctl_place.h"

#include "common/banned.h"

#define MIB ((uint64_t)1 << 20)

static struct home_size size_of(const struct place *p)
{
    struct home_size size = {0};
    char *why = NULL;

    assert_int_equal(home_size(p->home, &size, &why), 0);
    assert_null(why);
    return size;
}

static void holes_and_second_names_take_nothing(void **state)
{
    struct place *p = *state;
    struct home_size empty = size_of(p), size;
    char names[3][64];
    int fd;

    assert_int_equal(empty.files, 1);
    file_make(p, "homes/ada/1", geteuid());
    fd = openat(p->fd, "homes/ada/1", O_WRONLY | O_CLOEXEC);
    assert_int_equal(posix_fallocate(fd, 0, 3 * (off_t)MIB), 0);
    assert_int_equal(ftruncate(fd, 900 * (off_t)MIB), 0);
    assert_int_equal(close(fd), 0);
    size = size_of(p);
    assert_int_equal(size.files, 2);
    assert_true(size.bytes >= 3 * MIB && size.bytes < 4 * MIB);
    assert_true(size.holes > 896 * MIB && size.holes <= 897 * MIB);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "homes/ada/%d", i + 2);
        assert_int_equal(linkat(p->fd, "homes/ada/1", p->fd, names[i], 0), 0);
    }
    /* No link is followed. */
    assert_int_equal(symlinkat("/usr", p->fd, "homes/ada/usr"), 0);
    size = size_of(p);
    assert_int_equal(size.files, 3);
    assert_true(size.holes > 896 * MIB && size.holes <= 897 * MIB);
    assert_true(size.bytes >= 3 * MIB - 16 && size.bytes < 4 * MIB);
}

static void what_does_not_fit_is_said(void **state)
{
    const struct home_size have = {.bytes = 5 * MIB, .files = 10};
    struct place *p = *state;
    char path[128];
    char *why = NULL;

    assert_int_equal(home_size_fits(&have, 6 * MIB, 10, &why), 0);
    assert_null(why);
    assert_int_equal(home_size_fits(&have, 5 * MIB, 10, &why), -ENOSPC);
    assert_non_null(strstr(why, "5M are in the home, and the policy gives 5M (disk)"));
    free(why);
    assert_int_equal(home_size_fits(&have, 6 * MIB, 9, &why), -ENOSPC);
    assert_non_null(strstr(why, "10 files are in the home, and the policy gives 9 (disk_files)"));
    free(why);
    assert_int_equal(
        home_size_fits(&(struct home_size){.holes = (uint64_t)65 << 30}, 6 * MIB, 10, &why),
        -EFBIG);
    assert_non_null(strstr(why, "65G of the files in the home are holes, and with more than 64G"));
    free(why);
    why = NULL;
    assert_int_equal(
        home_size_fits(&(struct home_size){.holes = HOME_HOLES_MAX}, 6 * MIB, 10, &why), 0);
    assert_null(why);
    /* One that is still to be made is looked for above. */
    (void)snprintf(path, sizeof(path), "%s/images", p->top);
    assert_int_equal(home_size_has_room(&(struct home_size){.bytes = 1}, path, &why), 0);
    assert_null(why);
    assert_int_equal(
        home_size_has_room(&(struct home_size){.bytes = (uint64_t)1 << 60}, path, &why), -ENOSPC);
    free(why);
}

/* Return: of policy_disk_read(), which must leave what it does not read. */
static int read_text(const char *text, struct policy_disk *ret)
{
    struct text t = text_of(text, strlen(text));
    int r;

    *ret = (struct policy_disk){.bytes = 1, .files = 2};
    r = policy_disk_read(&t, ret);
    assert_true(r == 0 || (ret->bytes == 1 && ret->files == 2));
    text_done(&t);
    return r;
}

static void the_limits_are_those_of_the_user(void **state)
{
    struct policy_disk d;

    (void)state;
    assert_int_equal(read_text("run   disk           1M\nuser  profile        disk\n"
                               "user  disk           2G\nuser  disk_files     131072\n",
                               &d),
                     0);
    assert_int_equal(d.bytes, (uint64_t)2 << 30);
    assert_int_equal(d.files, 131072);
    assert_int_equal(read_text("user disk 98304K\nuser disk_files 8K\n", &d), 0);
    assert_int_equal(d.bytes, 96 * MIB);
    assert_int_equal(d.files, 8192);
    assert_int_equal(read_text("", &d), -EBADMSG);
    assert_int_equal(read_text("user disk 2G\n", &d), -EBADMSG);
    assert_int_equal(read_text("user disk\nuser disk_files 1\n", &d), -EBADMSG);
    assert_int_equal(read_text("user disk 2X\nuser disk_files 1\n", &d), -EBADMSG);
    assert_int_equal(read_text("user disk 2GG\nuser disk_files 1\n", &d), -EBADMSG);
    assert_int_equal(read_text("user disk -1\nuser disk_files 1\n", &d), -EBADMSG);
    assert_int_equal(read_text("user disk 99999999999T\nuser disk_files 1\n", &d), -EBADMSG);
    assert_int_equal(read_text("user disk none\nuser disk_files 1\n", &d), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(holes_and_second_names_take_nothing),
        TEST(what_does_not_fit_is_said),
        cmocka_unit_test(the_limits_are_those_of_the_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
