/* SPDX-License-Identifier: ISC */
/*
 * test_session_store.c - what a restarted sessiond finds of its sessions.
 *
 * The file under test is included, with a directory of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#undef ATELIER_RUN_DIR
#define ATELIER_RUN_DIR "run"
#include "sessiond/monitor/session_store.c"

#include "common/banned.h"

#define ID_ONE "0123456789abcdef0123456789abcdef"
#define ID_TWO "fedcba9876543210fedcba9876543210"

static struct session_record record_of(const char *session_id)
{
    struct session_record r = {.uid = 10001,
                               .holder_pid = 4711,
                               .init_pid = 4712,
                               .slot = 3,
                               .is_scoped = 1,
                               .holder_start = 1234567,
                               .init_start = 1234568,
                               .started_us = 1700000000123456,
                               .receipt = {.pid = 4711, .seccomp = 2}};

    assert_int_equal(str_copy(r.session_id, sizeof(r.session_id), session_id), 0);
    assert_int_equal(str_copy(r.name, sizeof(r.name), "alice"), 0);
    assert_int_equal(str_copy(r.service, sizeof(r.service), "atelier-sshd"), 0);
    assert_int_equal(str_copy(r.rhost, sizeof(r.rhost), "198.51.100.7"), 0);
    return r;
}

struct found {
    size_t n;
    struct session_record last;
};

static void record_found(void *arg, const struct session_record *record)
{
    struct found *f = arg;

    f->n++;
    f->last = *record;
}

/* Return: how many are broken. */
static int store_read(struct found *ret)
{
    *ret = (struct found){0};
    return session_store_each(record_found, ret);
}

