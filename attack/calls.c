/* SPDX-License-Identifier: ISC */
/*
 * calls.c - system calls that nobody needs for work.
 *
 * Each with arguments that do nothing, for whoever may. "Looked at" is the errno of a kernel that
 * would have done it for another argument: it has let the call in, and so it counts as reached.
 */
#include "attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define KEY_PROCESS_RING (-2L) /* keyctl(2): goes with the process */
#define KEY_USER_RING    (-4L)
#define TEMP_FILE        "/tmp/attack-XXXXXX"
#define MLOCK_BYTES      ((size_t)4 << 20)

static int result(long r)
{
    if (r >= 0)
        return 0;
    return errno != 0 ? -errno : -EINVAL;
}

static int call_userns(void *arg)
{
    (void)arg;
    return result(unshare(CLONE_NEWUSER));
}

static int call_userns_clone(void *arg)
{
    long pid = syscall(SYS_clone, (unsigned long)(CLONE_NEWUSER | SIGCHLD), 0, 0, 0, 0);

    (void)arg;
    if (pid == 0)
        _exit(0);
    return result(pid);
}

static int call_mntns(void *arg)
{
    (void)arg;
    return result(unshare(CLONE_NEWNS));
}

static int call_setns(void *arg)
{
    int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

    (void)arg;
    return fd < 0 ? -errno : result(setns(fd, CLONE_NEWUTS));
}

static int call_clone3(void *arg)
{
    uint64_t args[8] = {0};
    long pid;

    (void)arg;
    args[4] = SIGCHLD; /* exit_signal; linux/sched.h, struct clone_args */
    pid = syscall(435, args, sizeof(args));
    if (pid == 0)
        _exit(0);
    return result(pid);
}

static int call_mount(void *arg)
{
    (void)arg;
    return result(mount("none", "/", "no-such-file-system", 0, NULL));
}

static int call_umount(void *arg)
{
    (void)arg;
    return result(umount2("/", MNT_EXPIRE | MNT_FORCE));
}

static int call_fsopen(void *arg)
{
    (void)arg;
    return result(syscall(430, "no-such-file-system", 0));
}

static int call_open_tree(void *arg)
{
    (void)arg;
    return result(syscall(428, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
}

static int call_chroot(void *arg)
{
    (void)arg;
    return result(chroot("/"));
}

static int call_mknod(void *arg)
{
    int r;

    (void)arg;
    r = result(mknod("/tmp/attack-node", S_IFCHR | 0600, 0x0103 /* null */));
    if (r == 0)
        (void)unlink("/tmp/attack-node");
    return r;
}

static int call_sethostname(void *arg)
{
    (void)arg;
    return result(syscall(SYS_sethostname, "", -1L));
}

static int call_setuid(void *arg)
{
    (void)arg;
    return getuid() == 0 ? 0 : result(setuid(0));
}

static int call_bpf(void *arg)
{
    char attr[72] = {0};

    (void)arg;
    return result(syscall(SYS_bpf, 0, attr, sizeof(attr)));
}

static int call_perf(void *arg)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};

    (void)arg;
    return result(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul));
}

static int call_io_uring(void *arg)
{
    char params[120] = {0};

    (void)arg;
    return result(syscall(425, 1u, params));
}

static int call_add_key(void *arg)
{
    (void)arg;
    return result(syscall(SYS_add_key, "user", "atelier-attack", "x", 1ul, KEY_PROCESS_RING));
}

static int call_keyctl(void *arg)
{
    (void)arg;
    return result(syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, KEY_USER_RING, 0));
}

static int call_request_key(void *arg)
{
    (void)arg;
    return result(syscall(SYS_request_key, "user", "atelier-attack-none", NULL, 0));
}

static int call_userfaultfd(void *arg)
{
    (void)arg;
    return result(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */));
}

static int call_ptrace(void *arg)
{
    (void)arg;
    return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int call_vm_read(void *arg)
{
    char from = 'a', to = 0;
    struct iovec ours = {&to, 1}, theirs = {&from, 1};

    (void)arg;
    return result(process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0));
}

static int call_pidfd_getfd(void *arg)
{
    long pidfd = syscall(SYS_pidfd_open, getpid(), 0);

    (void)arg;
    return pidfd < 0 ? -errno : result(syscall(438, pidfd, STDOUT_FILENO, 0));
}

static int call_personality(void *arg)
{
    (void)arg;
    return result(syscall(SYS_personality, 0xffffffff));
}

static int call_handle(void *arg)
{
    struct {
        uint32_t bytes;
        int32_t type;
        uint8_t handle[128];
    } handle = {.bytes = 128};
    int mount_id;

    (void)arg;
    return result(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount_id, 0));
}

static int call_syslog(void *arg)
{
    (void)arg;
    return result(syscall(SYS_syslog, 10 /* SIZE_BUFFER */, NULL, 0));
}

