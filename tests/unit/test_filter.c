/* SPDX-License-Identifier: ISC */
/*
 * test_filter.c - the compiled filter, instruction by instruction, against the table and against
 * lists written down here. Exact where a kernel is not: a call that root or a missing module would
 * refuse anyway proves nothing, so nothing here asks the kernel (test_filter_live.c does).
 */
#include "policy/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/unit/filter_fixture.h"

#include "common/banned.h"

static const enum filter_profile profiles[] = {FILTER_RUN, FILTER_LOGIN};

static int call(enum filter_profile p, long nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
    struct seccomp_data d = {.nr = (int)nr, .arch = ARCH_NATIVE, .args = {a0, a1, a2}};

    return filter_answer(p, &d);
}

/* Several rows may hold; any of their errnos is right, and allowing is right only without any. */
static void assert_as_table(enum filter_profile p, const struct seccomp_data *d)
{
    int got = filter_answer(p, d);
    bool any = false, same = false;
    const struct filter_rule *r;

    for (size_t i = 0; (r = filter_rule_get(i)); i++) {
        if (filter_row_applies(r, p, d)) {
            any = true;
            same = same || filter_row_answer(r) == got;
        }
    }
    if (any ? !same : got != 0)
        fail_msg("profile %d, call %d(%#llx, %#llx, %#llx): errno %d is not the table's", p, d->nr,
                 (unsigned long long)d->args[0], (unsigned long long)d->args[1],
                 (unsigned long long)d->args[2], got);
}

static void every_number_is_answered_as_the_table_says(void **state)
{
    static const uint64_t values[] = {0, 1, 2, ~0ull, HIGH_BIT, 0x7e020000};

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        for (int nr = -1; nr < 2048; nr++) {
            for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
                struct seccomp_data d = {.nr = nr, .arch = ARCH_NATIVE};

                for (size_t a = 0; a < 6; a++)
                    d.args[a] = values[v];
                assert_as_table(profiles[p], &d);
            }
        }
    }
}

/* Family x type x protocol: 1.1 million calls, two of three with something in the high halves. */
static void sockets_compare(enum filter_profile p, long nr, uint64_t family, uint64_t type)
{
    static const uint64_t high[] = {0, HIGH_BIT, 0xffffffff00000000ull};

    for (uint64_t protocol = 0; protocol < 270; protocol++) {
        uint64_t h = high[(family + type + protocol) % 3];
        uint64_t flags = protocol % 2 ? SOCK_CLOEXEC | SOCK_NONBLOCK : 0;
        struct seccomp_data d = {.nr = (int)nr,
                                 .arch = ARCH_NATIVE,
                                 .args = {family | h, type | flags | h, protocol | h}};

        assert_as_table(p, &d);
    }
}

static void every_socket_is_answered_as_the_table_says(void **state)
{
    (void)state;
    for (uint64_t family = 0; family < 65; family++) {
        for (uint64_t type = 0; type < 16; type++) {
            for (size_t p = 0; p < 2; p++) {
                sockets_compare(profiles[p], __NR_socket, family, type);
                sockets_compare(profiles[p], __NR_socketpair, family, type);
            }
        }
    }
}

