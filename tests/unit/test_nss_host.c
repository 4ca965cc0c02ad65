/* SPDX-License-Identifier: ISC */
/*
 * test_nss_host.c - the built module in the hands of its hosts: their buffers, descriptors,
 * threads.
 */
#include "nss_module/nss_atelier.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/index_build.h"
#include "tests/unit/nss_fixture.h"

#include "common/banned.h"

/* --- buffers ------------------------------------------------------------------------------- */

#define LENGTH_MAX 2048u

/* What a call answers for user7 with a buffer of any length; an answer is checked. */
struct answer {
    enum nss_status status;
    int error;
};

#define PASSWD_CALL(name, call)                                                                    \
    static struct answer name##_ask(char *buffer, size_t n)                                        \
    {                                                                                              \
        struct answer a = {.error = 0};                                                            \
        struct passwd pw;                                                                          \
                                                                                                   \
        a.status = call;                                                                           \
        if (a.status == NSS_STATUS_SUCCESS)                                                        \
            passwd_check(&pw, buffer, n);                                                          \
        return a;                                                                                  \
    }

#define GROUP_CALL(name, call)                                                                     \
    static struct answer name##_ask(char *buffer, size_t n)                                        \
    {                                                                                              \
        struct answer a = {.error = 0};                                                            \
        struct group gr;                                                                           \
                                                                                                   \
        a.status = call;                                                                           \
        if (a.status == NSS_STATUS_SUCCESS)                                                        \
            group_check(&gr, buffer, n);                                                           \
        return a;                                                                                  \
    }

PASSWD_CALL(getpwnam_r, nss.getpwnam_r("user7", &pw, buffer, n, &a.error))
PASSWD_CALL(getpwuid_r, nss.getpwuid_r(UID_FIRST + 7, &pw, buffer, n, &a.error))
PASSWD_CALL(getpwent_r, (nss.setpwent(0), nss.getpwent_r(&pw, buffer, n, &a.error)))
GROUP_CALL(getgrnam_r, nss.getgrnam_r("user7", &gr, buffer, n, &a.error))
GROUP_CALL(getgrgid_r, nss.getgrgid_r(UID_FIRST + 7, &gr, buffer, n, &a.error))
GROUP_CALL(getgrent_r, (nss.setgrent(0), nss.getgrent_r(&gr, buffer, n, &a.error)))

#define PASSWD_NEED                                                                                \
    (sizeof("user7") + sizeof("*") + sizeof("") + sizeof(ATELIER_HOMES_DIR "/user7") +             \
     sizeof("/usr/lib/atelier/shell"))

/* Before the array of a group comes what aligns it. */
static const struct {
    struct answer (*ask)(char *buffer, size_t n);
    size_t need;
    bool is_aligned;
} calls[] = {
    {getpwnam_r_ask, PASSWD_NEED, false},
    {getpwuid_r_ask, PASSWD_NEED, false},
    {getpwent_r_ask, PASSWD_NEED, false}, /* user0 */
    {getgrnam_r_ask, sizeof("user7") + sizeof("*") + sizeof(char *), true},
    {getgrgid_r_ask, sizeof("user7") + sizeof("*") + sizeof(char *), true},
    {getgrent_r_ask, sizeof("atelier-users") + sizeof("*") + sizeof(char *), true},
};

static void buffer_is_enough_or_erange(size_t call, char *buffer, size_t n)
{
    size_t skip = calls[call].is_aligned ? -(uintptr_t)buffer % sizeof(char *) : 0;
    struct answer a = calls[call].ask(buffer, n);

    if (n >= calls[call].need + skip) {
        assert_int_equal(a.status, NSS_STATUS_SUCCESS);
        assert_int_equal(a.error, 0);
    } else {
        assert_int_equal(a.status, NSS_STATUS_TRYAGAIN);
        assert_int_equal(a.error, ERANGE);
    }
}

/* A page that is ours between two that are nobody's. */
static char *guarded_page(size_t *ret_page)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_READ | PROT_WRITE), 0);
    *ret_page = page;
    return map + page;
}