static bool store_has(const char *name)
{
    return faccessat(store_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void store_write(const char *name, const void *data, size_t size)
{
    cleanup_close int fd = openat(store_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, data, size), 0);
}

static int directory_enter(void **state)
{
    static char path[] = "/tmp/test-store-XXXXXX";

    (void)state;
    return mkdtemp(path) && chdir(path) == 0 && mkdir("run", 0755) == 0 ? 0 : -1;
}

static int directory_leave(void **state)
{
    char path[64];

    (void)state;
    return rmdir("run") == 0 && getcwd(path, sizeof(path)) && chdir("/") == 0 && rmdir(path) == 0
               ? 0
               : -1;
}

static bool needs_root(void)
{
    if (geteuid() == 0)
        return false;
    print_message("skipped: the directory has to be root's\n");
    return true;
}

static int store_open(void **state)
{
    (void)state;
    return geteuid() != 0 ? 0 : session_store_init();
}

static int store_close(void **state)
{
    struct found f;

    (void)state;
    if (store_fd < 0)
        return 0;
    (void)store_read(&f); /* what is broken is put away */
    session_store_drop(ID_ONE);
    session_store_drop(ID_TWO);
    (void)close(store_fd);
    store_fd = -1;
    return rmdir(STORE_DIR);
}

/* --- the directory -------------------------------------------------------------------------- */

static void the_directory_is_made_for_root_alone(void **state)
{
    struct stat st;

    (void)state;
    if (needs_root())
        skip();
    assert_int_equal(stat(STORE_DIR, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(st.st_uid, 0);
    (void)close(store_fd);
    assert_int_equal(session_store_init(), 0); /* it may be there already */
}

static void a_directory_that_others_reach_is_refused(void **state)
{
    int before = store_fd;

    (void)state;
    if (needs_root())
        skip();
    assert_int_equal(chmod(STORE_DIR, 0750), 0);
    assert_int_equal(session_store_init(), -EPERM);
    assert_int_equal(chmod(STORE_DIR, 0700), 0);
    assert_int_equal(chown(STORE_DIR, 10001, 0), 0);
    assert_int_equal(session_store_init(), -EPERM);
    assert_int_equal(chown(STORE_DIR, 0, 0), 0);
    assert_int_equal(store_fd, before);
    assert_int_equal(session_store_init(), 0); /* positive control */
    (void)close(before);
}

static void a_link_in_place_of_the_directory_is_refused(void **state)
{
    (void)state;
    if (needs_root())
        skip();
    assert_int_equal(rename(STORE_DIR, "run/away"), 0);
    assert_int_equal(symlink("away", STORE_DIR), 0);
    assert_int_equal(session_store_init(), -ENOTDIR);
    assert_int_equal(unlink(STORE_DIR), 0);
    assert_int_equal(rename("run/away", STORE_DIR), 0);
}

/* --- records -------------------------------------------------------------------------------- */

static void a_record_is_found_as_it_was_put(void **state)
{
    struct session_record r = record_of(ID_ONE);
    struct found f;

    (void)state;
    if (needs_root())
        skip();
    assert_int_equal(session_store_put(&r), 0);
    assert_int_equal(store_read(&f), 0);
    assert_int_equal(f.n, 1);
    assert_memory_equal(&f.last, &r, sizeof(r));
    assert_false(store_has(TEMP_PREFIX ID_ONE));

    r.slot = 9;
    assert_int_equal(session_store_put(&r), 0);
    assert_int_equal(store_read(&f), 0);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.last.slot, 9);

    r = record_of(ID_TWO);
    assert_int_equal(session_store_put(&r), 0);
    assert_int_equal(store_read(&f), 0);
    assert_int_equal(f.n, 2);
}

static void a_record_that_is_dropped_is_forgotten(void **state)
{
    struct session_record r = record_of(ID_ONE);
    struct found f;

    (void)state;
    if (needs_root())
        skip();
    assert_int_equal(session_store_put(&r), 0);
    session_store_drop(ID_ONE);
    assert_int_equal(store_read(&f), 0);
    assert_int_equal(f.n, 0);
    session_store_drop(ID_ONE); /* fine if it is not there */
}

static void record_drop(void *arg, const struct session_record *record)
{
    size_t *n = arg;

    (*n)++;
    session_store_drop(record->session_id);
}

static void whoever_reads_may_drop(void **state)
{
    struct session_record one = record_of(ID_ONE), two = record_of(ID_TWO);
    struct found f;
    size_t n = 0;

    (void)state;
    if (needs_root())
        skip();
    assert_int_equal(session_store_put(&one), 0);
    assert_int_equal(session_store_put(&two), 0);
    assert_int_equal(session_store_each(record_drop, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(store_read(&f), 0);
    assert_int_equal(f.n, 0);
}

static void a_record_that_cannot_be_put_leaves_nothing(void **state)
{
    struct session_record r = record_of(ID_ONE);

    (void)state;
    if (needs_root())
        skip();
    assert_int_equal(mkdirat(store_fd, ID_ONE, 0700), 0);
    assert_int_equal(session_store_put(&r), -EISDIR);
    assert_false(store_has(TEMP_PREFIX ID_ONE));
    assert_int_equal(unlinkat(store_fd, ID_ONE, AT_REMOVEDIR), 0);
    /* What a crash left of an earlier try is not in the way. */
    store_write(TEMP_PREFIX ID_ONE, "x", 1);
    assert_int_equal(session_store_put(&r), 0);
    assert_false(store_has(TEMP_PREFIX ID_ONE));
}

/* --- records that are none ------------------------------------------------------------------- */

/* The only one in the store: it is not found, counted, and put away. */
static void assert_broken(const char *name)
{
    struct found f;

    assert_true(store_has(name));
    assert_int_equal(store_read(&f), 1);
    assert_int_equal(f.n, 0);
    assert_false(store_has(name));
}

static void torn_records_are_put_away(void **state)
{
    static const size_t sizes[] = {0, 1, 4, sizeof(struct session_record) / 2,
                                   sizeof(struct session_record) - 1};
    struct session_record r = record_of(ID_ONE);
    struct found f;

    (void)state;
    if (needs_root())
        skip();
    r.version = RECORD_VERSION;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        store_write(ID_ONE, &r, sizes[i]);
        assert_broken(ID_ONE);
    }
    store_write(ID_ONE, &r, sizeof(r)); /* positive control */
    assert_int_equal(store_read(&f), 0);
    assert_int_equal(f.n, 1);
}

/* As version 1 wrote it: all but the last fields of the receipt. */
static void a_record_of_an_earlier_version_is_read_and_what_it_lacks_is_0(void **state)
{
    struct session_record r = record_of(ID_ONE);
    struct found f;

    (void)state;
    if (needs_root())
        skip();
    assert_true(record_sizes[0] < sizeof(r));
    r.version = 1;
    r.receipt.canary_age_ms = 77;
    r.receipt.cgroup_swap_max = 5;
    store_write(ID_ONE, &r, record_sizes[0]);
    assert_int_equal(store_read(&f), 0);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.last.receipt.canary_age_ms, 77);
    assert_int_equal(f.last.receipt.cgroup_swap_max, 0);
    assert_int_equal(f.last.receipt.cgroup_mode, WIRE_CGROUP_NONE);
    /* Version 2 has those, and not what came then. */
    r.version = 2;
    r.receipt.filter_how = WIRE_FILTER_KERNEL;
    store_write(ID_ONE, &r, record_sizes[1]);
    assert_int_equal(store_read(&f), 0);
    assert_int_equal(f.last.receipt.cgroup_swap_max, 5);
    assert_int_equal(f.last.receipt.filter_how, WIRE_FILTER_UNKNOWN);
    /* Its size does not fit another version. */
    r.version = RECORD_VERSION;
    for (size_t i = 0; i < RECORD_VERSION - 1; i++) {
        store_write(ID_ONE, &r, record_sizes[i]);
        assert_broken(ID_ONE);
    }
}

static void records_of_another_version_are_put_away(void **state)
{
    struct session_record r = record_of(ID_ONE);

    (void)state;
    if (needs_root())
        skip();
    for (uint32_t version = 0; version <= RECORD_VERSION + 1; version++) {
        if (version == RECORD_VERSION)
            continue;
        r.version = version;
        store_write(ID_ONE, &r, sizeof(r));
        assert_broken(ID_ONE);
    }
}

static void records_with_a_field_that_cannot_be_are_put_away(void **state)
{
    struct session_record good = record_of(ID_ONE), r;

    (void)state;
    if (needs_root())
        skip();
    good.version = RECORD_VERSION;
    store_write(ID_TWO, &good, sizeof(good)); /* under another's name */
    assert_broken(ID_TWO);
    r = good;
    /* Without an end, so that it would go on with the name behind it. */
    memset(r.session_id, '0', sizeof(r.session_id));
    store_write("000000000000000000000000000000000000alice", &r, sizeof(r));
    assert_broken("000000000000000000000000000000000000alice");
    r = good;
    memset(r.service, 'x', sizeof(r.service));
    store_write(ID_ONE, &r, sizeof(r));
    assert_broken(ID_ONE);
    r = good;
    memset(r.rhost, 'x', sizeof(r.rhost));
    store_write(ID_ONE, &r, sizeof(r));
    assert_broken(ID_ONE);
    r = good;
    memset(r.name, 'x', sizeof(r.name));
    store_write(ID_ONE, &r, sizeof(r));
    assert_broken(ID_ONE);
    r = good;
    r.name[0] = '/';
    store_write(ID_ONE, &r, sizeof(r));
    assert_broken(ID_ONE);
}

static void what_is_no_file_is_put_away(void **state)
{
    struct session_record r = record_of(ID_ONE);

    (void)state;
    if (needs_root())
        skip();
    r.version = RECORD_VERSION;
    store_write("../target", &r, sizeof(r));
    assert_int_equal(symlinkat("../target", store_fd, ID_ONE), 0);
    assert_broken(ID_ONE);
    assert_int_equal(unlink("run/target"), 0); /* what it named is still there */
    assert_int_equal(mknodat(store_fd, ID_ONE, S_IFIFO | 0600, 0), 0);
    assert_broken(ID_ONE); /* nobody waits for its other end */
}

static void what_a_crash_left_is_put_away_without_a_word(void **state)
{
    struct session_record r = record_of(ID_ONE);
    struct found f;

    (void)state;
    if (needs_root())
        skip();
    assert_int_equal(session_store_put(&r), 0);
    store_write(TEMP_PREFIX ID_TWO, &r, sizeof(r) / 2);
    store_write("nonsense", "x", 1);
    assert_int_equal(store_read(&f), 1); /* the nonsense */
    assert_false(store_has(TEMP_PREFIX ID_TWO));
    assert_false(store_has("nonsense"));
    assert_int_equal(f.n, 1); /* the good one beside them is found */
    assert_memory_equal(&f.last, &r, sizeof(r));
}

/* --- when a process began --------------------------------------------------------------------- */

static pid_t child_start(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever the test does */
        for (;;)
            (void)pause();
    }
    return pid;
}

static void child_end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Several ticks of proc(5): sysconf(_SC_CLK_TCK) is 100. */
static void ticks_pass(void)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000000L};

    (void)nanosleep(&pause, NULL);
}

