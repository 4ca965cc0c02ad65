/* SPDX-License-Identifier: ISC */
/*
 * calls.c - seccomp: what a filter sees of a call, what it does not, and how it is kept.
 *
 * The filters here are the shortest that show the point, by hand. The product's is tested in
 * tests/unit.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define X32_BIT      0x40000000u
#define I386_SOCKET  359
#define HIGH_BIT     (1ull << 32)
#define OP_SOCKET    45 /* IORING_OP_SOCKET, Linux 5.19; not in every header */
#define DATA(member) offsetof(struct seccomp_data, member)
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define UNLESS(k, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(k), 0, (n))
#define RET(what)    BPF_STMT(BPF_RET | BPF_K, (uint32_t)(what))
#define REFUSE(err)  RET(SECCOMP_RET_ERRNO | (uint32_t)(err))
#define ALLOW        RET(SECCOMP_RET_ALLOW)

static int filter_load(struct sock_filter *code, size_t count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = code};

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno;
}

#define FILTER(code)                                                                               \
    do {                                                                                           \
        SETUP(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);                                        \
        SETUP(filter_load(code, sizeof(code) / sizeof((code)[0])) == 0);                           \
    } while (0)

/* socket(AF_INET, ...) is refused: with both halves compared, as libseccomp does it; with one. */
static struct sock_filter both_halves[] = {
    LOAD(DATA(nr)),      UNLESS(SYS_socket, 5), LOAD(DATA(args[0]) + 4), UNLESS(0, 3),
    LOAD(DATA(args[0])), UNLESS(AF_INET, 1),    REFUSE(EPERM),           ALLOW,
};
static struct sock_filter low_half[] = {
    LOAD(DATA(nr)),     UNLESS(SYS_socket, 3), LOAD(DATA(args[0])),
    UNLESS(AF_INET, 1), REFUSE(EPERM),         ALLOW,
};

static long socket_raw(unsigned long long family)
{
    return syscall(SYS_socket, family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int family_of(long fd)
{
    int family = -1;
    socklen_t len = sizeof(family);

    (void)getsockopt((int)fd, SOL_SOCKET, SO_DOMAIN, &family, &len);
    return family;
}

static void with_both_halves(void *arg)
{
    (void)arg;
    FILTER(both_halves);
    CONTROL(socket_raw(AF_INET) < 0 && errno == EPERM);
    MUST(family_of(socket_raw(AF_INET | HIGH_BIT)) == AF_INET);
}

static void with_low_half(void *arg)
{
    (void)arg;
    FILTER(low_half);
    MUST(socket_raw(AF_INET) < 0 && errno == EPERM);
    MUST(socket_raw(AF_INET | HIGH_BIT) < 0 && errno == EPERM);
    CONTROL(family_of(socket_raw(AF_UNIX | HIGH_BIT)) == AF_UNIX);
}

static void a_comparison_of_64_bits_misses_what_the_kernel_takes_for_32(void)
{
    SETUP(child_run(with_both_halves, NULL) == 0);
    SETUP(child_run(with_low_half, NULL) == 0);
}

/* --- other entries -------------------------------------------------------------------------- */

#if defined(__x86_64__)
static long i386_call(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c)
                     : "memory", "r8", "r9", "r10", "r11");
    return result;
}

static void i386_try(void *arg)
{
    (void)arg;
    _exit(i386_call(20, 0, 0, 0) == getpid() ? 0 : 1); /* getpid */
}

static void with_native_numbers(void *arg)
{
    (void)arg;
    FILTER(low_half);
    CONTROL(socket_raw(AF_INET) < 0 && errno == EPERM);
    MUST(family_of(i386_call(I386_SOCKET, AF_INET, SOCK_STREAM, 0)) == AF_INET);
}

static void with_architecture(void *arg)
{
    static struct sock_filter native[] = {LOAD(DATA(arch)), UNLESS(AUDIT_ARCH_X86_64, 1), ALLOW,
                                          REFUSE(ENOSYS)};

    (void)arg;
    FILTER(native);
    MUST(i386_call(I386_SOCKET, AF_INET, SOCK_STREAM, 0) == -ENOSYS);
    CONTROL(family_of(socket_raw(AF_INET)) == AF_INET);
}

