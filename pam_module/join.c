/* SPDX-License-Identifier: ISC */
/*
 * join.c - a login's process (root: sshd's monitor) enters its session and confines itself.
 *
 * What it does here holds for all that it forks from now on: sshd's part that belongs to the
 * participant, the shell, sftp-server. Order, and what a swap would break:
 *   ALONE     first: namespaces, capabilities, no_new_privs and filter belong to a thread; another
 *             one of this process would stay outside of all. With several flags setns(2) does not
 *             refuse that (measured): it changes the root of all threads, the namespaces of one
 *   RLIMIT    before CAPS            (whoever is root may have more open than a hard limit allows)
 *   JOIN      all namespaces by one setns(2) on the pidfd: all of them or none. Never unshare(2):
 *             the first child would be the new PID 1, and every fork after its death fails. From
 *             here on root and working directory are the session's: no path of the host works, and
 *             /proc/self is not there, for this process itself stays outside the PID namespace
 *   close     the pidfd at once      (sshd forks without exec: what is left is the participant's
 *             too, and a directory would be a way out)
 *   CAPS      after JOIN             (setns needs two). Bounding, ambient, inheritable only: the
 *             monitor stays root, for it still becomes the user and gives the terminal away
 *   NNP       before the next two    (so that neither rests on a capability)
 *   LANDLOCK  before FILTER          (which may forbid what the probe needs). Proven with a
 *             connection that worked before and does not after
 *   FILTER    last                   (it forbids setns, among others)
 *   LEASE     by session.c: sessiond reads /proc of this process, and compares
 */
#include "pam_module/join.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

#define PROBE_LIMIT_S 1
/* Far above CAP_LAST_CAP (40 in Linux 6.18): the kernel's EINVAL ends the loop, not this. */
#define CAPS_MAX 64

/* What sessiond sends is what seccomp(2) takes. */
_Static_assert(sizeof(struct session_insn) == sizeof(struct sock_filter), "same size");
_Static_assert(offsetof(struct session_insn, jt) == offsetof(struct sock_filter, jt) &&
                   offsetof(struct session_insn, jf) == offsetof(struct sock_filter, jf) &&
                   offsetof(struct session_insn, k) == offsetof(struct sock_filter, k),
               "same fields");

const char *join_step_key(unsigned step)
{
    static const char *const keys[] = {
#define JOIN_STEP_KEY(id, key) [JOIN_STEP_##id] = (key),
        JOIN_STEPS(JOIN_STEP_KEY)
#undef JOIN_STEP_KEY
    };

    return step < JOIN_STEP__COUNT ? keys[step] : "?";
}

/*
 * Of these flags the first does nothing but fail in a process with threads, or one that shares its
 * memory (unshare(2)); the second makes root and working directory this process's own.
 */
static int step_alone(void)
{
    return unshare(CLONE_VM | CLONE_FS) < 0 ? -errno : 0;
}

static int step_rlimit(const struct session_opened *opened)
{
    for (uint32_t i = 0; i < opened->rlimit_count; i++) {
        __rlimit_resource_t resource = (__rlimit_resource_t)opened->rlimits[i].resource;
        struct rlimit now, wanted;

        if (getrlimit(resource, &now) < 0)
            return -errno;
        wanted.rlim_max = opened->rlimits[i].value;
        if (wanted.rlim_max > now.rlim_max && !opened->rlimits[i].is_exact)
            wanted.rlim_max = now.rlim_max;
        wanted.rlim_cur = wanted.rlim_max;
        if (setrlimit(resource, &wanted) < 0)
            return -errno;
    }
    return 0;
}

static int step_join(const struct session_opened *opened, const struct open_fds *fds)
{
    return setns(fds->init, (int)opened->setns_flags) < 0 ? -errno : 0;
}

/* A program with file capabilities, or a set-uid one, gets nothing that is not in these sets. */
static int step_caps(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    unsigned long cap = 0;

    while (cap < CAPS_MAX && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
        cap++;
    if (cap == 0 || (cap < CAPS_MAX && errno != EINVAL))
        return -errno;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -errno;
    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i].inheritable = 0;
    return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static int step_nnp(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Return: 0 if a listener with this abstract name took a connection of this type, or -errno. */
static int probe_connect(const char *name, int type)
{
    const struct timeval limit = {.tv_sec = PROBE_LIMIT_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    size_t len = strlen(name);

    if (sock < 0 || setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
        return -errno;
    memcpy(address.sun_path + 1, name, len);
    if (connect(sock, (const struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) < 0)
        return -errno;
    return 0;
}

/*
 * A ruleset that was loaded is not a scope that holds: an old kernel, or a ruleset without
 * LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, would load as well. A listener that nobody can reach would
 * look like a scope, so it has to be reached first.
 */
static int step_landlock(const struct session_opened *opened, const struct open_fds *fds)
{
    int type = SOCK_SEQPACKET;
    int r = probe_connect(opened->probe_name, type);

    /* Names of different types are different names. */
    if (r == -ECONNREFUSED || r == -EPROTOTYPE) {
        type = SOCK_STREAM;
        r = probe_connect(opened->probe_name, type);
    }
    if (r < 0)
        return r;
    if (syscall(SYS_landlock_restrict_self, fds->landlock, 0u) < 0)
        return -errno;
    r = probe_connect(opened->probe_name, type);
    if (r == 0)
        return -ENOTRECOVERABLE; /* loaded, and the name is still in reach */
    return r == -EPERM ? 0 : r;
}

static int step_filter(const struct session_opened *opened)
{
    /* seccomp(2) only reads through the pointer. */
    struct sock_fprog prog = {.len = (unsigned short)opened->filter_count,
                              .filter = (struct sock_filter *)(uintptr_t)opened->filter};

    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &prog) < 0 ? -errno : 0;
}

int join_enter(const struct options *options, const struct session_opened *opened,
               struct open_fds *fds, enum join_step *ret_step, bool *ret_is_joined,
               bool *ret_is_scoped)
{
    bool has_landlock = fds->landlock >= 0 && !SKIPPED(options, LANDLOCK);
    enum join_step step = JOIN_STEP_ALONE;
    int r = SKIPPED(options, ALONE) ? 0 : step_alone();

    *ret_is_joined = false;
    if (r == 0 && !SKIPPED(options, RLIMIT)) {
        step = JOIN_STEP_RLIMIT;
        r = step_rlimit(opened);
    }
    if (r == 0 && !SKIPPED(options, JOIN)) {
        step = JOIN_STEP_JOIN;
        r = step_join(opened, fds);
        *ret_is_joined = r == 0;
    }
    if (fds->init >= 0)
        (void)close(fds->init);
    fds->init = -1;
    if (r == 0 && !SKIPPED(options, CAPS)) {
        step = JOIN_STEP_CAPS;
        r = step_caps();
    }
    if (r == 0 && !SKIPPED(options, NNP)) {
        step = JOIN_STEP_NNP;
        r = step_nnp();
    }
    if (r == 0 && has_landlock) {
        step = JOIN_STEP_LANDLOCK;
        r = step_landlock(opened, fds);
    }
    open_fds_close(fds);
    if (r == 0 && !SKIPPED(options, FILTER)) {
        step = JOIN_STEP_FILTER;
        r = step_filter(opened);
    }
    if (r < 0)
        *ret_step = step;
    else
        *ret_is_scoped = has_landlock;
    return r;
}
