/* SPDX-License-Identifier: ISC */
/*
 * test_utmp.c - records of sessions in utmp and wtmp.
 *
 * The file under test is included, with paths below a directory of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

#include "common/cleanup.h"
#include "common/fd.h"

#undef _PATH_UTMP
#undef _PATH_WTMP
#define _PATH_UTMP "utmp"
#define _PATH_WTMP "wtmp"
#include "sessiond/monitor/utmp.c"

#include "common/banned.h"

#define RECORDS_MAX 8

static const struct utmp_entry alice = {
    .slot = 3, .pid = 4711, .user = "alice", .rhost = "198.51.100.7", .at_us = 1700000000123456};

static void file_write(const char *path, const void *data, size_t size)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, data, size), 0);
}

/* Return: how many records; the file holds nothing else. */
static size_t file_records(const char *path, struct utmp ret[RECORDS_MAX])
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n;

    assert_true(fd >= 0);
    assert_int_equal(fd_read_full(fd, ret, RECORDS_MAX * sizeof(*ret), &n), 0);
    assert_int_equal(n % sizeof(*ret), 0);
    return n / sizeof(*ret);
}

static int directory_enter(void **state)
{
    static char path[] = "/tmp/test-utmp-XXXXXX";

    (void)state;
    return mkdtemp(path) && chdir(path) == 0 ? 0 : -1;
}

static int directory_leave(void **state)
{
    char path[64];

    (void)state;
    return getcwd(path, sizeof(path)) && chdir("/") == 0 && rmdir(path) == 0 ? 0 : -1;
}

static int files_make(void **state)
{
    (void)state;
    file_write("utmp", "", 0);
    file_write("wtmp", "", 0);
    return 0;
}

static int files_remove(void **state)
{
    (void)state;
    (void)unlink("utmp");
    (void)unlink("wtmp");
    (void)unlink("target");
    return 0;
}

/* --- what is written ------------------------------------------------------------------------ */

static void a_login_is_recorded_with_all_its_fields(void **state)
{
    struct utmp u[RECORDS_MAX], w[RECORDS_MAX];
    struct in_addr v4;

    (void)state;
    assert_int_equal(utmp_login(&alice), 0);
    assert_int_equal(file_records("utmp", u), 1);
    assert_int_equal(u[0].ut_type, USER_PROCESS);
    assert_int_equal(u[0].ut_pid, 4711);
    assert_string_equal(u[0].ut_line, "atelier/3");
    assert_memory_equal(u[0].ut_id, "A/03", 4);
    assert_string_equal(u[0].ut_user, "alice");
    assert_string_equal(u[0].ut_host, "198.51.100.7");
    assert_int_equal(u[0].ut_tv.tv_sec, 1700000000);
    assert_int_equal(u[0].ut_tv.tv_usec, 123456);
    assert_int_equal(inet_pton(AF_INET, "198.51.100.7", &v4), 1);
    assert_int_equal((uint32_t)u[0].ut_addr_v6[0], v4.s_addr);
    assert_int_equal(u[0].ut_addr_v6[1], 0);
    assert_int_equal(file_records("wtmp", w), 1);
    assert_memory_equal(w, u, sizeof(u[0]));
}

static void an_address_of_version_six_is_recorded_whole(void **state)
{
    struct utmp_entry e = alice;
    struct utmp u[RECORDS_MAX];
    struct in6_addr v6;

    (void)state;
    e.rhost = "2001:db8:1::42";
    assert_int_equal(utmp_login(&e), 0);
    assert_int_equal(file_records("utmp", u), 1);
    assert_int_equal(inet_pton(AF_INET6, e.rhost, &v6), 1);
    assert_memory_equal(u[0].ut_addr_v6, &v6, sizeof(v6));
}

static void a_name_instead_of_an_address_is_no_address(void **state)
{
    static const int32_t none[4];
    struct utmp_entry e = alice;
    struct utmp u[RECORDS_MAX];

    (void)state;
    e.rhost = "";
    assert_int_equal(utmp_login(&e), 0);
    e.slot++;
    e.rhost = "host.example.org";
    assert_int_equal(utmp_login(&e), 0);
    assert_int_equal(file_records("utmp", u), 2);
    assert_memory_equal(u[0].ut_addr_v6, none, sizeof(none));
    assert_memory_equal(u[1].ut_addr_v6, none, sizeof(none));
    assert_string_equal(u[1].ut_host, "host.example.org");
}

