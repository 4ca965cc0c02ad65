/* SPDX-License-Identifier: ISC */
/*
 * test_filter_live.c - the filter in the kernel: every row is called once, and ordinary programs
 * still work. Every call is made in a child, as an unprivileged user, so that a filter that let it
 * through could do no harm either.
 */
#include "policy/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ids.h"

#include "common/banned.h"

#define PYTHON "/usr/bin/python3"

static struct sock_filter *insns;
static size_t insn_count;

/* Root: a network namespace of the test's own, with lo, in which groups can be joined. */
static bool network_make(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd;
    bool up;

    if (geteuid() != 0)
        return true;
    if (unshare(CLONE_NEWNET) < 0)
        return false;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
    (void)close(fd);
    return up;
}

static int filter_prepare(void **state)
{
    (void)state;
    if (!network_make())
        return -1;
    return filter_build(FILTER_RUN, &insns, &insn_count) < 0 ? -1 : 0;
}

static int filter_release(void **state)
{
    (void)state;
    free(insns);
    return 0;
}

/* In a child. Ends it if the test cannot be set up. */
static void user_become(void)
{
    if (geteuid() != 0)
        return;
    if (setgroups(0, NULL) < 0 || setresgid(ID_TEST_MIN, ID_TEST_MIN, ID_TEST_MIN) < 0 ||
        setresuid(ID_TEST_MIN, ID_TEST_MIN, ID_TEST_MIN) < 0)
        _exit(99);
}

static void filter_load(void)
{
    struct sock_fprog program = {.len = (unsigned short)insn_count, .filter = insns};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        _exit(98);
}

typedef void child_main(const void *arg, int out);

/* Runs @body in a child; what it writes to @out comes back. Return: wait status. */
static int child_run(child_main *body, const void *arg, bool filtered, void *buf, size_t size,
                     size_t *ret_n)
{
    int pipes[2], status;
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(pipes[0]);
        (void)setsid();
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's handler would go on with the next test here */
        user_become();
        if (filtered)
            filter_load();
        body(arg, pipes[1]);
        _exit(0);
    }
    (void)close(pipes[1]);
    assert_int_equal(fd_read_full(pipes[0], buf, size, ret_n), 0);
    (void)close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

struct raw_call {
    long nr;
    unsigned long args[6];
};

static void raw_main(const void *arg, int out)
{
    const struct raw_call *c = arg;
    long r = syscall(c->nr, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);
    int error = r < 0 ? errno : 0;

    /* A clone that was let through comes back twice. */
    if (c->nr == __NR_clone && r == 0)
        _exit(0);
    (void)fd_write_full(out, &error, sizeof(error));
}

static int raw_errno(const struct raw_call *c, bool filtered)
{
    int error = -1;
    size_t n;
    int status = child_run(raw_main, c, filtered, &error, sizeof(error), &n);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || n != sizeof(error))
        return -status;
    return error;
}

/* Pointers that point nowhere, descriptors that are none, conditions that hold. */
static struct raw_call call_of_row(const struct filter_rule *r)
{
    struct raw_call c = {.nr = r->nr_first};

    for (size_t i = 0; i < 6; i++)
        c.args[i] = c.nr == __NR_clone ? 0 : ~0ul;
    for (size_t i = 0; i < r->cmp_count; i++)
        c.args[r->cmp[i].arg] = r->cmp[i].is_nonzero ? ~0ul : r->cmp[i].first;
    if (c.nr == __NR_clone)
        c.args[0] |= SIGCHLD;
    if (c.nr == __NR_socket && r->cmp[0].arg == 2) {
        c.args[0] = AF_INET;
        c.args[1] = SOCK_DGRAM;
    }
    if (c.nr == __NR_socketpair && r->cmp[0].arg == 1)
        c.args[0] = AF_UNIX;
    /* The last argument that no row names must not make two rows hold. */
    if (c.nr == __NR_socket && r->cmp[r->cmp_count - 1].arg != 2)
        c.args[2] = 0;
    if (c.nr == __NR_socket && r->cmp[0].arg == 0 && r->cmp_count == 1)
        c.args[1] = SOCK_DGRAM;
    if (c.nr == __NR_socket && r->cmp_count == 2 && r->cmp[1].arg == 2)
        c.args[1] = SOCK_DGRAM;
    return c;
}