static void the_i386_entry_has_other_numbers(void)
{
    bool is_there = child_run(i386_try, NULL) == 0;

    prove_fact("i386_entry", is_there ? "yes" : "no");
    NEED(is_there, "this kernel has no i386 entry");
    SETUP(child_run(with_native_numbers, NULL) == 0);
    SETUP(child_run(with_architecture, NULL) == 0);
}

static void with_x32_told(void *arg)
{
    static struct sock_filter tell[] = {LOAD(DATA(nr)), UNLESS(SYS_getpid | X32_BIT, 1),
                                        REFUSE(EXDEV), ALLOW};

    (void)arg;
    FILTER(tell);
    CONTROL(syscall(SYS_getpid) > 0);
    MUST(syscall(SYS_getpid | X32_BIT) < 0 && errno == EXDEV);
}

/* The same number with a bit: to a filter it is another call, to a kernel with x32 the same one. */
static void the_x32_bit_is_seen_by_the_filter(void)
{
    prove_fact("x32_entry", syscall(SYS_getpid | X32_BIT) > 0 ? "yes" : "no");
    SETUP(child_run(with_x32_told, NULL) == 0);
}
#else
static void the_i386_entry_has_other_numbers(void)
{
    prove_skip("no such entry on this machine");
}

static void the_x32_bit_is_seen_by_the_filter(void)
{
    prove_skip("no such entry on this machine");
}
#endif

/* --- clone3 --------------------------------------------------------------------------------- */

static void *nothing(void *arg)
{
    return arg;
}

static void thread_with_clone3_refused(void *err)
{
    struct sock_filter no_clone3[] = {LOAD(DATA(nr)), UNLESS(SYS_clone3, 1), REFUSE(*(int *)err),
                                      ALLOW};
    pthread_t thread;
    int r;

    FILTER(no_clone3);
    SETUP(syscall(SYS_clone3, NULL, 0) < 0 && errno == *(int *)err);
    r = pthread_create(&thread, NULL, nothing, NULL);
    _exit(r == 0 ? pthread_join(thread, NULL) : r);
}

/* Of the C library, but the reason why clone3 is not answered as other calls are. */
static void clone3_enosys_makes_the_c_library_use_clone(void)
{
    int enosys = ENOSYS, eperm = EPERM;

    CONTROL(child_run(thread_with_clone3_refused, &eperm) == EPERM);
    MUST(child_run(thread_with_clone3_refused, &enosys) == 0);
}

static void clone3_with_filter(void *arg)
{
    /* clone with CLONE_NEWUTS, by its first argument. */
    static struct sock_filter no_uts[] = {
        LOAD(DATA(nr)),      UNLESS(SYS_clone, 3),
        LOAD(DATA(args[0])), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUTS, 0, 1),
        REFUSE(EPERM),       ALLOW,
    };
    struct clone_args args = {.flags = CLONE_NEWUTS, .exit_signal = SIGCHLD};
    long pid;

    (void)arg;
    FILTER(no_uts);
    CONTROL(syscall(SYS_clone, CLONE_NEWUTS | SIGCHLD, 0, 0, 0, 0) < 0 && errno == EPERM);
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        _exit(0);
    MUST(pid > 0 && child_end((pid_t)pid) == 0);
}

static void the_flags_of_clone3_are_out_of_sight(void)
{
    SETUP(child_run(clone3_with_filter, NULL) == 0);
}

/* --- how it is kept ------------------------------------------------------------------------- */