static void a_logout_takes_the_place_of_its_login(void **state)
{
    struct utmp_entry e = alice, carol = alice;
    struct utmp u[RECORDS_MAX], w[RECORDS_MAX];

    (void)state;
    carol.slot = 4;
    carol.user = "carol";
    assert_int_equal(utmp_login(&alice), 0);
    assert_int_equal(utmp_login(&carol), 0);
    e.at_us += 5000000;
    assert_int_equal(utmp_logout(&e), 0);
    assert_int_equal(file_records("utmp", u), 2);
    assert_int_equal(u[0].ut_type, DEAD_PROCESS);
    assert_string_equal(u[0].ut_user, "");
    assert_string_equal(u[0].ut_host, "");
    assert_string_equal(u[0].ut_line, "atelier/3");
    assert_int_equal(u[0].ut_tv.tv_sec, 1700000005);
    assert_int_equal(u[1].ut_type, USER_PROCESS);
    assert_string_equal(u[1].ut_user, "carol");
    assert_int_equal(file_records("wtmp", w), 3);
    assert_memory_equal(&w[2], &u[0], sizeof(u[0]));

    /* The next one with the slot takes its place again. */
    assert_int_equal(utmp_login(&alice), 0);
    assert_int_equal(file_records("utmp", u), 2);
    assert_int_equal(u[0].ut_type, USER_PROCESS);
}

static void every_slot_has_an_id_of_its_own(void **state)
{
    static const char *const hosts[] = {"1\0\0", "ts/0", "/0\0", "p/0", "~~\0", "tty1"};
    static char ids[UTMP_SLOTS_MAX][4];

    (void)state;
    for (uint32_t slot = 0; slot < UTMP_SLOTS_MAX; slot++) {
        char line[UTMP_LINE_SIZE];

        id_of(slot, ids[slot]);
        utmp_line(slot, line);
        assert_memory_equal(line, "atelier/", 8);
        for (uint32_t other = 0; other < slot; other++) {
            if (memcmp(ids[slot], ids[other], 4) == 0)
                fail_msg("slots %u and %u have one id", slot, other);
        }
        for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
            assert_memory_not_equal(ids[slot], hosts[i], 4);
    }
}

static void long_texts_are_cut(void **state)
{
    struct utmp_entry e = alice;
    struct utmp u[RECORDS_MAX];
    char text[400];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    e.user = e.rhost = text;
    assert_int_equal(utmp_login(&e), 0);
    assert_int_equal(file_records("utmp", u), 1);
    assert_true(strnlen(u[0].ut_user, sizeof(u[0].ut_user)) >= UT_NAMESIZE - 1);
    assert_true(strnlen(u[0].ut_host, sizeof(u[0].ut_host)) >= UT_HOSTSIZE - 1);
    assert_int_equal(u[0].ut_tv.tv_sec, 1700000000);
}

/* --- what was there before ------------------------------------------------------------------ */

static void records_of_others_are_left_alone(void **state)
{
    static const struct utmp foreign[] = {
        {.ut_type = BOOT_TIME, .ut_id = {'~', '~'}, .ut_line = "~", .ut_user = "reboot"},
        {.ut_type = USER_PROCESS, .ut_id = {'1'}, .ut_line = "tty1", .ut_user = "root"},
        {.ut_type = USER_PROCESS, .ut_id = {'t', 's', '/', '0'}, .ut_line = "pts/0"},
        /* Our line, but not our id; our id, but not of a login. */
        {.ut_type = USER_PROCESS, .ut_id = {'z'}, .ut_line = "atelier/3", .ut_user = "bob"},
        {.ut_type = LOGIN_PROCESS, .ut_id = {'A', '/', '0', '3'}, .ut_line = "tty2"},
        {.ut_type = EMPTY, .ut_id = {'A', '/', '0', '3'}},
    };
    struct utmp u[RECORDS_MAX];

    (void)state;
    file_write("utmp", foreign, sizeof(foreign));
    assert_int_equal(utmp_login(&alice), 0);
    assert_int_equal(utmp_logout(&alice), 0);
    assert_int_equal(file_records("utmp", u), sizeof(foreign) / sizeof(foreign[0]) + 1);
    assert_memory_equal(u, foreign, sizeof(foreign));
    assert_string_equal(u[6].ut_line, "atelier/3");
    assert_int_equal(u[6].ut_type, DEAD_PROCESS);
}

static void a_torn_record_is_overwritten(void **state)
{
    char torn[sizeof(struct utmp) + 17];
    struct utmp u[RECORDS_MAX];

    (void)state;
    memset(torn, 'x', sizeof(torn));
    file_write("utmp", torn, sizeof(torn));
    file_write("wtmp", torn, sizeof(torn));
    assert_int_equal(utmp_login(&alice), 0);
    assert_int_equal(file_records("utmp", u), 2);
    assert_memory_equal(&u[0], torn, sizeof(u[0]));
    assert_string_equal(u[1].ut_user, "alice");
    assert_int_equal(file_records("wtmp", u), 2);
    assert_memory_equal(&u[0], torn, sizeof(u[0]));
    assert_string_equal(u[1].ut_user, "alice");
}

