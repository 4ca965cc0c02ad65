/* SPDX-License-Identifier: ISC */
/* test_ctl_setup_traces.c - what setup finds of ours, and of participants, on a host: processes,
 * control groups, services of PAM, lists of
 * sshd. */
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
#include "ctl/setup/pam.h"
#include "ctl/setup/processes.h"
#include "ctl/setup/program.h"
#include "ctl/setup/sshd.h"

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

static void services_without_the_common_account_are_named(void **state)
{
    static const char su[] = "auth sufficient pam_rootok.so\n@include common-auth\n"
                             "@include common-account\n";
    static const struct {
        const char *service;
        bool is_open;
    } services[] = {
        {su, false},
        {"@include common-auth\nsession required pam_permit.so\n", true},
        {"auth required pam_unix.so\naccount required pam_unix.so\n", true},
        {"auth required pam_unix.so\n-account include common-account\n", false},
        {"auth required pam_unix.so\naccount required pam_deny.so\n", false},
        {"auth required pam_unix.so\naccount optional pam_deny.so\n", true},
        {"@include common-password\n", false},
        {"# auth required pam_unix.so\n", false},
        /* Another service's stacks, each for its own type. */
        {"auth\tinclude\tsu\naccount\tinclude\tsu\nsession\tinclude\tsu\n", false},
        {"auth substack su\naccount required pam_permit.so\n", true},
        {"auth include su\naccount include own\n", true},
        {"auth include su\nauth include common-account\n", true},
        {"account include su\n", false},
        {"auth [success=1 default=ignore] pam_unix.so\naccount substack deep\n", false},
        {"auth include loop\naccount include loop\n", true},
        {"auth include none\n", false},
    };
    char directory[128];

    (void)state;
    (void)snprintf(directory, sizeof(directory), "%s/pam", scratch);
    free(file_make("pam", "su", su));
    free(file_make("pam", "own", "account required pam_unix.so\n"));
    free(file_make("pam", "deep", "@include deeper\n"));
    free(file_make("pam", "deeper", "account include common-account\n"));
    free(file_make("pam", "loop", "auth required pam_unix.so\n@include loop\n"));
    free(file_make("pam", "common-auth", "auth required pam_unix.so\n"));
    free(file_make("pam", "common-account", "account required pam_unix.so\n"));
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        free(file_make("pam", "service", services[i].service));
        if (pam_lets_in_unasked(directory, "service") != services[i].is_open)
            fail_msg("%s", services[i].service);
    }
}

static void lists_in_match_blocks_are_found_in_every_file(void **state)
{
    static const char text[] = "DenyGroups everybody\n"
                               "Include %s/ssh/d/*.conf\n"
                               "DenyGroups still\n"
                               "# Match User x\n"
                               "match User x\n"
                               "\tPasswordAuthentication no\n"
                               "\tdenygroups=a\n"
                               "Include \"%s/ssh/more\"\n";
    cleanup_text struct text found = {0};
    cleanup_free char *config = NULL;
    cleanup_free char *expected = NULL;
    cleanup_free char *path = NULL;
    FILE *out = text_begin(&found);

    (void)state;
    assert_true(asprintf(&config, text, scratch, scratch) > 0);
    assert_true(asprintf(&expected, "%s/ssh/d/1.conf:2, %s/ssh/config:7, %s/ssh/more:1", scratch,
                         scratch, scratch) > 0);
    path = file_make("ssh", "config", config);
    free(file_make("ssh/d", "1.conf", "Match all\n \"DenyGroups\" b\n"));
    free(file_make("ssh/d", "2.conf", "DenyGroups c\n"));
    free(file_make("ssh", "more", "DenyGroups d\n"));
    assert_int_equal(sshd_match_denials(path, out), 3);
    text_end(&found, out);
    assert_string_equal(found.bytes, expected);
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
        cmocka_unit_test(services_without_the_common_account_are_named),
        cmocka_unit_test(lists_in_match_blocks_are_found_in_every_file),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