static void each_row_is_refused_by_the_kernel_with_the_errno_of_the_table(void **state)
{
    const struct filter_rule *r;
    size_t rows = 0, differ = 0;

    (void)state;
    for (size_t i = 0; (r = filter_rule_get(i)); i++) {
        struct raw_call c = call_of_row(r);
        int got;

        if (r->nr_first < 0 || !(r->profiles & FILTER_IN(FILTER_RUN)))
            continue;
        got = raw_errno(&c, true);
        if (got != r->error)
            fail_msg("%s (row %zu): errno %d, the table says %d", r->name, i, got, r->error);
        rows++;
        if (raw_errno(&c, false) != r->error)
            differ++;
    }
    /* Positive control: without the filter most calls end in another way (88 of 126 on 6.18). */
    print_message("%zu rows, %zu answered otherwise without the filter\n", rows, differ);
    assert_true(differ * 3 > rows);
}

static void open_calls_fail_as_without_a_filter(void **state)
{
    static const struct raw_call calls[] = {
        {.nr = __NR_ioctl, .args = {~0ul, 0x5413}},
        {.nr = __NR_fcntl, .args = {~0ul, 1025}},
        {.nr = __NR_socket, .args = {AF_INET, SOCK_STREAM, 0}},
        {.nr = __NR_socket, .args = {AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 17}},
        {.nr = __NR_socket, .args = {AF_NETLINK, SOCK_RAW, 0}},
        {.nr = __NR_getpid},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        assert_int_equal(raw_errno(&calls[i], true), raw_errno(&calls[i], false));
}

static void high_halves_do_not_help_in_the_kernel(void **state)
{
    struct raw_call c = {.nr = __NR_socket, .args = {AF_UNIX | 1ul << 32, SOCK_STREAM, 0}};

    (void)state;
    assert_int_equal(raw_errno(&c, false), 0);
    assert_int_equal(raw_errno(&c, true), EAFNOSUPPORT);
}

static void unknown_numbers_are_enosys(void **state)
{
    static const long numbers[] = {471, 500, 511, 1000, 1 << 20};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct raw_call c = {.nr = numbers[i]};

        assert_int_equal(raw_errno(&c, true), ENOSYS);
    }
}

/* --- A pair of datagram sockets, and what it would reach ----------------------------------------
 */
static void datagram_main(const void *arg, int out)
{
    const struct sockaddr_un *name = arg;
    int pair[2] = {-1, -1}, error = 0;

    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 ||
        sendto(pair[0], "x", 1, 0, (const struct sockaddr *)name, sizeof(*name)) != 1)
        error = errno;
    (void)fd_write_full(out, &error, sizeof(error));
}

static void an_abstract_name_is_not_reached_through_a_pair(void **state)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = -1;
    char text[8];
    size_t n;

    (void)state;
    /* Abstract: begins with NUL, is as long as the structure. */
    (void)snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "atelier-test-%d", getpid());
    assert_true(sock >= 0);
    assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof(name)), 0);

    (void)child_run(datagram_main, &name, true, &error, sizeof(error), &n);
    assert_int_equal(error, EPROTONOSUPPORT);
    assert_true(recv(sock, text, sizeof(text), MSG_DONTWAIT) < 0);

    /* Positive control: without the filter it arrives. */
    (void)child_run(datagram_main, &name, false, &error, sizeof(error), &n);
    assert_int_equal(error, 0);
    assert_int_equal(recv(sock, text, sizeof(text), MSG_DONTWAIT), 1);
    (void)close(sock);
}

/* --- Options of sockets, and listening
 * --------------------------------------------------------------- */
#define LO 1u /* index of lo, in every network namespace */

static struct sockaddr_storage address_of(int family, const char *host)
{
    struct sockaddr_storage s = {.ss_family = (sa_family_t)family};
    void *at = family == AF_INET ? (void *)&((struct sockaddr_in *)&s)->sin_addr
                                 : (void *)&((struct sockaddr_in6 *)&s)->sin6_addr;

    assert_int_equal(inet_pton(family, host, at), 1);
    return s;
}

/* The filter comes first: a join that worked would stay with the socket. */
static void assert_option(int family, int option, const void *value, size_t size)
{
    int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct raw_call c = {.nr = __NR_setsockopt,
                         .args = {(unsigned long)fd, (unsigned long)level, (unsigned long)option,
                                  (unsigned long)value, size}};

    assert_true(fd >= 0);
    if (raw_errno(&c, true) != EPERM)
        fail_msg("level %d, option %d: not refused", level, option);
    /* Positive control. */
    if (raw_errno(&c, false) != 0)
        fail_msg("level %d, option %d: does not work without the filter either", level, option);
    (void)close(fd);
}