static void a_name_of_any_kind_does_not_hide_the_start(void **state)
{
    static const char *const names[] = {"a b c",       ")",       "((",
                                        ") S 1 1 1 (", "a)\nb (", "1) 2 3 4 5 6"};
    uint64_t start, again;
    char before[16];

    (void)state;
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    assert_int_equal(process_start((uint32_t)getpid(), &start), 0);
    assert_true(start > 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        again = 0;
        assert_int_equal(process_start((uint32_t)getpid(), &again), 0);
        assert_int_equal(again, start);
    }
    (void)prctl(PR_SET_NAME, before);
}

static void processes_begin_one_after_another(void **state)
{
    uint64_t first, second;
    pid_t one, two;

    (void)state;
    one = child_start();
    ticks_pass();
    two = child_start();
    assert_int_equal(process_start((uint32_t)one, &first), 0);
    assert_int_equal(process_start((uint32_t)two, &second), 0);
    assert_true(second > first);
    child_end(one);
    child_end(two);
}

static void a_process_that_is_gone_has_no_start(void **state)
{
    pid_t pid = child_start();
    uint64_t start = 42;

    (void)state;
    assert_int_equal(process_start((uint32_t)pid, &start), 0);
    child_end(pid);
    start = 42;
    assert_int_equal(process_start((uint32_t)pid, &start), -ESRCH);
    assert_int_equal(process_start(0, &start), -ESRCH);
    assert_int_equal(process_start(UINT32_MAX, &start), -ESRCH);
    assert_int_equal(start, 42);
}

