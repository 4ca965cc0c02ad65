/* SPDX-License-Identifier: ISC */
/* test_nscd.c - the orders to nscd: their bytes, how many there are, and what happens without it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/nscd.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define SOCKET_PATH "nscd-test.socket"

struct scene {
    struct event_base *base;
    struct nscd *nscd;
    int listen_fd;
};

static int scene_make(void **state)
{
    static struct scene s;
    struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = SOCKET_PATH};

    (void)unlink(SOCKET_PATH);
    s.base = event_base_new();
    s.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!s.base || s.listen_fd < 0 ||
        bind(s.listen_fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        listen(s.listen_fd, 16) < 0 || nscd_new(s.base, SOCKET_PATH, &s.nscd) < 0)
        return -1;
    *state = &s;
    return 0;
}

static int scene_end(void **state)
{
    struct scene *s = *state;

    nscd_free(s->nscd);
    event_base_free(s->base);
    (void)close(s->listen_fd);
    (void)unlink(SOCKET_PATH);
    return 0;
}

/* Let the loop turn for a while. */
static void turn(const struct scene *s, int64_t ms)
{
    const struct timeval tv = ms_timeval(ms);

    (void)event_base_loopexit(s->base, &tv);
    (void)event_base_dispatch(s->base);
}

/* The next order is this one, nothing follows it, and the connection is closed. */
static void assert_order(const struct scene *s, const char *database)
{
    struct {
        int32_t version, type, size;
        char key[52];
    } got;
    int fd = accept(s->listen_fd, NULL, NULL);
    ssize_t n;

    assert_true(fd >= 0);
    n = read(fd, &got, sizeof(got));
    assert_int_equal(n, 12 + (ssize_t)strlen(database) + 1);
    assert_int_equal(got.version, 2);
    assert_int_equal(got.type, 10);
    assert_int_equal(got.size, strlen(database) + 1);
    assert_string_equal(got.key, database);
    assert_int_equal(read(fd, &got, sizeof(got)), 0);
    (void)close(fd);
}

static void assert_orders(const struct scene *s, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        assert_order(s, "passwd");
        assert_order(s, "group");
    }
    assert_int_equal(accept(s->listen_fd, NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);
}

static void one_change_is_told_at_once_and_once_more(void **state)
{
    struct scene *s = *state;

    assert_orders(s, 0);
    nscd_changed(s->nscd);
    assert_orders(s, 1);
    turn(s, 3 * NSCD_AGAIN_MS);
    assert_orders(s, 1);
}

static void many_changes_are_told_three_times(void **state)
{
    struct scene *s = *state;

    for (int i = 0; i < 1000; i++)
        nscd_changed(s->nscd);
    assert_orders(s, 1);
    turn(s, 4 * NSCD_AGAIN_MS);
    assert_orders(s, 2);
    nscd_changed(s->nscd); /* and the next one is not held up by them */
    assert_orders(s, 1);
}

static void a_full_queue_neither_blocks_nor_is_given_up_at_once(void **state)
{
    struct scene *s = *state;
    int64_t began_ms;

    assert_int_equal(listen(s->listen_fd, 0), 0); /* one connection may wait */
    began_ms = clock_ms();
    nscd_changed(s->nscd);
    assert_true(clock_ms() - began_ms < NSCD_AGAIN_MS);
    assert_int_equal(listen(s->listen_fd, 16), 0);
    assert_order(s, "passwd");
    turn(s, 4 * NSCD_AGAIN_MS);
    assert_orders(s, 2);
}

static void without_nscd_nothing_happens(void **state)
{
    struct scene *s = *state;

    assert_int_equal(unlink(SOCKET_PATH), 0);
    nscd_changed(s->nscd);
    turn(s, 2 * NSCD_AGAIN_MS);
    assert_orders(s, 0);
}

static void one_that_does_not_read_harms_nobody(void **state)
{
    struct scene *s = *state;

    for (int i = 0; i < 3; i++) {
        int fd;

        nscd_changed(s->nscd);
        fd = accept(s->listen_fd, NULL, NULL);
        assert_true(fd >= 0);
        (void)close(fd); /* unread: a reset for whoever would still write */
        turn(s, NSCD_AGAIN_MS / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_change_is_told_at_once_and_once_more, scene_make,
                                        scene_end),
        cmocka_unit_test_setup_teardown(many_changes_are_told_three_times, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(a_full_queue_neither_blocks_nor_is_given_up_at_once,
                                        scene_make, scene_end),
        cmocka_unit_test_setup_teardown(without_nscd_nothing_happens, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(one_that_does_not_read_harms_nobody, scene_make, scene_end),
    };

    log_init("test_nscd");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
