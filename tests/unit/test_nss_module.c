/* SPDX-License-Identifier: ISC */
/* test_nss_module.c - look-ups in the built module: answers, the gate, an index gone bad. */
#include "nss_module/nss_atelier.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/ids.h"
#include "tests/unit/index_build.h"
#include "tests/unit/nss_fixture.h"

#include "common/banned.h"

/* --- answers ------------------------------------------------------------------------------- */

static void users_and_groups_are_found_by_id_and_name(void **state)
{
    char buffer[ROOM];
    struct passwd pw;
    struct group gr;
    int error = 4711;

    (void)state;
    errno = 42;
    for (uint32_t i = 0; i < USER_COUNT; i++) {
        assert_int_equal(uid_ask(UID_FIRST + i, &pw, &error), NSS_STATUS_SUCCESS);
        assert_string_equal(pw.pw_name, users[i].name);
        assert_int_equal(nss.getpwnam_r(users[i].name, &pw, buffer, ROOM, &error),
                         NSS_STATUS_SUCCESS);
        passwd_check(&pw, buffer, ROOM);
        assert_int_equal(pw.pw_uid, UID_FIRST + i);
        assert_int_equal(pw.pw_gid, UID_FIRST + i);
        assert_string_equal(pw.pw_shell,
                            i == 1 || i == 2 ? "/usr/sbin/nologin" : "/usr/lib/atelier/shell");
        assert_int_equal(nss.getgrgid_r(UID_FIRST + i, &gr, buffer, ROOM, &error),
                         NSS_STATUS_SUCCESS);
        group_check(&gr, buffer, ROOM);
        assert_string_equal(gr.gr_name, users[i].name);
        assert_int_equal(nss.getgrnam_r(users[i].name, &gr, buffer, ROOM, &error),
                         NSS_STATUS_SUCCESS);
        group_check(&gr, buffer, ROOM);
        assert_int_equal(gr.gr_gid, UID_FIRST + i);
    }
    assert_int_equal(errno, 42);
    assert_int_equal(error, 4711);
}

static void miss_is_notfound_and_touches_neither_errno_nor_result(void **state)
{
    struct passwd pw, pw_before;
    struct group gr, gr_before;
    char buffer[ROOM];
    int error = 4711;

    (void)state;
    memset(&pw, 0x5a, sizeof(pw));
    memset(&gr, 0x5a, sizeof(gr));
    pw_before = pw;
    gr_before = gr;
    errno = 42;
    assert_int_equal(nss.getpwuid_r(20000, &pw, buffer, ROOM, &error), NSS_STATUS_NOTFOUND);
    assert_int_equal(nss.getpwnam_r("nobody-here", &pw, buffer, ROOM, &error), NSS_STATUS_NOTFOUND);
    assert_int_equal(nss.getgrgid_r(20000, &gr, buffer, ROOM, &error), NSS_STATUS_NOTFOUND);
    assert_int_equal(nss.getgrnam_r("nobody-here", &gr, buffer, ROOM, &error), NSS_STATUS_NOTFOUND);
    /* Of a miss a caller with no room is told NOTFOUND as well: ERANGE would make it try again. */
    assert_int_equal(nss.getpwuid_r(20000, &pw, buffer, 0, &error), NSS_STATUS_NOTFOUND);
    assert_int_equal(errno, 42);
    assert_int_equal(error, 4711);
    assert_memory_equal(&pw, &pw_before, sizeof(pw));
    assert_memory_equal(&gr, &gr_before, sizeof(gr));
}

static void answer_stays_when_the_index_is_replaced(void **state)
{
    char buffer[ROOM];
    struct passwd pw;
    int error;

    (void)state;
    assert_int_equal(nss.getpwnam_r("user5", &pw, buffer, ROOM, &error), NSS_STATUS_SUCCESS);
    assert_int_equal(index_publish(50, 10, 2), 0);
    passwd_check(&pw, buffer, ROOM);
    assert_string_equal(pw.pw_name, "user5");
    assert_int_equal(nss.getpwnam_r("user5", &pw, buffer, ROOM, &error), NSS_STATUS_NOTFOUND);
    assert_int_equal(uid_ask(UID_FIRST + 55, &pw, &error), NSS_STATUS_SUCCESS);
}