static uint64_t random_next(uint64_t *seed)
{
    /* xorshift64: https://www.jstatsoft.org/article/view/v008i14 */
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void random_arguments_are_answered_as_the_table_says(void **state)
{
    static const long calls[] = {__NR_clone, __NR_ioctl,      __NR_fcntl,      __NR_socket,
                                 __NR_read,  __NR_setsockopt, __NR_socketpair, __NR_prlimit64};
    static const uint64_t values[] = {0,          1,    2,    3,    6,   16, 31, 0x5412, 0x541c,
                                      0x5423,     1024, 1026, 1025, 262, 10, 5,  41,     0x10000000,
                                      0x00020000, 35,   39,   42,   46,  20, 57, 4};
    const size_t count = sizeof(values) / sizeof(values[0]);
    uint64_t seed = 88172645463325252ull;

    (void)state;
    for (size_t i = 0; i < 1000000; i++) {
        struct seccomp_data d = {.arch = ARCH_NATIVE};

        d.nr = (int)calls[random_next(&seed) % (sizeof(calls) / sizeof(calls[0]))];
        for (size_t a = 0; a < 6; a++) {
            uint64_t pick = random_next(&seed);

            d.args[a] = pick % 4 ? values[(pick >> 8) % count] : random_next(&seed);
            if (pick % 8 == 1)
                d.args[a] |= random_next(&seed) << 32;
        }
        assert_as_table(profiles[i % 2], &d);
    }
}

static void only_inet_inet6_and_netlink_sockets_are_open_in_a_run(void **state)
{
    (void)state;
    for (uint64_t f = 0; f < 64; f++) {
        bool open = f == AF_INET || f == AF_INET6 || f == AF_NETLINK;
        int want = open ? 0 : EAFNOSUPPORT;

        assert_int_equal(call(FILTER_RUN, __NR_socket, f, SOCK_DGRAM, 0), want);
        assert_int_equal(call(FILTER_RUN, __NR_socket, f | HIGH_BIT, SOCK_DGRAM, 0), want);
        assert_int_equal(call(FILTER_LOGIN, __NR_socket, f, SOCK_DGRAM, 0),
                         f == AF_UNIX ? 0 : want);
    }
}

static void sockets_with_kernel_made_inner_sockets_are_refused(void **state)
{
    static const uint64_t protocols[] = {1, 2, 33, 47, 58, 115, 132, 136, 146, 256, 261, 262};
    static const uint64_t families[] = {AF_INET, AF_INET6};

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        for (uint64_t type = 1; type <= 2; type++) {
            for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
                assert_int_equal(
                    call(FILTER_RUN, __NR_socket, families[f], type, protocols[i] | HIGH_BIT),
                    EPROTONOSUPPORT);
            }
            assert_int_equal(call(FILTER_RUN, __NR_socket, families[f], type, 0), 0);
            assert_int_equal(call(FILTER_RUN, __NR_socket, families[f], type, IPPROTO_TCP), 0);
            assert_int_equal(call(FILTER_RUN, __NR_socket, families[f], type, IPPROTO_UDP), 0);
        }
        /* SCTP and DCCP hide behind protocol 0, a packet socket behind INET. */
        for (uint64_t type = 4; type < 16; type++)
            assert_int_equal(call(FILTER_RUN, __NR_socket, families[f], type | SOCK_CLOEXEC, 0),
                             EPROTONOSUPPORT);
        assert_int_equal(call(FILTER_RUN, __NR_socket, families[f], SOCK_RAW, 255), EPERM);
    }
    assert_int_equal(call(FILTER_RUN, __NR_setsockopt, 3, IPPROTO_TCP, 31), EPERM);
    assert_int_equal(call(FILTER_RUN, __NR_setsockopt, 3, IPPROTO_TCP, 1), 0);
    assert_int_equal(call(FILTER_RUN, __NR_setsockopt, 3, SOL_SOCKET, 31), 0);
}

/* A list of its own again: every other option of every level is open. */
static void only_joins_source_routes_and_upper_layers_are_refused_as_options(void **state)
{
    static const struct {
        uint64_t level, option;
    } refused[] = {
        {IPPROTO_IP, IP_ADD_MEMBERSHIP},
        {IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP},
        {IPPROTO_IP, MCAST_JOIN_GROUP},
        {IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP},
        {IPPROTO_IPV6, IPV6_JOIN_GROUP},
        {IPPROTO_IPV6, MCAST_JOIN_GROUP},
        {IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP},
        {IPPROTO_IP, IP_OPTIONS},
        {IPPROTO_IPV6, IPV6_RTHDR},
        {IPPROTO_TCP, 31 /* TCP_ULP */},
    };
    static const uint64_t pretended[] = {SO_REUSEADDR, SO_REUSEPORT};

    (void)state;
    for (uint64_t i = 0; i < 300ull * 300; i++) {
        uint64_t level = i / 300, option = i % 300;
        int want = 0;

        for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++) {
            if (level == refused[k].level && option == refused[k].option)
                want = EPERM;
        }
        for (size_t k = 0; k < sizeof(pretended) / sizeof(pretended[0]); k++) {
            if (level == SOL_SOCKET && option == pretended[k])
                want = PRETENDED;
        }
        for (size_t p = 0; p < 2; p++) {
            assert_int_equal(call(profiles[p], __NR_setsockopt, 3, level, option), want);
            assert_int_equal(
                call(profiles[p], __NR_setsockopt, 3, level | HIGH_BIT, option | HIGH_BIT), want);
        }
    }
}

