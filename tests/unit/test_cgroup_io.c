/* SPDX-License-Identifier: ISC */
/* test_cgroup_io.c - the files of the controller io, in a directory of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sessiond/monitor/cgroup_internal.h"

#include "common/banned.h"

static char dir[] = "/tmp/atelier-io-XXXXXX";
static struct cgroup_node user;

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    cgroup_node_init(&user);
    user.dirs[0] = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return user.dirs[0] < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlinkat(user.dirs[0], "io.weight", 0);
    (void)unlinkat(user.dirs[0], "io.max", 0);
    (void)close(user.dirs[0]);
    return rmdir(dir);
}

static void put(const char *name, const char *text)
{
    int fd = openat(user.dirs[0], name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static void without_the_controller_nothing_is_limited_and_nothing_is_said(void **state)
{
    const struct plan_cgroup plan = {.io_weight = 300, .io_read = 1 << 20, .io_write = 1 << 20};
    struct wire_receipt r = {.io_weight = 7, .io_read = 7, .io_write = 7};
    const char *what = "";

    (void)state;
    assert_int_equal(cgroup_io_limit(&user, &plan, &what), 0);
    cgroup_io_read(&user, &r);
    assert_int_equal(r.io_weight, 0);
    assert_int_equal(r.io_read, 0);
    assert_int_equal(r.io_write, 0);
    assert_true(cgroup_io_matches(&user, &plan, &r));
}

static void the_least_of_all_disks_is_what_holds(void **state)
{
    struct wire_receipt r = {0};

    (void)state;
    put("io.weight", "default 300\n254:0 50\n");
    put("io.max", "254:0 rbps=4194304 wbps=2097152 riops=max wiops=max\n"
                  "7:0 rbps=max wbps=1048576 riops=max wiops=max\n");
    cgroup_io_read(&user, &r);
    assert_int_equal(r.io_weight, 300);
    assert_int_equal(r.io_read, 4194304);
    assert_int_equal(r.io_write, 1048576);
    put("io.max", "");
    cgroup_io_read(&user, &r);
    assert_int_equal(r.io_read, 0);
    assert_int_equal(r.io_write, 0);
}

static void a_weight_that_is_another_one_does_not_match(void **state)
{
    const struct plan_cgroup plan = {.io_weight = 300};
    struct wire_receipt r = {.io_weight = 300};

    (void)state;
    put("io.weight", "default 100\n");
    put("io.max", "");
    assert_true(cgroup_io_matches(&user, &plan, &r));
    cgroup_io_read(&user, &r);
    assert_false(cgroup_io_matches(&user, &plan, &r));
}

static void the_weight_is_written(void **state)
{
    const struct plan_cgroup plan = {.io_weight = 4711};
    struct wire_receipt r = {0};
    char text[16] = {0};
    const char *what = "";
    int fd;

    (void)state;
    put("io.weight", "");
    assert_int_equal(cgroup_io_limit(&user, &plan, &what), 0);
    fd = openat(user.dirs[0], "io.weight", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
    (void)close(fd);
    assert_memory_equal(text, "4711", 4);
    /* A file that is no control group's has no "default". */
    cgroup_io_read(&user, &r);
    assert_int_equal(r.io_weight, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_controller_nothing_is_limited_and_nothing_is_said),
        cmocka_unit_test(the_least_of_all_disks_is_what_holds),
        cmocka_unit_test(a_weight_that_is_another_one_does_not_match),
        cmocka_unit_test(the_weight_is_written),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
