/* SPDX-License-Identifier: ISC */
/* test_fdcheck.c - which descriptors may enter a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/payload.h"
#include "sessiond/monitor/fdcheck.h"

#include "common/banned.h"

static int pipe_check(int fd)
{
    /* Our own ids: giving to others needs root, and is not what is tested here. */
    return fdcheck_pipe_out(fd, getuid(), getgid());
}

static void the_write_end_of_a_pipe_is_accepted(void **state)
{
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pipe_check(fds[1]), 0);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void the_read_end_is_refused(void **state)
{
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pipe_check(fds[0]), -EBADF);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void what_is_no_pipe_is_refused(void **state)
{
    char fifo[] = "fdcheck-XXXXXX";
    int pair[2], fd;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(pipe_check(pair[0]), -EBADF);
    (void)close(pair[0]);
    (void)close(pair[1]);

    fd = open("/dev/null", O_WRONLY);
    assert_int_equal(pipe_check(fd), -EBADF);
    (void)close(fd);
    fd = open("/", O_PATH | O_DIRECTORY);
    assert_int_equal(pipe_check(fd), -EBADF);
    (void)close(fd);
    fd = eventfd(0, 0);
    assert_int_equal(pipe_check(fd), -EBADF);
    (void)close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(pipe_check(fd), -EBADF);
    (void)close(fd);

    /* A FIFO lies in a file system: whoever can open its path shares the pipe. */
    fd = mkstemp(fifo);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    fd = open(fifo, O_RDWR);
    (void)unlink(fifo);
    assert_true(fd >= 0);
    assert_int_equal(pipe_check(fd), -EBADF);
    (void)close(fd);
    assert_int_equal(pipe_check(-1), -EBADF);
}

static void a_handle_of_a_pipe_is_refused(void **state)
{
    char path[64];
    int fds[2], fd;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[1]);
    fd = open(path, O_PATH);
    assert_true(fd >= 0);
    assert_int_equal(pipe_check(fd), -EBADF);
    (void)close(fd);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void a_sealed_memfd_is_accepted_up_to_its_limit(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(payload_seal_bytes("12345678", 8, &fd), 0);
    assert_int_equal(fdcheck_memfd(fd, 8), 0);
    assert_int_equal(fdcheck_memfd(fd, 7), -E2BIG);
    (void)close(fd);
}

static void each_missing_seal_is_noticed(void **state)
{
    static const int seals[] = {F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE};
    const int all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

    (void)state;
    for (size_t i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
        int fd = memfd_create("test", MFD_ALLOW_SEALING);

        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, all & ~seals[i]), 0);
        assert_int_equal(fdcheck_memfd(fd, 4096), -EBADF);
        (void)close(fd);
    }
}

static void other_files_are_no_memfd(void **state)
{
    int fds[2], fd = open("/dev/null", O_RDONLY);

    (void)state;
    assert_int_equal(fdcheck_memfd(fd, 4096), -EBADF);
    (void)close(fd);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fdcheck_memfd(fds[0], 4096), -EBADF);
    (void)close(fds[0]);
    (void)close(fds[1]);
    fd = open("/etc/passwd", O_RDONLY);
    assert_int_equal(fdcheck_memfd(fd, 1 << 20), -EBADF);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_write_end_of_a_pipe_is_accepted),
        cmocka_unit_test(the_read_end_is_refused),
        cmocka_unit_test(what_is_no_pipe_is_refused),
        cmocka_unit_test(a_handle_of_a_pipe_is_refused),
        cmocka_unit_test(a_sealed_memfd_is_accepted_up_to_its_limit),
        cmocka_unit_test(each_missing_seal_is_noticed),
        cmocka_unit_test(other_files_are_no_memfd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