/* Every length: right before a guard page, right behind one, and what is between stays as it is. */
static void buffer_of_any_length_is_enough_or_erange_and_never_overrun(void **state)
{
    char untouched[LENGTH_MAX];
    size_t page;
    char *mine = guarded_page(&page);

    (void)state;
    assert_true(page > LENGTH_MAX);
    memset(untouched, 0x77, sizeof(untouched));
    for (size_t call = 0; call < sizeof(calls) / sizeof(calls[0]); call++) {
        for (size_t n = 0; n <= LENGTH_MAX; n++) {
            memset(mine, 0x77, page);
            buffer_is_enough_or_erange(call, mine + page - n, n);
            assert_memory_equal(mine, untouched, page - n < LENGTH_MAX ? page - n : LENGTH_MAX);
            memset(mine, 0x77, page);
            buffer_is_enough_or_erange(call, mine, n);
            assert_memory_equal(mine + n, untouched, page - n < LENGTH_MAX ? page - n : LENGTH_MAX);
        }
    }
    assert_int_equal(munmap(mine - page, 3 * page), 0);
}

/* --- descriptors --------------------------------------------------------------------------- */

#define SOCKET_PAIRS 8

/* A host that closes everything, as daemons do, and opens its sockets where anything was. */
static _Noreturn void host_child(void)
{
    int pairs[SOCKET_PAIRS][2], error;
    struct passwd pw;

    if (uid_ask(UID_FIRST, &pw, &error) != NSS_STATUS_SUCCESS)
        _exit(1);
    for (int fd = 3; fd < 1024; fd++)
        (void)close(fd);
    for (int i = 0; i < SOCKET_PAIRS; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) < 0 || pairs[i][0] != 3 + 2 * i)
            _exit(2);
    }
    for (uint32_t round = 0; round < 100; round++) {
        uint32_t first = round % 10;

        if (index_publish(first, USER_COUNT - first, round) < 0)
            _exit(3);
        if (uid_ask(UID_FIRST + 50, &pw, &error) != NSS_STATUS_SUCCESS ||
            strcmp(pw.pw_name, "user50") != 0 ||
            uid_ask(UID_FIRST, &pw, &error) !=
                (first == 0 ? NSS_STATUS_SUCCESS : NSS_STATUS_NOTFOUND))
            _exit(4);
        for (int i = 0; i < SOCKET_PAIRS; i++) {
            char byte = (char)round, back = 0;

            if (write(pairs[i][0], &byte, 1) != 1 || read(pairs[i][1], &back, 1) != 1 ||
                back != byte)
                _exit(5);
        }
        if (fds_count() != 3 + 2 * SOCKET_PAIRS)
            _exit(6);
    }
    _exit(0);
}

static void host_that_closes_every_descriptor_loses_none_of_its_own(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0)
        host_child();
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* --- threads ------------------------------------------------------------------------------- */

static void *one_look_up(void *arg)
{
    enum nss_status *status = arg;
    struct passwd pw;
    int error;

    *status = uid_ask(UID_FIRST + 3, &pw, &error);
    return NULL;
}

static void threads_of_one_look_up(int count)
{
    for (int i = 0; i < count; i++) {
        enum nss_status status = NSS_STATUS_UNAVAIL;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, one_look_up, &status), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(status, NSS_STATUS_SUCCESS);
    }
}

static void threads_that_end_leave_neither_descriptor_nor_memory(void **state)
{
    size_t memory;
    int fds;

    (void)state;
    threads_of_one_look_up(10); /* what libc keeps of threads, it keeps from now on */
    fds = fds_count();
    memory = mallinfo2().uordblks;
    threads_of_one_look_up(1000);
    assert_int_equal(fds_count(), fds);
    assert_int_equal(mallinfo2().uordblks, memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(buffer_of_any_length_is_enough_or_erange_and_never_overrun,
                               index_setup),
        cmocka_unit_test_setup(host_that_closes_every_descriptor_loses_none_of_its_own,
                               index_setup),
        cmocka_unit_test_setup(threads_that_end_leave_neither_descriptor_nor_memory, index_setup),
    };

    return cmocka_run_group_tests(tests, nss_setup, nss_teardown);
}