static void sessions_may_listen_and_runs_may_not(void **state)
{
    (void)state;
    for (uint64_t fd = 0; fd < 64; fd++) {
        assert_int_equal(call(FILTER_RUN, __NR_listen, fd, 0, 0), EPERM);
        assert_int_equal(call(FILTER_RUN, __NR_listen, fd | HIGH_BIT, 128, 0), EPERM);
        assert_int_equal(call(FILTER_LOGIN, __NR_listen, fd, 128, 0), 0);
    }
}

static void netlink_is_route_only(void **state)
{
    (void)state;
    for (uint64_t type = SOCK_DGRAM; type <= SOCK_RAW; type++) {
        assert_int_equal(call(FILTER_RUN, __NR_socket, AF_NETLINK, type | SOCK_CLOEXEC, 0), 0);
        for (uint64_t protocol = 1; protocol < 33; protocol++)
            assert_int_equal(call(FILTER_RUN, __NR_socket, AF_NETLINK, type, protocol),
                             EPROTONOSUPPORT);
    }
}

static void unix_pairs_are_open_but_not_as_datagrams(void **state)
{
    (void)state;
    assert_int_equal(call(FILTER_RUN, __NR_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), 0);
    assert_int_equal(call(FILTER_RUN, __NR_socketpair, AF_UNIX, SOCK_SEQPACKET, 0), 0);
    assert_int_equal(call(FILTER_RUN, __NR_socketpair, AF_UNIX, SOCK_DGRAM, 0), EPROTONOSUPPORT);
    assert_int_equal(call(FILTER_RUN, __NR_socketpair, AF_UNIX, SOCK_RAW, 0), EPROTONOSUPPORT);
    assert_int_equal(call(FILTER_LOGIN, __NR_socketpair, AF_UNIX, SOCK_DGRAM, 0), 0);
    for (uint64_t f = 2; f < 64; f++)
        assert_int_equal(call(FILTER_LOGIN, __NR_socketpair, f, SOCK_STREAM, 0), EAFNOSUPPORT);
}

static void each_namespace_flag_of_clone_is_refused_and_threads_are_not(void **state)
{
    static const uint64_t flags[] = {0x00020000, 0x02000000, 0x04000000, 0x08000000,
                                     0x10000000, 0x20000000, 0x40000000};
    const uint64_t thread = 0x3d0f00, fork_like = 0x01200011, vfork_like = 0x4111;

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
            assert_int_equal(call(profiles[p], __NR_clone, flags[i], 0, 0), EPERM);
            assert_int_equal(call(profiles[p], __NR_clone, flags[i] | 17 | HIGH_BIT, 0, 0), EPERM);
        }
        assert_int_equal(call(profiles[p], __NR_clone, thread, 0, 0), 0);
        assert_int_equal(call(profiles[p], __NR_clone, fork_like, 0, 0), 0);
        assert_int_equal(call(profiles[p], __NR_clone, vfork_like, 0, 0), 0);
        assert_int_equal(call(profiles[p], __NR_clone3, 1, 88, 0), ENOSYS);
    }
}

