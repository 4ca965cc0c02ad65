/* SPDX-License-Identifier: ISC */
/* test_hosttree.c - which directories of the host are not even looked at. */
#include "sessiond/monitor/hosttree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/banned.h"

static const char host[] =
    "22 1 8:1 / / rw,relatime shared:1 - nfs4 server:/root rw\n"
    "24 22 0:21 / /proc rw - proc proc rw\n"
    "30 22 8:2 / /srv rw,relatime shared:9 master:3 - ext4 /dev/sda2 rw\n"
    "31 30 0:40 / /srv/web rw,nosuid shared:10 - fuse.sshfs me@there:/ rw,user_id=0\n"
    "32 22 0:41 / /mnt/nfs rw shared:11 - nfs4 server:/export rw,vers=4.2\n"
    "33 22 0:42 / /data rw shared:12 - autofs systemd-1 rw,fd=30\n"
    "34 33 8:3 / /data/disk rw shared:13 - ext4 /dev/sdb1 rw\n"
    "35 22 0:43 / /opt/win rw - smb3 //server/share rw\n"
    "36 22 0:44 / /opt/win9 rw - cifs //server/share rw\n"
    "37 22 0:45 / /opt/host rw - 9p share rw\n"
    "38 22 0:46 / /opt/ceph rw - ceph 10.0.0.1:/ rw\n"
    "39 22 0:47 / /opt/with\\040blank rw - fuse x rw\n"
    "40 22 0:48 / /opt/local rw - xfs /dev/fuse rw\n"
    "41 22 0:49 / /opt/tape rw - fuseblk /dev/sdc rw";

static int check(const char *text, const char *path)
{
    FILE *mountinfo = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    int r;

    assert_non_null(mountinfo);
    r = hosttree_check(mountinfo, path);
    (void)fclose(mountinfo);
    return r;
}

static void what_a_server_answers_for_is_not_touched(void **state)
{
    static const char *const theirs[] = {
        "/srv/web",   "/srv/web/a/b", "/mnt/nfs",    "/mnt/nfs/course", "/data/disk/course",
        "/opt/win/x", "/opt/win9",    "/opt/host/x", "/opt/ceph/x",     "/opt/tape",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
        if (check(host, theirs[i]) != -EREMOTE)
            fail_msg("%s", theirs[i]);
    }
}

/* What is mounted below a tree does not come along; the root is where sessiond is, too. */
static void what_lies_beside_it_is(void **state)
{
    static const char *const ours[] = {
        "/srv",      "/srv/webs", "/srv/we",         "/opt/course", "/mnt",
        "/opt/win1", "/opt",      "/opt/local/deep", "/dat",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (check(host, ours[i]) != 0)
            fail_msg("%s", ours[i]);
    }
}

static void what_is_not_understood_is_no_yes(void **state)
{
    static const char *const texts[] = {
        "\n",
        "22 1 8:1 / /\n",
        "22 1 8:1 / / rw,relatime shared:1 ext4 /dev/sda1 rw\n",
        "22 1 8:1 / / rw,relatime shared:1 -\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(check(texts[i], "/srv"), -EBADMSG);
}

/* This machine's own, and one that is not there: the positive control of the lines above. */
static void the_kernels_own_lines_are_understood(void **state)
{
    FILE *mountinfo = fopen("/proc/self/mountinfo", "re");

    (void)state;
    assert_non_null(mountinfo);
    assert_int_equal(hosttree_check(mountinfo, "/nonexistent/atelier"), 0);
    (void)fclose(mountinfo);
}

/* A real one: whoever looks at it waits for an answer that never comes, and SIGALRM ends the test.
 */
static void a_silent_server_stops_nobody(void **state)
{
    char dir[] = "/tmp/atelier-hosttree-XXXXXX", options[96];
    int server = open("/dev/fuse", O_RDWR | O_CLOEXEC), fds[PLAN_MOUNTS_MAX];
    struct plan plan = {.tree_count = 1};
    const char *what = NULL;

    (void)state;
    if (server < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
        skip();
    assert_non_null(mkdtemp(dir));
    (void)snprintf(plan.trees[0], sizeof(plan.trees[0]), "%s", dir);
    assert_int_equal(hosttree_open(&plan, fds, &what), 0);
    hosttree_close(&plan, fds);
    (void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", server);
    assert_int_equal(mount("silent", dir, "fuse", 0, options), 0);
    (void)snprintf(plan.trees[0], sizeof(plan.trees[0]), "%s/x", dir);
    (void)alarm(5);
    assert_int_equal(hosttree_open(&plan, fds, &what), -EREMOTE);
    (void)alarm(0);
    assert_string_equal(what, plan.trees[0]);
    assert_int_equal(umount2(dir, MNT_DETACH), 0);
    (void)close(server);
    assert_int_equal(rmdir(dir), 0);
}

/* The process of the receipt is this one: what it has at the path is what was opened, or not. */
static void another_directory_at_the_path_is_noticed(void **state)
{
    char dir[] = "/tmp/atelier-hosttree-XXXXXX", first[64], second[64], third[64];
    struct hosttree_id ids[PLAN_MOUNTS_MAX];
    struct plan plan = {.tree_count = 2};
    int fds[PLAN_MOUNTS_MAX];
    const char *what = NULL;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(first, sizeof(first), "%s/first", dir);
    (void)snprintf(second, sizeof(second), "%s/second", dir);
    (void)snprintf(third, sizeof(third), "%s/third", dir);
    assert_true(mkdir(first, 0755) == 0 && mkdir(second, 0755) == 0);
    (void)snprintf(plan.trees[0], sizeof(plan.trees[0]), "%s", first);
    (void)snprintf(plan.trees[1], sizeof(plan.trees[1]), "%s", second);
    assert_int_equal(hosttree_open(&plan, fds, &what), 0);
    assert_int_equal(hosttree_identify(&plan, fds, ids), 0);
    hosttree_close(&plan, fds);
    assert_int_equal(hosttree_verify(getpid(), &plan, ids), 0);
    assert_int_equal(rename(second, third), 0);
    assert_int_equal(hosttree_verify(getpid(), &plan, ids), -ENOENT);
    assert_int_equal(mkdir(second, 0755), 0);
    assert_int_equal(hosttree_verify(getpid(), &plan, ids), -EPERM);
    assert_true(rmdir(first) == 0 && rmdir(second) == 0 && rmdir(third) == 0 && rmdir(dir) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_server_answers_for_is_not_touched),
        cmocka_unit_test(what_lies_beside_it_is),
        cmocka_unit_test(what_is_not_understood_is_no_yes),
        cmocka_unit_test(the_kernels_own_lines_are_understood),
        cmocka_unit_test(another_directory_at_the_path_is_noticed),
        cmocka_unit_test(a_silent_server_stops_nobody),
    };

    return cmocka_run_group_tests_name("hosttree", tests, NULL, NULL);
}
