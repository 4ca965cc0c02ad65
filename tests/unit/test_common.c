/* SPDX-License-Identifier: ISC */
/* test_common.c - names, numbers, messages with descriptors, the packed program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/payload.h"
#include "common/str.h"

#include "common/banned.h"

/* --- str ----------------------------------------------------------------------------------- */

static void names_follow_the_syntax(void **state)
{
    static const char *const good[] = {"a",  "alice", "a-b",
                                       "u2", "z9-",   "abcdefghijklmnopqrstuvwxyz01234"};
    static const char *const bad[] = {
        "",         "A",   "Alice", "1a",  "-a",
        "_apt",     "a b", "a.",    "a:b", "a\n",
        "\xc3\xa4", "a_b", "a/b",   "..",  "abcdefghijklmnopqrstuvwxyz012345"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(name_is_valid(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(name_is_valid(bad[i]));
    assert_false(name_is_valid(NULL));
}

static void a_name_field_is_padded_with_nuls(void **state)
{
    char field[NAME_SIZE] = "alice";

    (void)state;
    assert_true(name_is_valid_n(field, sizeof(field)));
    field[NAME_SIZE - 1] = 'x';
    assert_false(name_is_valid_n(field, sizeof(field)));
    memset(field, 'a', sizeof(field));
    assert_false(name_is_valid_n(field, sizeof(field)));
}

static void numbers_are_digits_and_nothing_else(void **state)
{
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "01", "0x1", "1e3", "12a"};
    uint32_t v = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(str_to_u32(bad[i], UINT32_MAX, &v), -EINVAL);
    assert_int_equal(str_to_u32("65001", 65000, &v), -ERANGE);
    assert_int_equal(str_to_u32("99999999999999999999999", UINT32_MAX, &v), -ERANGE);
    assert_int_equal(v, 7);
    assert_int_equal(str_to_u32("4294967295", UINT32_MAX, &v), 0);
    assert_int_equal(v, UINT32_MAX);
    assert_int_equal(str_to_u32("0", UINT32_MAX, &v), 0);
    assert_int_equal(v, 0);
}

static void copying_into_a_field_fits_or_fails(void **state)
{
    char field[4] = "xxx";

    (void)state;
    assert_int_equal(str_copy(field, sizeof(field), "abc"), 0);
    assert_string_equal(field, "abc");
    assert_int_equal(str_copy(field, sizeof(field), "abcd"), -ENAMETOOLONG);
    assert_string_equal(field, "");
    str_cut(field, sizeof(field), "abcd");
    assert_string_equal(field, "abc");
}

/* --- fd ------------------------------------------------------------------------------------ */

static void pair_make(int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void descriptors_arrive_with_their_packet(void **state)
{
    struct msg_extra extra;
    int pair[2], pipe_fds[2];
    char buf[16], c = 0;
    size_t n;

    (void)state;
    pair_make(pair);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(msg_send(pair[0], "hello", 5, pipe_fds, 2), 0);
    assert_int_equal(msg_recv(pair[1], buf, sizeof(buf), &n, &extra), 0);
    assert_int_equal(n, 5);
    assert_int_equal(extra.nfds, 2);
    assert_true(fcntl(extra.fds[0], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(extra.fds[1], "x", 1), 1);
    assert_int_equal(read(pipe_fds[0], &c, 1), 1);
    assert_int_equal(c, 'x');
    msg_extra_done(&extra);
    for (int i = 0; i < 2; i++) {
        (void)close(pair[i]);
        (void)close(pipe_fds[i]);
    }
}

/* What does not fit leaves nothing behind: neither bytes nor open descriptors. */
static void a_packet_that_is_too_long_is_refused_whole(void **state)
{
    struct msg_extra extra;
    int pair[2], before, after;
    char buf[4];
    size_t n;

    (void)state;
    pair_make(pair);
    before = dup(0);
    (void)close(before);
    assert_int_equal(msg_send(pair[0], "too long", 8, &pair[0], 1), 0);
    assert_int_equal(msg_recv(pair[1], buf, sizeof(buf), &n, &extra), -EMSGSIZE);
    after = dup(0);
    (void)close(after);
    assert_int_equal(before, after);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void many_are_refused(size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 64)];
    } control = {0};
    struct iovec iov = {.iov_base = (char[]){"x"}, .iov_len = 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    struct msg_extra extra;
    int pair[2], many[64] = {0}, before, after;
    char buf[4];
    size_t n;

    pair_make(pair);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(c), many, sizeof(int) * count);
    assert_int_equal(sendmsg(pair[0], &msg, 0), 1);
    before = dup(0);
    (void)close(before);
    assert_int_equal(msg_recv(pair[1], buf, sizeof(buf), &n, &extra), -EMSGSIZE);
    after = dup(0);
    (void)close(after);
    assert_int_equal(before, after);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void more_descriptors_than_allowed_are_refused(void **state)
{
    (void)state;
    many_are_refused(FD_PASS_MAX + 1);
    many_are_refused(64);
}

static void sending_to_a_closed_peer_is_an_error_not_a_signal(void **state)
{
    int pair[2];

    (void)state;
    pair_make(pair);
    (void)close(pair[1]);
    assert_int_equal(msg_send(pair[0], "x", 1, NULL, 0), -EPIPE);
    (void)close(pair[0]);
}

/* --- payload ------------------------------------------------------------------------------- */

static char *map_all(int fd, size_t *ret_size)
{
    struct stat st;
    void *mem;

    assert_int_equal(fstat(fd, &st), 0);
    mem = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(mem, MAP_FAILED);
    *ret_size = (size_t)st.st_size;
    return mem;
}

static void a_program_survives_packing(void **state)
{
    char *const argv[] = {(char[]){"/bin/echo"}, (char[]){""}, (char[]){"a b\n'\"`"}, NULL};
    char *const envp[] = {(char[]){"A=1"}, NULL};
    const char code[] = "x\0y";
    struct payload p;
    size_t size;
    char *mem;
    int fd;

    (void)state;
    assert_int_equal(payload_pack(argv, envp, "main.py", code, sizeof(code), &fd), 0);
    mem = map_all(fd, &size);
    assert_int_equal(payload_parse(mem, size, &p), 0);
    for (int i = 0; argv[i]; i++)
        assert_string_equal(p.argv[i], argv[i]);
    assert_null(p.argv[3]);
    assert_string_equal(p.envp[0], "A=1");
    assert_null(p.envp[1]);
    assert_string_equal(p.code_name, "main.py");
    assert_int_equal(p.code_bytes, sizeof(code));
    assert_memory_equal(p.code, code, sizeof(code));
    payload_done(&p);
    (void)munmap(mem, size);
    (void)close(fd);
}

static void a_packed_program_cannot_be_changed(void **state)
{
    char *const argv[] = {(char[]){"/bin/true"}, NULL};
    char *const envp[] = {NULL};
    const int wanted = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int fd;

    (void)state;
    assert_int_equal(payload_pack(argv, envp, NULL, NULL, 0, &fd), 0);
    assert_int_equal(fcntl(fd, F_GET_SEALS) & wanted, wanted);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    (void)close(fd);
}

static void a_code_name_is_one_path_component(void **state)
{
    static const char *const bad[] = {
        "", ".", "..", ".profile", "a/b", "/etc/passwd", "a-name-of-more-than-thirty-one-bytes"};
    char *const argv[] = {(char[]){"/bin/true"}, NULL};
    char *const envp[] = {NULL};
    int fd = -1;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(payload_pack(argv, envp, bad[i], "", 0, &fd), -EINVAL);
    assert_int_equal(fd, -1);
}

static void limits_of_a_program_are_kept(void **state)
{
    static char *many[PAYLOAD_ARGC_MAX + 2];
    static char arg[] = "x";
    char *const envp[] = {NULL};
    char *big = malloc(PAYLOAD_SIZE_MAX + 1);
    int fd = -1;

    (void)state;
    assert_non_null(big);
    assert_int_equal(payload_pack(envp, envp, NULL, NULL, 0, &fd), -EINVAL);
    for (size_t i = 0; i <= PAYLOAD_ARGC_MAX; i++)
        many[i] = arg;
    assert_int_equal(payload_pack(many, envp, NULL, NULL, 0, &fd), -E2BIG);
    many[PAYLOAD_ARGC_MAX] = NULL;
    assert_int_equal(payload_pack(many, envp, NULL, NULL, 0, &fd), 0);
    (void)close(fd);
    memset(big, 'x', PAYLOAD_SIZE_MAX);
    many[1] = NULL;
    assert_int_equal(payload_pack(many, envp, "main.py", big, PAYLOAD_SIZE_MAX, &fd), -E2BIG);
    assert_int_equal(payload_seal_bytes(big, PAYLOAD_SIZE_MAX + 1, &fd), -E2BIG);
    free(big);
}

/* Every cut and thousands of changed bytes: an error or a whole program, never a crash. */
static void damaged_programs_are_refused_or_harmless(void **state)
{
    char *const argv[] = {(char[]){"/bin/echo"}, (char[]){"hello"}, NULL};
    char *const envp[] = {(char[]){"A=1"}, NULL};
    struct payload p;
    size_t size;
    char *mem, *copy;
    int fd;

    (void)state;
    assert_int_equal(payload_pack(argv, envp, "main.py", "print(1)", 8, &fd), 0);
    mem = map_all(fd, &size);
    for (size_t cut = 0; cut < size; cut++) {
        /* An allocation of its own, so that a read past the end is seen by ASan. */
        copy = malloc(cut + 1);
        assert_non_null(copy);
        memcpy(copy, mem, cut);
        assert_int_equal(payload_parse(copy, cut, &p), -EBADMSG);
        free(copy);
    }
    for (unsigned seed = 1; seed < 20000; seed++) {
        unsigned x = seed * 2654435761u;

        copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, mem, size);
        copy[x % size] = (char)(x >> 16);
        copy[(x >> 8) % size] ^= (char)(1u << (x % 8));
        if (payload_parse(copy, size, &p) == 0)
            payload_done(&p);
        free(copy);
    }
    (void)munmap(mem, size);
    (void)close(fd);
    assert_false(is_open(fd));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_follow_the_syntax),
        cmocka_unit_test(a_name_field_is_padded_with_nuls),
        cmocka_unit_test(numbers_are_digits_and_nothing_else),
        cmocka_unit_test(copying_into_a_field_fits_or_fails),
        cmocka_unit_test(descriptors_arrive_with_their_packet),
        cmocka_unit_test(a_packet_that_is_too_long_is_refused_whole),
        cmocka_unit_test(more_descriptors_than_allowed_are_refused),
        cmocka_unit_test(sending_to_a_closed_peer_is_an_error_not_a_signal),
        cmocka_unit_test(a_program_survives_packing),
        cmocka_unit_test(a_packed_program_cannot_be_changed),
        cmocka_unit_test(a_code_name_is_one_path_component),
        cmocka_unit_test(limits_of_a_program_are_kept),
        cmocka_unit_test(damaged_programs_are_refused_or_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