static void high_halves_do_not_open_terminal_injection(void **state)
{
    static const uint64_t requests[] = {0x5412, 0x541c, 0x5423};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (uint64_t bit = 32; bit < 64; bit++) {
            uint64_t high = 1ull << bit;

            assert_int_equal(call(FILTER_RUN, __NR_ioctl, 0, requests[i] | high, 0), EPERM);
            assert_int_equal(call(FILTER_RUN, __NR_fcntl, 0, 1024 | high, 0), EPERM);
        }
        assert_int_equal(call(FILTER_RUN, __NR_ioctl, 0, requests[i], 0), EPERM);
        assert_int_equal(call(FILTER_RUN, __NR_ioctl, 0, requests[i] + 1, 0), 0);
    }
    assert_int_equal(call(FILTER_RUN, __NR_fcntl, 0, 1026, 0), EPERM);
    assert_int_equal(call(FILTER_RUN, __NR_fcntl, 0, 1025, 0), 0);
    assert_int_equal(call(FILTER_RUN, __NR_fcntl, 0, 1030, 0), 0);
}

/* The table is not its own witness: this list is written from the design, not from the table. */
static void calls_of_the_design_are_refused(void **state)
{
    static const struct {
        long nr;
        int error;
    } refused[] = {
        {__NR_unshare, EPERM},
        {__NR_setns, EPERM},
        {__NR_mount, EPERM},
        {__NR_umount2, EPERM},
        {__NR_pivot_root, EPERM},
        {__NR_chroot, EPERM},
        {__NR_bpf, EPERM},
        {__NR_perf_event_open, EPERM},
        {__NR_ptrace, EPERM},
        {__NR_process_vm_readv, EPERM},
        {__NR_keyctl, EPERM},
        {__NR_add_key, EPERM},
        {__NR_userfaultfd, EPERM},
        {__NR_personality, EPERM},
        {__NR_open_by_handle_at, EPERM},
        {__NR_finit_module, EPERM},
        {__NR_io_uring_setup, ENOSYS},
        {__NR_io_uring_enter, ENOSYS},
        {__NR_io_uring_register, ENOSYS},
        {__NR_fsopen, ENOSYS},
        {__NR_open_tree, ENOSYS},
        {__NR_move_mount, ENOSYS},
        {438, EPERM /* pidfd_getfd */},
        {442, ENOSYS /* mount_setattr */},
        {457, ENOSYS /* statmount */},
        {471, ENOSYS},
        {500, ENOSYS},
        {511, ENOSYS},
    };

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
            assert_int_equal(call(profiles[p], refused[i].nr, 0, 0, 0), refused[i].error);
    }
}

static void calls_that_programs_need_are_allowed(void **state)
{
    static const long allowed[] = {__NR_read,           __NR_write,
                                   __NR_openat,         __NR_mmap,
                                   __NR_execve,         __NR_execveat,
                                   __NR_futex,          __NR_wait4,
                                   __NR_pipe2,          __NR_connect,
                                   __NR_bind,           __NR_accept4,
                                   __NR_sendmsg,        __NR_recvmsg,
                                   __NR_getrandom,      __NR_prlimit64,
                                   __NR_statx,          __NR_pidfd_open,
                                   __NR_close_range,    __NR_memfd_create,
                                   __NR_flock,          __NR_openat2,
                                   __NR_prctl,          __NR_seccomp,
                                   __NR_faccessat2,     449 /* futex_waitv */,
                                   452 /* fchmodat2 */, 462 /* mseal */};

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
            assert_int_equal(call(profiles[p], allowed[i], 0, 0, 0), 0);
    }
}

/* 1 keeps a dump from a pattern that is a pipe, 0 does not. Reading, and other limits, are free. */
static void nobody_changes_the_limit_of_core_files(void **state)
{
    static const uint64_t pointers[] = {1, 0x7fff00000000, 0x7ffc12345678, HIGH_BIT};

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
            for (uint64_t pid = 0; pid < 3; pid++) {
                assert_int_equal(call(profiles[p], __NR_prlimit64, pid, RLIMIT_CORE, pointers[i]),
                                 PRETENDED);
                assert_int_equal(
                    call(profiles[p], __NR_prlimit64, pid, RLIMIT_CORE | HIGH_BIT, pointers[i]),
                    PRETENDED);
                assert_int_equal(call(profiles[p], __NR_prlimit64, pid, RLIMIT_CPU, pointers[i]),
                                 0);
                assert_int_equal(call(profiles[p], __NR_prlimit64, pid, RLIMIT_CORE, 0), 0);
            }
            assert_int_equal(call(profiles[p], __NR_setrlimit, RLIMIT_CORE, pointers[i], 0),
                             PRETENDED);
            assert_int_equal(call(profiles[p], __NR_setrlimit, RLIMIT_NOFILE, pointers[i], 0), 0);
        }
        assert_int_equal(call(profiles[p], __NR_getrlimit, RLIMIT_CORE, 1, 0), 0);
    }
}

