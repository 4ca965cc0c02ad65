/* SPDX-License-Identifier: ISC */
/* test_ctl_setup_traces.c - what setup finds of ours, and of participants, on a host: processes,
 * control groups. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "ctl/setup/file.h"
#include "ctl/setup/processes.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

static char scratch[] = "/tmp/atelier-traces-XXXXXX";

/* A file in the scratch directory, in a directory of its own or not. */
static char *file_make(const char *directory, const char *name, const char *text)
{
    cleanup_text struct text bytes = text_of(text, strlen(text));
    struct file f = {.text = bytes, .mode = 0644, .uid = geteuid(), .gid = getegid()};
    cleanup_free char *parent = NULL;
    char *path;

    assert_true(asprintf(&parent, "%s/%s", scratch, directory) > 0);
    assert_true(asprintf(&path, "%s/%s", parent, name) > 0);
    assert_true(mkdir(parent, 0755) == 0 || errno == EEXIST);
    assert_int_equal(file_write(path, &f), 0);
    return path;
}

static void every_uid_of_a_process_counts(void **state)
{
    static const struct {
        const char *pid, *status;
    } processes[] = {
        {"1", "Name:\tinit\nUmask:\t0000\nUid:\t0\t0\t0\t0\nGid:\t10000\t0\t0\t0\n"},
        {"20", "Name:\tsu\nUid:\t0\t0\t10001\t0\n"},
        {"21", "Name:\tsleep\nState:\tS\nUid:\t59999\t59999\t59999\t59999\n"},
        {"22", "Name:\tother\nUid:\t9999\t60000\t9999\t9999\n"},
        {"self", "Name:\tlink\nUid:\t10000\t10000\t10000\t10000\n"},
    };
    cleanup_text struct text found = {0};
    FILE *out = text_begin(&found);

    (void)state;
    for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++)
        free(file_make(processes[i].pid, "status", processes[i].status));
    assert_int_equal(processes_list(scratch, 10000, 59999, out), 2);
    text_end(&found, out);
    assert_non_null(strstr(found.bytes, "20 (uid 10001, su)"));
    assert_non_null(strstr(found.bytes, "21 (uid 59999, sleep)"));
    assert_int_equal(processes_list("/nonexistent", 1, 2, stderr), -ENOENT);
}

static void a_group_that_cannot_be_read_is_not_empty(void **state)
{
    cleanup_free char *full = file_make("full", "cgroup.events", "populated 1\nfrozen 0\n");
    cleanup_free char *empty = file_make("empty", "cgroup.events", "populated 0\nfrozen 0\n");
    cleanup_free char *odd = file_make("odd", "cgroup.events", "");
    cleanup_free char *loop = NULL;
    char path[128];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/full", scratch);
    assert_int_equal(cgroup_is_populated(path), 1);
    (void)snprintf(path, sizeof(path), "%s/empty", scratch);
    assert_int_equal(cgroup_is_populated(path), 0);
    (void)snprintf(path, sizeof(path), "%s/odd", scratch);
    assert_int_equal(cgroup_is_populated(path), 1);
    (void)snprintf(path, sizeof(path), "%s/none", scratch);
    assert_int_equal(cgroup_is_populated(path), 0);
    assert_true(asprintf(&loop, "%s/odd/cgroup.events", scratch) > 0);
    assert_int_equal(unlink(loop), 0);
    assert_int_equal(symlink("cgroup.events", loop), 0);
    (void)snprintf(path, sizeof(path), "%s/odd", scratch);
    assert_int_equal(cgroup_is_populated(path), -ELOOP);
}

static int scratch_make(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int scratch_remove(void **state)
{
    (void)state;
    return program_run(ARGV("/bin/rm", "-rf", "--", scratch), 60, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_uid_of_a_process_counts),
        cmocka_unit_test(a_group_that_cannot_be_read_is_not_empty),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
