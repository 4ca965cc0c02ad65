/* SPDX-License-Identifier: ISC */
/* test_notify.c - what a daemon tells the service manager, seen by one of our own. */
#include "sessiond/shared/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

/* Bind what a service manager would. @name: a path, or '@' and an abstract name. */
static int manager_make(const char *name)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    size_t len = strlen(name);

    assert_true(fd >= 0 && len < sizeof(addr.sun_path));
    memcpy(addr.sun_path, name, len);
    if (name[0] == '@')
        addr.sun_path[0] = '\0';
    assert_return_code(bind(fd, (const struct sockaddr *)&addr,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                       errno);
    return fd_take(&fd);
}

static void assert_heard(int manager, const char *text)
{
    char buf[256] = "";

    assert_int_equal(recv(manager, buf, sizeof(buf) - 1, 0), strlen(text));
    assert_string_equal(buf, text);
}

static void assert_silent(int manager)
{
    char buf[16];

    assert_int_equal(recv(manager, buf, sizeof(buf), 0), -1);
    assert_int_equal(errno, EAGAIN);
}

static void environment_set(const char *sock, const char *pid, const char *usec)
{
    const char *const pairs[][2] = {
        {"NOTIFY_SOCKET", sock}, {"WATCHDOG_PID", pid}, {"WATCHDOG_USEC", usec}};

    for (size_t i = 0; i < 3; i++) {
        if (pairs[i][1])
            assert_int_equal(setenv(pairs[i][0], pairs[i][1], 1), 0);
        else
            assert_int_equal(unsetenv(pairs[i][0]), 0);
    }
}

static void a_path_is_told(void **state)
{
    char dir[] = "/tmp/test_notify.XXXXXX", path[sizeof(dir) + 8];

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/n", dir);
    cleanup_close int manager = manager_make(path);
    environment_set(path, NULL, NULL);
    notify_init();
    notify_send("READY=1\nSTATUS=x");
    assert_heard(manager, "READY=1\nSTATUS=x");
    /* A service manager that started anew listens on another socket of the same path. */
    assert_int_equal(unlink(path), 0);
    cleanup_close int next = manager_make(path);
    notify_send("STOPPING=1");
    assert_silent(manager);
    assert_heard(next, "STOPPING=1");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    notify_send("WATCHDOG=1"); /* nobody is there: nothing happens */
    assert_silent(next);
}

static void an_abstract_name_is_told(void **state)
{
    char name[64];

    (void)state;
    (void)snprintf(name, sizeof(name), "@test_notify.%d", getpid());
    cleanup_close int manager = manager_make(name);
    environment_set(name, NULL, NULL);
    notify_init();
    notify_send("READY=1");
    assert_heard(manager, "READY=1");
}

static void a_full_queue_blocks_nobody(void **state)
{
    char name[64];

    (void)state;
    (void)snprintf(name, sizeof(name), "@test_notify.full.%d", getpid());
    cleanup_close int manager = manager_make(name);
    environment_set(name, NULL, NULL);
    notify_init();
    (void)alarm(10);
    for (int i = 0; i < 10000; i++)
        notify_send("WATCHDOG=1");
    (void)alarm(0);
    assert_heard(manager, "WATCHDOG=1");
}

static void children_inherit_nothing(void **state)
{
    static const char *const names[] = {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"};
    char name[64], pid[16];
    int open_before = 0, left_open = 0;

    (void)state;
    for (int fd = 0; fd < 256; fd++)
        open_before += fcntl(fd, F_GETFD) >= 0 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    (void)snprintf(name, sizeof(name), "@test_notify.child.%d", getpid());
    (void)snprintf(pid, sizeof(pid), "%d", getpid());
    environment_set(name, pid, "30000000");
    notify_init();
    for (size_t i = 0; i < 3; i++)
        assert_null(secure_getenv(names[i]));
    for (int fd = 0; fd < 256; fd++)
        left_open += fcntl(fd, F_GETFD) >= 0 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(left_open, open_before);
}

static void without_a_manager_nothing_is_sent(void **state)
{
    static const char *const bad[] = {NULL, "", "/", "@", "relative", "vsock:2:1"};
    char too_long[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
    char name[64];

    (void)state;
    (void)snprintf(name, sizeof(name), "@test_notify.none.%d", getpid());
    cleanup_close int manager = manager_make(name);
    environment_set(name, NULL, NULL);
    notify_init();
    memset(too_long, 'x', sizeof(too_long) - 1);
    too_long[0] = '/';
    too_long[sizeof(too_long) - 1] = '\0';
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        environment_set(bad[i], NULL, NULL);
        notify_init();
        notify_send("READY=1");
        assert_int_equal(notify_watchdog_ms(), 0);
    }
    environment_set(too_long, NULL, NULL);
    notify_init();
    notify_send("READY=1");
    assert_silent(manager);
}

static void the_watchdog_is_fed_at_half_of_its_time(void **state)
{
    char pid[16], other[16];
    const struct {
        const char *pid, *usec;
        uint32_t ms;
    } cases[] = {
        {pid, "30000000", 15000},
        {NULL, "30000000", 15000},
        {pid, "3000", 1},
        {pid, NULL, 0},
        {pid, "0", 0},
        {pid, "1999", 0},
        {pid, "-5", 0},
        {pid, "10s", 0},
        {pid, "", 0},
        {other, "30000000", 0},
        {"x", "30000000", 0},
        {"", "30000000", 0},
        /* Longer than we count: seldom is often enough. */
        {pid, "86400000000", 1800000},
    };

    (void)state;
    (void)snprintf(pid, sizeof(pid), "%d", getpid());
    (void)snprintf(other, sizeof(other), "%d", getpid() + 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        environment_set(NULL, cases[i].pid, cases[i].usec);
        notify_init();
        assert_int_equal(notify_watchdog_ms(), cases[i].ms);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_told),
        cmocka_unit_test(an_abstract_name_is_told),
        cmocka_unit_test(a_full_queue_blocks_nobody),
        cmocka_unit_test(children_inherit_nothing),
        cmocka_unit_test(without_a_manager_nothing_is_sent),
        cmocka_unit_test(the_watchdog_is_fed_at_half_of_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