static void groups_are_not_joined(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};
    static const char *const groups[] = {"232.1.2.3", "ff35::8000:1"};
    static const char *const sources[] = {"198.51.100.9", "2001:db8:1::9"};
    struct ip_mreqn group4 = {.imr_ifindex = LO};
    struct ip_mreq_source from4 = {.imr_interface.s_addr = htonl(INADDR_LOOPBACK)};
    struct ipv6_mreq group6 = {.ipv6mr_interface = LO};

    (void)state;
    assert_int_equal(inet_pton(AF_INET, groups[0], &group4.imr_multiaddr), 1);
    assert_int_equal(inet_pton(AF_INET, groups[0], &from4.imr_multiaddr), 1);
    assert_int_equal(inet_pton(AF_INET, sources[0], &from4.imr_sourceaddr), 1);
    assert_int_equal(inet_pton(AF_INET6, groups[1], &group6.ipv6mr_multiaddr), 1);
    assert_option(AF_INET, IP_ADD_MEMBERSHIP, &group4, sizeof(group4));
    assert_option(AF_INET, IP_ADD_SOURCE_MEMBERSHIP, &from4, sizeof(from4));
    assert_option(AF_INET6, IPV6_JOIN_GROUP, &group6, sizeof(group6));
    for (size_t i = 0; i < 2; i++) {
        struct group_req any = {.gr_interface = LO, .gr_group = address_of(families[i], groups[i])};
        struct group_source_req one = {.gsr_interface = LO,
                                       .gsr_group = any.gr_group,
                                       .gsr_source = address_of(families[i], sources[i])};

        assert_option(families[i], MCAST_JOIN_GROUP, &any, sizeof(any));
        assert_option(families[i], MCAST_JOIN_SOURCE_GROUP, &one, sizeof(one));
    }
}

static void source_routes_are_not_set(void **state)
{
    /* Record route: newer kernels keep LSRR from everybody without CAP_NET_RAW. */
    static const unsigned char options4[8] = {7, 7, 4};
    /* Segment routing header by 2001:db8:1::2, RFC 8754. */
    static const unsigned char route6[24] = {0, 2, 4, 0, 0, 0, 0, 0, 0x20, 1, 0x0d, 0xb8,
                                             0, 1, 0, 0, 0, 0, 0, 0, 0,    0, 0,    2};

    (void)state;
    assert_option(AF_INET, IP_OPTIONS, options4, sizeof(options4));
    assert_option(AF_INET6, IPV6_RTHDR, route6, sizeof(route6));
}

static void a_run_does_not_listen(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sockaddr_storage lo = address_of(families[i], i ? "::1" : "127.0.0.1");
        socklen_t size = i ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
        int fd = socket(families[i], SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct raw_call bound = {.nr = __NR_bind,
                                 .args = {(unsigned long)fd, (unsigned long)&lo, size}};
        struct raw_call listens = {.nr = __NR_listen, .args = {(unsigned long)fd}};

        /* Clients may name their port, so bind is open. */
        assert_int_equal(raw_errno(&bound, true), 0);
        assert_int_equal(raw_errno(&listens, true), EPERM);
        assert_int_equal(raw_errno(&listens, false), 0);
        (void)close(fd);
    }
}

/* --- The other entries
 * ---------------------------------------------------------------------------- */
#ifdef __x86_64__
static void i386_main(const void *arg, int out)
{
    long r = 20; /* getpid of i386 */
    int result;

    (void)arg;
    __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
    result = (int)r;
    (void)fd_write_full(out, &result, sizeof(result));
}

static void the_i386_entry_never_succeeds(void **state)
{
    int result = 0, status;
    size_t n;

    (void)state;
    status = child_run(i386_main, NULL, false, &result, sizeof(result), &n);
    if (!WIFEXITED(status) || n != sizeof(result) || result <= 0) {
        print_message("skipped: this kernel has no i386 entry\n");
        skip();
    }
    status = child_run(i386_main, NULL, true, &result, sizeof(result), &n);
    assert_true(WIFEXITED(status) && n == sizeof(result));
    assert_int_equal(result, -ENOSYS);
}

