/* SPDX-License-Identifier: ISC */
/* lease.c - is the login's process as confined as it was told to be? */
#include "sessiond/monitor/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/receipt.h"

#include "common/banned.h"

/* Return: 0, -EPERM if there is an open directory, or a negative errno. */
static int fds_check(pid_t pid)
{
    char path[32];
    int r = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    if (!dir)
        return -errno;
    for (struct dirent *e; r == 0 && (e = readdir(dir));) {
        struct stat st;

        if (e->d_name[0] == '.')
            continue;
        if (fstatat(dirfd(dir), e->d_name, &st, 0) < 0)
            r = -errno;
        else if (S_ISDIR(st.st_mode))
            r = -EPERM;
    }
    (void)closedir(dir);
    return r;
}

/* Joined: what the session's PID 1 has, and nothing else that is not the host's. */
static const char *namespaces_fault(const struct wire_receipt *r, const struct lease_terms *terms)
{
    static const char *const names[WIRE_NS__COUNT] = {
        [WIRE_NS_MNT] = "mount namespace",   [WIRE_NS_PID] = "pid namespace",
        [WIRE_NS_IPC] = "ipc namespace",     [WIRE_NS_UTS] = "uts namespace",
        [WIRE_NS_NET] = "network namespace", [WIRE_NS_CGROUP] = "cgroup namespace",
        [WIRE_NS_USER] = "user namespace",
    };

    for (unsigned i = 0; i < WIRE_NS__COUNT; i++) {
        bool is_shared = i == WIRE_NS_NET || i == WIRE_NS_USER;
        uint64_t host = receipt_host_namespace((enum wire_ns)i);

        if (r->ns_inode[i] != terms->init_ns[i] || (r->ns_inode[i] == host) != is_shared)
            return names[i];
    }
    return NULL;
}

const char *lease_fault(const struct wire_receipt *r, const struct lease_terms *terms)
{
    const char *what;

    if (!cgroup_leaf_matches(terms->leaf, r))
        return "control group";
    what = namespaces_fault(r, terms);
    if (what)
        return what;
    if ((r->cap_inh | r->cap_bnd | r->cap_amb) != 0)
        return "capabilities";
    if (r->no_new_privs != 1)
        return "no_new_privs";
    if (r->seccomp != 2 || r->seccomp_filters != terms->filters_before + 1)
        return "seccomp";
    if (!receipt_limits_match(r, terms->plan))
        return "rlimits";
    if (r->mount_count == 0 || r->mount_loose != 0)
        return "mount flags";
    return NULL;
}

int lease_verify(pid_t holder, const struct lease_terms *terms, struct wire_receipt *ret_r,
                 const char **ret_what)
{
    struct wire_receipt r;
    int e;

    *ret_what = "receipt";
    e = receipt_read_login(holder, terms->leaf, &r);
    if (e < 0)
        return e;
    *ret_what = lease_fault(&r, terms);
    if (*ret_what)
        return -EPERM;
    *ret_what = "control group";
    if (!cgroup_leaf_has(terms->leaf, terms->init))
        return -EPERM;
    *ret_what = receipt_places_fault(holder, terms->plan);
    if (*ret_what)
        return -EPERM;
    *ret_what = "trees";
    e = hosttree_verify(holder, terms->plan, terms->mounts);
    if (e < 0)
        return e;
    receipt_note_skills(&r, terms->plan);
    *ret_what = "an open directory";
    e = fds_check(holder);
    if (e < 0)
        return e;
    *ret_r = r;
    return 0;
}

static int text_read(const char *path, char *buf, size_t size)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n;
    int r;

    if (fd < 0)
        return -errno;
    r = fd_read_full(fd, buf, size - 1, &n);
    buf[r < 0 ? 0 : n] = '\0';
    return r;
}

static bool is_stopped(long pid)
{
    char path[48], stat_line[512];
    const char *state;

    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    if (text_read(path, stat_line, sizeof(stat_line)) < 0)
        return false;
    /* Behind the last bracket: the name may hold anything. */
    state = strrchr(stat_line, ')');
    return state && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

bool lease_is_stopped(pid_t holder)
{
    char path[64], pids[1024], *at = pids, *end;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", holder, holder);
    if (text_read(path, pids, sizeof(pids)) < 0)
        return false;
    for (long pid; (pid = strtol(at, &end, 10)) > 0 && end != at; at = end) {
        if (is_stopped(pid))
            return true;
    }
    return false;
}