static int call_lease(void *arg)
{
    char path[] = TEMP_FILE;
    int fd = mkstemp(path), r;

    (void)arg;
    if (fd < 0)
        return -errno;
    r = result(fcntl(fd, F_SETLEASE, F_WRLCK));
    (void)unlink(path);
    (void)close(fd);
    return r;
}

static int call_mlock(void *arg)
{
    void *mem = mmap(NULL, MLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)arg;
    return mem == MAP_FAILED ? -errno : result(mlock(mem, MLOCK_BYTES));
}

static int call_clock(void *arg)
{
    (void)arg;
    return result(syscall(SYS_settimeofday, NULL, NULL));
}

static int call_reboot(void *arg)
{
    (void)arg;
    return result(syscall(SYS_reboot, 0, 0, 0, NULL)); /* not the magic numbers */
}

static int call_module(void *arg)
{
    (void)arg;
    return result(syscall(SYS_init_module, NULL, 0ul, ""));
}

static int call_x32(void *arg)
{
    (void)arg;
#ifdef __x86_64__
    return result(syscall(SYS_getppid | 0x40000000));
#else
    return -ENOSYS;
#endif
}

static int call_i386(void *arg)
{
    (void)arg;
#ifdef __x86_64__
    long r;

    __asm__ volatile("int $0x80" : "=a"(r) : "a"(20L /* getpid of i386 */) : "memory", "cc");
    r = (int)r;
    return r < 0 ? (int)r : 0;
#else
    return -ENOSYS;
#endif
}

static int call_high_family(void *arg)
{
    (void)arg;
    return result(syscall(SYS_socket, AF_ALG | 1L << 32, SOCK_SEQPACKET, 0));
}

static int call_high_netlink(void *arg)
{
    (void)arg;
    return result(syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 4 | 1L << 32));
}

static int call_high_personality(void *arg)
{
    (void)arg;
    return result(syscall(SYS_personality, 0xffffffff | 1L << 32));
}

static int call_unknown(void *arg)
{
    (void)arg;
    return result(syscall(509));
}

struct call {
    const char *name;
    int (*fn)(void *arg);
    int looked_at; /* errno; 0: none */
};

static const struct call calls[] = {
    {"userns", call_userns, 0},
    {"userns-clone", call_userns_clone, 0},
    {"mntns", call_mntns, 0},
    {"setns", call_setns, 0},
    {"clone3", call_clone3, 0},
    {"mount", call_mount, ENODEV},
    {"umount", call_umount, EINVAL},
    {"fsopen", call_fsopen, ENODEV},
    {"open_tree", call_open_tree, 0},
    {"chroot", call_chroot, 0},
    {"mknod", call_mknod, 0},
    {"sethostname", call_sethostname, EINVAL},
    {"setuid", call_setuid, 0},
    {"bpf", call_bpf, EINVAL},
    {"perf", call_perf, 0},
    {"io_uring", call_io_uring, 0},
    {"add_key", call_add_key, 0},
    {"keyctl", call_keyctl, ENOKEY},
    {"request_key", call_request_key, ENOKEY},
    {"userfaultfd", call_userfaultfd, 0},
    {"ptrace", call_ptrace, 0},
    {"vm_read", call_vm_read, 0},
    {"pidfd_getfd", call_pidfd_getfd, 0},
    {"personality", call_personality, 0},
    {"handle", call_handle, EOPNOTSUPP},
    {"syslog", call_syslog, 0},
    {"lease", call_lease, 0},
    {"mlock", call_mlock, 0},
    {"settimeofday", call_clock, 0},
    {"reboot", call_reboot, EINVAL},
    {"module", call_module, EFAULT},
};

static const struct call entries[] = {
    {"x32", call_x32, 0},
    {"i386", call_i386, 0},
    {"high-family", call_high_family, 0},
    {"high-netlink", call_high_netlink, 0},
    {"high-personality", call_high_personality, 0},
    {"unknown", call_unknown, 0},
};

static int all(const char *name, const struct call *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int r = apart(table[i].fn, NULL);

        if (r == -EAGAIN)
            return r; /* no process: nothing was tried */
        if (r < 0 && table[i].looked_at != 0 && -r == table[i].looked_at)
            say_reached(name, table[i].name, "looked at: %s", errno_name(-r));
        else
            say(name, table[i].name, r);
    }
    return 0;
}

int attack_calls(const char *name, int argc, char *argv[])
{
    (void)argc;
    (void)argv;
    return all(name, calls, sizeof(calls) / sizeof(calls[0]));
}

int attack_entries(const char *name, int argc, char *argv[])
{
    (void)argc;
    (void)argv;
    return all(name, entries, sizeof(entries) / sizeof(entries[0]));
}