static void the_x32_entry_never_succeeds(void **state)
{
    struct raw_call c = {.nr = __NR_getpid | 0x40000000};

    (void)state;
    assert_int_equal(raw_errno(&c, true), ENOSYS);
}
#endif

/* --- Programs that must go on working
 * --------------------------------------------------------------- */
static void *thread_main(void *arg)
{
    *(int *)arg = 42;
    return NULL;
}

static void ordinary_main(const void *arg, int out)
{
    pthread_t thread;
    int value = 0, pair[2], ok = 1, status = 0;
    pid_t pid;

    (void)arg;
    ok = ok && pthread_create(&thread, NULL, thread_main, &value) == 0;
    ok = ok && pthread_join(thread, NULL) == 0 && value == 42;
    pid = fork();
    if (pid == 0)
        _exit(7);
    ok = ok && pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7;
    pid = vfork();
    if (pid == 0)
        _exit(8);
    ok = ok && pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 8;
    ok = ok && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;
    (void)fd_write_full(out, &ok, sizeof(ok));
}

static void threads_children_and_pairs_work(void **state)
{
    int ok = 0;
    size_t n;

    (void)state;
    assert_int_equal(child_run(ordinary_main, NULL, true, &ok, sizeof(ok), &n), 0);
    assert_int_equal(ok, 1);
}

static void python_main(const void *arg, int out)
{
    char *argv[] = {(char[]){PYTHON}, (char[]){"-IBc"}, (char *)(uintptr_t)arg, NULL};
    char *envp[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};

    if (dup2(out, 1) < 0 || chdir("/") < 0)
        _exit(97);
    (void)execve(PYTHON, argv, envp);
    _exit(96);
}

static void python_runs_processes_threads_and_pools(void **state)
{
    static const char script[] =
        "import asyncio, concurrent.futures, multiprocessing, socket, subprocess, threading\n"
        "t = threading.Thread(target=print, args=('thread',), kwargs={'flush': True})\n"
        "t.start(); t.join()\n"
        "print(subprocess.check_output(['echo', 'child'], text=True).strip(), flush=True)\n"
        "with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]), flush=True)\n"
        "with concurrent.futures.ProcessPoolExecutor(2) as pool:\n"
        "    print(list(pool.map(abs, [-3, -4])), flush=True)\n"
        "async def sub():\n"
        "    p = await asyncio.create_subprocess_exec('echo', 'aio', stdout=-1)\n"
        "    return (await p.communicate())[0].decode().strip()\n"
        "print(asyncio.run(sub()), flush=True)\n"
        "print(socket.getaddrinfo('127.0.0.1', 80)[0][4], flush=True)\n"
        "try: socket.socket(socket.AF_UNIX)\n"
        "except OSError as e: print(e.errno, flush=True)\n"
        "try: socket.create_server(('127.0.0.1', 0))\n"
        "except OSError as e: print(e.errno, flush=True)\n";
    static const char expected[] = "thread\nchild\n[1, 2]\n[3, 4]\naio\n('127.0.0.1', 80)\n97\n1\n";
    char text[512] = "";
    size_t n;

    (void)state;
    if (access(PYTHON, X_OK) < 0) {
        print_message("skipped: no " PYTHON "\n");
        skip();
    }
    assert_int_equal(child_run(python_main, script, true, text, sizeof(text) - 1, &n), 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_refused_by_the_kernel_with_the_errno_of_the_table),
        cmocka_unit_test(open_calls_fail_as_without_a_filter),
        cmocka_unit_test(high_halves_do_not_help_in_the_kernel),
        cmocka_unit_test(unknown_numbers_are_enosys),
        cmocka_unit_test(an_abstract_name_is_not_reached_through_a_pair),
        cmocka_unit_test(groups_are_not_joined),
        cmocka_unit_test(source_routes_are_not_set),
        cmocka_unit_test(a_run_does_not_listen),
#ifdef __x86_64__
        cmocka_unit_test(the_i386_entry_never_succeeds),
        cmocka_unit_test(the_x32_entry_never_succeeds),
#endif
        cmocka_unit_test(threads_children_and_pairs_work),
        cmocka_unit_test(python_runs_processes_threads_and_pools),
    };

    return cmocka_run_group_tests_name("filter_live", tests, filter_prepare, filter_release);
}