static void load_as_user(void *has_nnp)
{
    become(uid_a);
    if (has_nnp)
        SETUP(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    _exit(filter_load(low_half, sizeof(low_half) / sizeof(low_half[0])));
}

static void a_filter_needs_no_new_privs(void)
{
    MUST(child_run(load_as_user, NULL) == EACCES);
    CONTROL(child_run(load_as_user, low_half) == 0);
}

static void connect_by_exec(void *is_filtered)
{
    char *argv[] = {(char[]){"/tmp/plain"}, (char[]){ACT_CONNECT}, (char[]){"1"}, NULL};

    if (is_filtered)
        FILTER(low_half);
    (void)execv(argv[0], argv);
    _exit(127);
}

static void a_filter_is_kept_by_fork_and_exec(void)
{
    lo_up();
    self_copy("/tmp/plain", 0, 0, 0755);
    CONTROL(child_run(connect_by_exec, NULL) == ECONNREFUSED);
    MUST(child_run(connect_by_exec, low_half) == EPERM);
}

static void the_strictest_filter_wins(void)
{
    static struct sock_filter all[] = {ALLOW};

    CONTROL(socket_raw(AF_INET) >= 0);
    FILTER(low_half);
    FILTER(all); /* one that comes later cannot allow again */
    MUST(socket_raw(AF_INET) < 0 && errno == EPERM);
}

static void status_counts_the_filters(void)
{
    CONTROL(status_number(getpid(), "Seccomp", 10) == 0);
    CONTROL(status_number(getpid(), "Seccomp_filters", 10) == 0);
    FILTER(low_half);
    MUST(status_number(getpid(), "Seccomp", 10) == SECCOMP_MODE_FILTER);
    MUST(status_number(getpid(), "Seccomp_filters", 10) == 1);
    FILTER(low_half);
    MUST(status_number(getpid(), "Seccomp_filters", 10) == 2);
}

/* --- io_uring ------------------------------------------------------------------------------- */

static void *ring_part(int fd, size_t size, off_t what)
{
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, what);

    SETUP(map != MAP_FAILED);
    return map;
}

/* One entry of the ring. Return: what the kernel answered. */
static int ring_do(int fd, const struct io_uring_params *p, const struct io_uring_sqe *wanted)
{
    char *sq =
        ring_part(fd, p->sq_off.array + p->sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    char *cq = ring_part(fd, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
                         IORING_OFF_CQ_RING);
    struct io_uring_sqe *sqe =
        ring_part(fd, p->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
    struct io_uring_cqe done;

    *sqe = *wanted;
    *(unsigned *)(void *)(sq + p->sq_off.array) = 0;
    __atomic_store_n((unsigned *)(void *)(sq + p->sq_off.tail), 1u, __ATOMIC_RELEASE);
    SETUP(syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
    memcpy(&done, cq + p->cq_off.cqes, sizeof(done));
    return done.res;
}

static void io_uring_makes_sockets_past_the_filter(void)
{
    struct io_uring_params params = {0};
    struct io_uring_sqe sqe = {.opcode = OP_SOCKET, .fd = AF_INET, .off = SOCK_STREAM};
    int ring, made;

    ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    prove_fact("io_uring", ring >= 0 ? "yes" : errno == ENOSYS ? "no" : "switched-off");
    NEED(ring >= 0, "io_uring is not there, or switched off");
    FILTER(low_half);
    CONTROL(socket_raw(AF_INET) < 0 && errno == EPERM);
    made = ring_do(ring, &params, &sqe);
    NEED(made != -EINVAL, "io_uring of this kernel makes no sockets");
    MUST(made >= 0 && family_of(made) == AF_INET);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(a_comparison_of_64_bits_misses_what_the_kernel_takes_for_32),
    BEHAVIOUR(the_i386_entry_has_other_numbers),
    BEHAVIOUR(the_x32_bit_is_seen_by_the_filter),
    BEHAVIOUR(clone3_enosys_makes_the_c_library_use_clone),
    BEHAVIOUR(the_flags_of_clone3_are_out_of_sight),
    BEHAVIOUR(a_filter_needs_no_new_privs),
    BEHAVIOUR(a_filter_is_kept_by_fork_and_exec),
    BEHAVIOUR(the_strictest_filter_wins),
    BEHAVIOUR(status_counts_the_filters),
    BEHAVIOUR(io_uring_makes_sockets_past_the_filter),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "calls", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