/* --- the gate ------------------------------------------------------------------------------ */

/* A child that may only read, write and exit (seccomp(2), strict). Return: its wait status. */
static int strict_child(const struct module *m, bool ask_own)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        char buffer[ROOM];
        struct passwd pw;
        int error, bad = 0;

        if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
            _exit(99);
        if (ask_own)
            (void)m->getpwuid_r(UID_FIRST, &pw, buffer, ROOM, &error);
        else
            bad = foreign_keys_ask(m);
        (void)syscall(SYS_exit, bad);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void foreign_ids_and_names_are_notfound_without_a_system_call(void **state)
{
    int status;

    (void)state;
    assert_int_equal(foreign_keys_ask(&nss), 0);
    assert_int_equal(foreign_keys_ask(&shipped), 0);
    status = strict_child(&nss, false);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    status = strict_child(&shipped, false);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    /* The control: a key of ours takes system calls, and the kernel ends the child at the first. */
    status = strict_child(&nss, true);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* --- outages ------------------------------------------------------------------------------- */

static void outage_check(int want_errno)
{
    long start = 0, size = 0;
    gid_t *list = NULL;
    char buffer[ROOM];
    struct passwd pw;
    struct group gr;
    int error = 0;

    errno = 42;
    assert_int_equal(uid_ask(UID_FIRST, &pw, &error), NSS_STATUS_UNAVAIL);
    assert_int_equal(error, want_errno);
    assert_int_equal(nss.getpwnam_r("user0", &pw, buffer, ROOM, &error), NSS_STATUS_UNAVAIL);
    assert_int_equal(nss.getgrgid_r(UID_FIRST, &gr, buffer, ROOM, &error), NSS_STATUS_UNAVAIL);
    assert_int_equal(nss.getgrnam_r("user0", &gr, buffer, ROOM, &error), NSS_STATUS_UNAVAIL);
    assert_int_equal(nss.getpwent_r(&pw, buffer, ROOM, &error), NSS_STATUS_UNAVAIL);
    assert_int_equal(nss.getgrent_r(&gr, buffer, ROOM, &error), NSS_STATUS_UNAVAIL);
    assert_int_equal(nss.initgroups_dyn("user0", UID_FIRST, &start, &size, &list, -1, &error),
                     NSS_STATUS_UNAVAIL);
    assert_int_equal(start, 0);
    assert_int_equal(error, want_errno);
    assert_int_equal(errno, 42);
    /* An outage of ours is nothing to local accounts. */
    assert_int_equal(foreign_keys_ask(&nss), 0);
}

static void index_that_cannot_be_trusted_is_unavail(void **state)
{
    unsigned char *file;
    struct passwd pw;
    size_t size;
    int error;

    (void)state;
    assert_int_equal(uid_ask(UID_FIRST, &pw, &error), NSS_STATUS_SUCCESS);
    assert_int_equal(chmod(INDEX_PATH, 0664), 0);
    outage_check(EIO);
    file = file_load(INDEX_PATH, &size);
    assert_non_null(file);
    assert_int_equal(file_store(INDEX_PATH, file, size - 1), 0);
    outage_check(EBADMSG);
    HEADER_SET(file, version, INDEX_VERSION + 1);
    assert_int_equal(file_store(INDEX_PATH, file, size), 0);
    outage_check(EPROTONOSUPPORT);
    free(file);
    assert_int_equal(unlink(INDEX_PATH), 0);
    outage_check(ENOENT);
    assert_int_equal(index_setup(NULL), 0);
    assert_int_equal(uid_ask(UID_FIRST, &pw, &error), NSS_STATUS_SUCCESS);
}

static void file_of_another_user_is_unavail(void **state)
{
    struct passwd pw;
    int error;

    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    assert_int_equal(uid_ask(UID_FIRST, &pw, &error), NSS_STATUS_SUCCESS);
    assert_int_equal(chown(INDEX_PATH, 12345, 12345), 0);
    outage_check(EIO);
}

static void forged_index_gives_no_group_to_a_local_account(void **state)
{
    const struct index_user root[] = {{10001, 10001, 0, "root"}};
    const struct index_members m[] = {{"root", gids_of_first, 5}};
    const struct index_content forged = {
        .users = root, .user_count = 1, .members = m, .member_count = 1};
    long start = 1, size = 1;
    gid_t *list = calloc(1, sizeof(*list));
    int error;

    (void)state;
    assert_non_null(list);
    assert_int_equal(index_build(INDEX_PATH, &forged), 0);
    assert_int_equal(nss.initgroups_dyn("root", 0, &start, &size, &list, -1, &error),
                     NSS_STATUS_NOTFOUND);
    assert_int_equal(start, 1);
    /* The file does hold them: with a gid of ours they come. */
    assert_int_equal(nss.initgroups_dyn("root", 10001, &start, &size, &list, -1, &error),
                     NSS_STATUS_SUCCESS);
    assert_int_equal(start, 6);
    free(list);
}

static void flipped_bytes_never_bring_out_a_foreign_id_or_path(void **state)
{
    unsigned char *file, *bad;
    uint32_t seed = 0x4e535321;
    char buffer[ROOM];
    size_t size;

    (void)state;
    assert_int_equal(index_publish(0, 4, 1), 0);
    file = file_load(INDEX_PATH, &size);
    bad = malloc(size);
    assert_true(file && bad);
    for (int round = 0; round < 3000; round++) {
        struct passwd pw;
        struct group gr;
        int error = 0;

        memcpy(bad, file, size);
        for (uint32_t flips = 1 + noise(&seed) % 8; flips > 0; flips--)
            bad[noise(&seed) % size] = (unsigned char)noise(&seed);
        assert_int_equal(file_store(INDEX_PATH, bad, size), 0);
        nss.setpwent(0);
        for (uint32_t i = 0; i < 4; i++) {
            if (uid_ask(UID_FIRST + i, &pw, &error) == NSS_STATUS_SUCCESS)
                assert_int_equal(pw.pw_uid, UID_FIRST + i);
            if (nss.getpwnam_r(users[i].name, &pw, buffer, ROOM, &error) == NSS_STATUS_SUCCESS) {
                passwd_check(&pw, buffer, ROOM);
                assert_string_equal(pw.pw_name, users[i].name);
            }
            if (nss.getgrgid_r(10000 + i, &gr, buffer, ROOM, &error) == NSS_STATUS_SUCCESS)
                group_check(&gr, buffer, ROOM);
            if (nss.getpwent_r(&pw, buffer, ROOM, &error) == NSS_STATUS_SUCCESS)
                passwd_check(&pw, buffer, ROOM);
        }
    }
    free(bad);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(users_and_groups_are_found_by_id_and_name, index_setup),
        cmocka_unit_test_setup(miss_is_notfound_and_touches_neither_errno_nor_result, index_setup),
        cmocka_unit_test_setup(answer_stays_when_the_index_is_replaced, index_setup),
        cmocka_unit_test_setup(foreign_ids_and_names_are_notfound_without_a_system_call,
                               index_setup),
        cmocka_unit_test_setup(index_that_cannot_be_trusted_is_unavail, index_setup),
        cmocka_unit_test_setup(file_of_another_user_is_unavail, index_setup),
        cmocka_unit_test_setup(forged_index_gives_no_group_to_a_local_account, index_setup),
        cmocka_unit_test_setup(flipped_bytes_never_bring_out_a_foreign_id_or_path, index_setup),
    };

    return cmocka_run_group_tests(tests, nss_setup, nss_teardown);
}