static void other_entries_of_the_kernel_are_enosys(void **state)
{
    struct seccomp_data d = {0};

    (void)state;
    for (int nr = 0; nr < 600; nr++) {
        d.nr = nr;
        d.arch = AUDIT_ARCH_I386;
        assert_int_equal(filter_answer(FILTER_RUN, &d), ENOSYS);
        d.arch = AUDIT_ARCH_ARM;
        assert_int_equal(filter_answer(FILTER_RUN, &d), ENOSYS);
#ifdef __x86_64__
        d.arch = ARCH_NATIVE;
        d.nr = nr | X32_BIT;
        assert_int_equal(filter_answer(FILTER_RUN, &d), ENOSYS);
#endif
    }
    /* Positive control: the same call by the native entry. */
    d = (struct seccomp_data){.nr = __NR_getpid, .arch = ARCH_NATIVE};
    assert_int_equal(filter_answer(FILTER_RUN, &d), 0);
}

static void every_row_is_complete(void **state)
{
    const struct filter_rule *r;
    size_t rows = 0;

    (void)state;
    for (; (r = filter_rule_get(rows)); rows++) {
        assert_true(strlen(r->name) > 0 && strlen(r->reason) > 0 && strlen(r->source) > 0);
        assert_true(r->error == EPERM || r->error == ENOSYS || r->error == EAFNOSUPPORT ||
                    r->error == EPROTONOSUPPORT || r->error == 0);
        assert_true(r->profiles & (FILTER_IN(FILTER_RUN) | FILTER_IN(FILTER_LOGIN)));
        assert_true(r->nr_first <= r->nr_last && r->cmp_count <= FILTER_CMP_MAX);
        for (size_t i = 0; i < r->cmp_count; i++)
            assert_true(r->cmp[i].arg < 6 && r->cmp[i].mask && r->cmp[i].first <= r->cmp[i].last);
    }
    assert_true(rows > 100);
    assert_null(filter_rule_get(rows + 1));
}

static void a_profile_that_does_not_exist_is_refused(void **state)
{
    struct sock_filter *insns = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(filter_build((enum filter_profile)7, &insns, &count), -EINVAL);
    assert_null(insns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_answered_as_the_table_says),
        cmocka_unit_test(every_socket_is_answered_as_the_table_says),
        cmocka_unit_test(random_arguments_are_answered_as_the_table_says),
        cmocka_unit_test(only_inet_inet6_and_netlink_sockets_are_open_in_a_run),
        cmocka_unit_test(sockets_with_kernel_made_inner_sockets_are_refused),
        cmocka_unit_test(only_joins_source_routes_and_upper_layers_are_refused_as_options),
        cmocka_unit_test(sessions_may_listen_and_runs_may_not),
        cmocka_unit_test(netlink_is_route_only),
        cmocka_unit_test(unix_pairs_are_open_but_not_as_datagrams),
        cmocka_unit_test(each_namespace_flag_of_clone_is_refused_and_threads_are_not),
        cmocka_unit_test(high_halves_do_not_open_terminal_injection),
        cmocka_unit_test(calls_of_the_design_are_refused),
        cmocka_unit_test(calls_that_programs_need_are_allowed),
        cmocka_unit_test(nobody_changes_the_limit_of_core_files),
        cmocka_unit_test(other_entries_of_the_kernel_are_enosys),
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(a_profile_that_does_not_exist_is_refused),
    };

    return cmocka_run_group_tests_name("filter", tests, filter_programs_build,
                                       filter_programs_free);
}