/* Another process with this number. Return: false if that is not allowed, or it is taken. */
static bool child_start_as(pid_t wanted)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    if (pid == 0) {
        for (;;)
            (void)pause();
    }
    return pid == wanted;
}

static void a_number_that_is_used_again_is_told_apart(void **state)
{
    uint64_t first, second;
    pid_t pid;

    (void)state;
    pid = child_start();
    assert_int_equal(process_start((uint32_t)pid, &first), 0);
    child_end(pid);
    ticks_pass();
    if (!child_start_as(pid)) {
        print_message("skipped: no process with a chosen number (%s)\n", strerror(errno));
        skip();
    }
    assert_int_equal(process_start((uint32_t)pid, &second), 0);
    assert_true(second > first);
    child_end(pid);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, store_open, store_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(the_directory_is_made_for_root_alone),
        WITH_STORE(a_directory_that_others_reach_is_refused),
        WITH_STORE(a_link_in_place_of_the_directory_is_refused),
        WITH_STORE(a_record_is_found_as_it_was_put),
        WITH_STORE(a_record_that_is_dropped_is_forgotten),
        WITH_STORE(whoever_reads_may_drop),
        WITH_STORE(a_record_that_cannot_be_put_leaves_nothing),
        WITH_STORE(torn_records_are_put_away),
        WITH_STORE(a_record_of_an_earlier_version_is_read_and_what_it_lacks_is_0),
        WITH_STORE(records_of_another_version_are_put_away),
        WITH_STORE(records_with_a_field_that_cannot_be_are_put_away),
        WITH_STORE(what_is_no_file_is_put_away),
        WITH_STORE(what_a_crash_left_is_put_away_without_a_word),
        cmocka_unit_test(a_name_of_any_kind_does_not_hide_the_start),
        cmocka_unit_test(processes_begin_one_after_another),
        cmocka_unit_test(a_process_that_is_gone_has_no_start),
        cmocka_unit_test(a_number_that_is_used_again_is_told_apart),
    };

    return cmocka_run_group_tests(tests, directory_enter, directory_leave);
}
