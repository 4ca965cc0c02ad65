/* SPDX-License-Identifier: ISC */
/* host_kernel.c - what the kernel can do, and how it is switched. */
#include <errno.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ctl/doctor/checks.h"
#include "ctl/doctor/facts.h"
#include "ctl/setup/host.h"

#include "common/banned.h"

#define LANDLOCK_SCOPES 6 /* ABI from which abstract names can be scoped. Source: landlock(7) */

/* Descriptor -1 and sizes of 0: a kernel that has the call says that the arguments are wrong. */
static const struct {
    const char *name;
    long number;
} calls[] = {
    {"open_tree", SYS_open_tree},
    {"move_mount", SYS_move_mount},
    {"fsopen", SYS_fsopen},
    {"mount_setattr", SYS_mount_setattr},
    {"openat2", SYS_openat2},
    {"clone3", SYS_clone3},
    {"close_range", SYS_close_range},
    {"pidfd_open", SYS_pidfd_open},
    {"pidfd_send_signal", SYS_pidfd_send_signal},
};
#define CALL_COUNT (sizeof(calls) / sizeof(calls[0]))

/* close_range() above every descriptor does nothing; the others fail before they do anything. */
static bool has_call(long number)
{
    long r = number == SYS_close_range ? syscall(number, UINT32_MAX, UINT32_MAX, 0)
                                       : syscall(number, -1L, NULL, 0L, 0L, 0L);

    return r >= 0 || errno != ENOSYS;
}

static bool has_filter(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void check_kernel(struct doctor *d, struct doctor_line *l)
{
    struct utsname name;

    (void)d;
    if (uname(&name) < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "uname: %s", strerror(errno));
        return;
    }
    if (!kernel_is_known(name.release))
        doctor_say(l, DOCTOR_FAIL, "%s is older than 5.14 (cgroup.kill)", name.release);
    for (size_t i = 0; i < CALL_COUNT; i++) {
        if (!has_call(calls[i].number))
            doctor_say(l, DOCTOR_FAIL, "%s lacks %s(2)", name.release, calls[i].name);
    }
    if (!has_filter())
        doctor_say(l, DOCTOR_FAIL, "%s lacks seccomp filters", name.release);
    doctor_say(l, DOCTOR_PASS, "%s: mount API, pidfd, openat2, seccomp: %zu calls tried",
               name.release, CALL_COUNT);
}

void check_landlock(struct doctor *d, struct doctor_line *l)
{
    int abi = facts_landlock_abi();

    (void)d;
    if (abi >= LANDLOCK_SCOPES)
        doctor_say(l, DOCTOR_PASS, "version %d: abstract socket names are out of sessions' reach",
                   abi);
    else
        doctor_say(l, DOCTOR_WARN,
                   "version %d, and names are scoped from %d on: sessions reach the abstract "
                   "sockets of the host (runs do not)",
                   abi, LANDLOCK_SCOPES);
}

/* --- switches --------------------------------------------------------------------------------- */

/* Least: what Debian sets; below it somebody should know. Without: only to be told. */
static const struct {
    const char *path, *name;
    uint32_t least;
    bool is_wanted;
} switches[] = {
    {"/proc/sys/fs/protected_hardlinks", "fs.protected_hardlinks", 1, true},
    {"/proc/sys/fs/protected_symlinks", "fs.protected_symlinks", 1, true},
    {"/proc/sys/fs/protected_fifos", "fs.protected_fifos", 1, true},
    {"/proc/sys/fs/protected_regular", "fs.protected_regular", 1, true},
    {"/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 0, false},
    {"/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0, false},
    {"/proc/sys/kernel/yama/ptrace_scope", "kernel.yama.ptrace_scope", 0, false},
    {"/proc/sys/dev/tty/legacy_tiocsti", "dev.tty.legacy_tiocsti", 0, false},
};

void check_sysctls(struct doctor *d, struct doctor_line *l)
{
    (void)d;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        uint32_t value;
        int r = facts_number(switches[i].path, &value);

        if (r == -ENOENT && !switches[i].is_wanted)
            continue;
        if (r < 0)
            doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", switches[i].name, strerror(-r));
        else if (value < switches[i].least)
            doctor_say(l, DOCTOR_WARN, "%s is %u", switches[i].name, value);
        else
            doctor_say(l, DOCTOR_PASS, "%s %u", strchr(switches[i].name, '.') + 1, value);
    }
}

/*
 * A core that goes to a program goes to one of root's. Runs and sessions have RLIMIT_CORE 1, which
 * such a pattern obeys, and which their filter keeps: core(5).
 */
void check_cores(struct doctor *d, struct doctor_line *l)
{
    char pattern[256], dumpable[16];

    (void)d;
    if (text_file_read("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)) < 0 ||
        text_file_read("/proc/sys/fs/suid_dumpable", dumpable, sizeof(dumpable)) < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "/proc/sys/kernel/core_pattern cannot be read");
        return;
    }
    pattern[strcspn(pattern, "\n")] = '\0';
    if (dumpable[0] == '1')
        doctor_say(l, DOCTOR_WARN,
                   "fs.suid_dumpable is 1: programs that change their user can be looked into");
    else
        doctor_say(l, DOCTOR_PASS, "core_pattern \"%s\"%s; participants' limit is 1 byte", pattern,
                   pattern[0] == '|' ? ", a program" : "");
}