/* --- files that are not as they should be ---------------------------------------------------- */

static void a_file_that_is_not_there_is_not_made(void **state)
{
    struct utmp u[RECORDS_MAX];

    (void)state;
    assert_int_equal(unlink("utmp"), 0);
    assert_int_equal(utmp_login(&alice), 0);
    assert_int_equal(access("utmp", F_OK), -1);
    assert_int_equal(file_records("wtmp", u), 1);
    assert_int_equal(unlink("wtmp"), 0);
    file_write("utmp", "", 0);
    assert_int_equal(utmp_logout(&alice), 0);
    assert_int_equal(access("wtmp", F_OK), -1);
    assert_int_equal(file_records("utmp", u), 1);
}

static void what_is_no_file_is_refused(void **state)
{
    struct utmp u[RECORDS_MAX];

    (void)state;
    file_write("target", "", 0);
    assert_int_equal(unlink("utmp"), 0);
    assert_int_equal(symlink("target", "utmp"), 0);
    assert_int_equal(utmp_login(&alice), -ELOOP);
    assert_int_equal(file_records("target", u), 0);
    assert_int_equal(unlink("utmp"), 0);
    assert_int_equal(mkfifo("utmp", 0600), 0);
    assert_int_equal(utmp_login(&alice), -EINVAL); /* and does not wait for its other end */
    assert_int_equal(unlink("utmp"), 0);
    /* The other file has them all the same. */
    assert_int_equal(file_records("wtmp", u), 2);
    assert_int_equal(unlink("wtmp"), 0);
    assert_int_equal(mkfifo("wtmp", 0600), 0);
    assert_int_equal(utmp_login(&alice), -ENXIO);
}

/* A child holds a lock of this type on the file until it is killed. Return: its pid. */
static pid_t lock_hold(const char *path, short type)
{
    int said[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(said), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
        int fd = open(path, type == F_RDLCK ? O_RDONLY : O_RDWR);

        /* A test that fails before lock_end() leaves nobody. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 ||
            write(said[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    (void)close(said[0]);
    return pid;
}

static void lock_end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void a_lock_of_others_is_not_waited_for_long(void **state)
{
    static const char *const paths[] = {"utmp", "wtmp"};
    static const short types[] = {F_RDLCK, F_WRLCK};
    struct utmp u[RECORDS_MAX];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        int64_t begin;
        pid_t pid;

        (void)files_make(NULL);
        pid = lock_hold(paths[i % 2], types[i / 2]);
        begin = now_ms();
        assert_int_equal(utmp_login(&alice), 0);
        assert_true(now_ms() - begin >= UTMP_LOCK_MS);
        assert_true(now_ms() - begin < 100 * UTMP_LOCK_MS); /* a busy machine; glibc waits 10 s */
        assert_int_equal(file_records("utmp", u), 1);
        assert_int_equal(file_records("wtmp", u), 1);
        lock_end(pid);
    }
}

static void half_a_record_of_wtmp_is_taken_back(void **state)
{
    struct utmp u[RECORDS_MAX];
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(utmp_login(&alice), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit limit = {sizeof(u[0]) + 100, sizeof(u[0]) + 100};

        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
            _exit(1);
        _exit(utmp_logout(&alice) == -EIO ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(file_records("wtmp", u), 1);
    assert_int_equal(u[0].ut_type, USER_PROCESS);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, files_make, files_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(a_login_is_recorded_with_all_its_fields),
        WITH_FILES(an_address_of_version_six_is_recorded_whole),
        WITH_FILES(a_name_instead_of_an_address_is_no_address),
        WITH_FILES(a_logout_takes_the_place_of_its_login),
        WITH_FILES(every_slot_has_an_id_of_its_own),
        WITH_FILES(long_texts_are_cut),
        WITH_FILES(records_of_others_are_left_alone),
        WITH_FILES(a_torn_record_is_overwritten),
        WITH_FILES(a_file_that_is_not_there_is_not_made),
        WITH_FILES(what_is_no_file_is_refused),
        WITH_FILES(a_lock_of_others_is_not_waited_for_long),
        WITH_FILES(half_a_record_of_wtmp_is_taken_back),
    };

    return cmocka_run_group_tests(tests, directory_enter, directory_leave);
}
