/* SPDX-License-Identifier: ISC */
/* receipt.c - what the kernel says of a payload at its stop point. */
#include "sessiond/monitor/receipt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "policy/plan.h"

#include "common/banned.h"

#define STATUS_ROOM 8192

static const char *const ns_names[WIRE_NS__COUNT] = {"mnt", "pid",    "ipc", "uts",
                                                     "net", "cgroup", "user"};

static uint64_t host_ns[WIRE_NS__COUNT];
static uint32_t own_filters; /* of this process: a run has one more */

static int ns_read(int proc_fd, uint64_t inodes[WIRE_NS__COUNT])
{
    for (int i = 0; i < WIRE_NS__COUNT; i++) {
        char path[16];
        struct stat st;

        (void)snprintf(path, sizeof(path), "ns/%s", ns_names[i]);
        if (fstatat(proc_fd, path, &st, 0) < 0)
            return -errno;
        inodes[i] = st.st_ino;
    }
    return 0;
}

static int proc_open(pid_t pid)
{
    char path[32];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Value of "KEY:\t..." in /proc/PID/status, or NULL. */
static const char *status_value(const char *status, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = status; *line;) {
        if (strncmp(line, key, len) == 0 && line[len] == ':')
            return line + len + 1;
        line += strcspn(line, "\n");
        if (*line)
            line++;
    }
    return NULL;
}

/* Up to @max numbers of the rest of this line. Return: how many there are, or -EPROTO. */
static int numbers_parse(const char *text, int base, uint64_t *v, int max)
{
    int n = 0;

    if (!text)
        return -EPROTO;
    for (;;) {
        char *end;

        while (*text == ' ' || *text == '\t')
            text++;
        if (*text == '\n' || *text == '\0')
            return n;
        if (n == max)
            return -EPROTO;
        errno = 0;
        v[n] = strtoull(text, &end, base);
        if (end == text || errno != 0)
            return -EPROTO;
        n++;
        text = end;
    }
}

static int one_number(const char *status, const char *key, int base, uint64_t *ret_v)
{
    return numbers_parse(status_value(status, key), base, ret_v, 1) == 1 ? 0 : -EPROTO;
}

static int four_ids(const char *status, const char *key, uint32_t ids[4])
{
    uint64_t v[4];

    if (numbers_parse(status_value(status, key), 10, v, 4) != 4)
        return -EPROTO;
    for (int i = 0; i < 4; i++)
        ids[i] = (uint32_t)v[i];
    return 0;
}

static int groups_parse(const char *status, struct wire_receipt *r)
{
    uint64_t v[WIRE_GROUPS_MAX];
    int n = numbers_parse(status_value(status, "Groups"), 10, v, WIRE_GROUPS_MAX);

    if (n < 0)
        return n;
    r->group_count = (uint32_t)n;
    for (int i = 0; i < n; i++)
        r->groups[i] = (uint32_t)v[i];
    return 0;
}

static int seccomp_parse(const char *status, struct wire_receipt *r)
{
    uint64_t mode, filters;

    if (one_number(status, "Seccomp", 10, &mode) < 0 ||
        one_number(status, "Seccomp_filters", 10, &filters) < 0)
        return -EPROTO;
    r->seccomp = (uint32_t)mode;
    r->seccomp_filters = (uint32_t)filters;
    return 0;
}

static int status_parse(const char *status, struct wire_receipt *r)
{
    uint64_t nnp;

    if (four_ids(status, "Uid", r->uid) < 0 || four_ids(status, "Gid", r->gid) < 0 ||
        groups_parse(status, r) < 0 || one_number(status, "CapInh", 16, &r->cap_inh) < 0 ||
        one_number(status, "CapPrm", 16, &r->cap_prm) < 0 ||
        one_number(status, "CapEff", 16, &r->cap_eff) < 0 ||
        one_number(status, "CapBnd", 16, &r->cap_bnd) < 0 ||
        one_number(status, "CapAmb", 16, &r->cap_amb) < 0 ||
        one_number(status, "NoNewPrivs", 10, &nnp) < 0 || seccomp_parse(status, r) < 0)
        return -EPROTO;
    r->no_new_privs = (uint32_t)nnp;
    return 0;
}

/* One word of a line of limits, and go on behind it. */
static int limit_word(const char **at, uint64_t *ret_v)
{
    const char *word = *at + strspn(*at, " ");
    char *end;

    if (strncmp(word, "unlimited", 9) == 0) {
        *ret_v = UINT64_MAX;
        *at = word + 9;
        return 0;
    }
    errno = 0;
    *ret_v = strtoull(word, &end, 10);
    *at = end;
    return end == word || errno != 0 ? -EPROTO : 0;
}

/* Soft limit of one line of /proc/PID/limits. (prlimit(2) would ask for CAP_SYS_RESOURCE.) */
static int limit_parse(const char *limits, const char *key, uint64_t *ret_v)
{
    const char *line = strstr(limits, key);

    if (!line)
        return -EPROTO;
    line += strlen(key);
    return limit_word(&line, ret_v);
}

/* The limit of core files: at 0 a pattern that is a pipe gets the dump, and up to the hard limit
 * it can be raised. Source: core(5), do_coredump() of the kernel. */
static int core_parse(const char *limits, uint64_t *ret_v)
{
    static const char key[] = "Max core file size";
    const char *line = strstr(limits, key);
    uint64_t soft, hard;

    if (!line)
        return -EPROTO;
    line += sizeof(key) - 1;
    if (limit_word(&line, &soft) < 0 || limit_word(&line, &hard) < 0)
        return -EPROTO;
    *ret_v = soft == 0 ? 0 : hard;
    return 0;
}

static int limits_parse(const char *limits, struct wire_receipt *r)
{
    if (limit_parse(limits, "Max processes", &r->rlimit_nproc) < 0 ||
        limit_parse(limits, "Max open files", &r->rlimit_nofile) < 0 ||
        limit_parse(limits, "Max file size", &r->rlimit_fsize) < 0 ||
        core_parse(limits, &r->rlimit_core) < 0)
        return -EPROTO;
    return 0;
}

static uint32_t lines_count(const char *text)
{
    uint32_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

int receipt_filters(pid_t pid, uint32_t *ret_filters)
{
    cleanup_close int fd = proc_open(pid);
    struct wire_receipt r = {0};
    char buf[STATUS_ROOM];
    int e;

    if (fd < 0)
        return fd;
    e = file_read_text(fd, "status", buf, sizeof(buf));
    if (e == 0)
        e = seccomp_parse(buf, &r);
    if (e == 0)
        *ret_filters = r.seccomp_filters;
    return e;
}

int receipt_namespaces(pid_t pid, uint64_t ret_inodes[WIRE_NS__COUNT])
{
    cleanup_close int fd = proc_open(pid);

    return fd < 0 ? fd : ns_read(fd, ret_inodes);
}

uint64_t receipt_host_namespace(enum wire_ns ns)
{
    return host_ns[ns];
}

int receipt_init(void)
{
    int r = receipt_filters(getpid(), &own_filters);

    return r < 0 ? r : receipt_namespaces(getpid(), host_ns);
}

/* @children: the PID namespace that counts is the one the process forks into. */
static int read_all(pid_t pid, bool children, const struct cgroup_leaf *leaf,
                    struct wire_receipt *ret_r)
{
    struct wire_receipt r = {.pid = (uint32_t)pid};
    cleanup_close int proc_fd = -1;
    char buf[STATUS_ROOM];
    struct stat st;
    int e;

    proc_fd = proc_open(pid);
    if (proc_fd < 0)
        return proc_fd;
    e = file_read_text(proc_fd, "status", buf, sizeof(buf));
    if (e == 0)
        e = status_parse(buf, &r);
    if (e == 0)
        e = ns_read(proc_fd, r.ns_inode);
    if (e == 0 && children) {
        e = fstatat(proc_fd, "ns/pid_for_children", &st, 0) < 0 ? -errno : 0;
        r.ns_inode[WIRE_NS_PID] = st.st_ino;
    }
    if (e == 0)
        e = file_read_text(proc_fd, "limits", buf, sizeof(buf));
    if (e == 0)
        e = limits_parse(buf, &r);
    if (e == 0)
        e = file_read_text(proc_fd, "cgroup", buf, sizeof(buf));
    if (e == 0)
        e = cgroup_leaf_read(leaf, buf, pid, &r);
    if (e < 0)
        return e;
    e = file_read_text(proc_fd, "mountinfo", buf, sizeof(buf));
    if (e < 0)
        return e;
    r.mount_count = lines_count(buf);
    for (unsigned i = 0; i < WIRE_NS__COUNT; i++) {
        if (r.ns_inode[i] != host_ns[i])
            r.ns_own |= 1u << i;
    }
    *ret_r = r;
    return 0;
}

int receipt_read(pid_t pid, const struct cgroup_leaf *leaf, struct wire_receipt *ret_r)
{
    return read_all(pid, false, leaf, ret_r);
}

int receipt_read_login(pid_t pid, const struct cgroup_leaf *leaf, struct wire_receipt *ret_r)
{
    return read_all(pid, true, leaf, ret_r);
}

static bool all_are(const uint32_t ids[4], uint32_t id)
{
    return ids[0] == id && ids[1] == id && ids[2] == id && ids[3] == id;
}

static bool has_group(const struct wire_receipt *r, uint32_t gid)
{
    for (uint32_t i = 0; i < r->group_count; i++) {
        if (r->groups[i] == gid)
            return true;
    }
    return false;
}

/* Exactly the primary group and the supplementary ones; the kernel lists them sorted. */
static bool groups_match(const struct wire_receipt *r, const struct spawn_request *req)
{
    if (r->group_count != req->group_count + 1 || !has_group(r, req->gid))
        return false;
    for (uint32_t i = 0; i < req->group_count; i++) {
        if (!has_group(r, req->groups[i].gid))
            return false;
    }
    return true;
}

/* At most what the plan says; less where sessiond itself was given less, and less is stronger. */
bool receipt_limits_match(const struct wire_receipt *r, const struct plan *plan)
{
    const struct {
        int resource;
        uint64_t value;
    } read_back[] = {
        {RLIMIT_NPROC, r->rlimit_nproc},
        {RLIMIT_NOFILE, r->rlimit_nofile},
        {RLIMIT_FSIZE, r->rlimit_fsize},
        {RLIMIT_CORE, r->rlimit_core},
    };

    for (size_t i = 0; i < sizeof(read_back) / sizeof(read_back[0]); i++) {
        for (uint32_t k = 0; k < plan->rlimit_count; k++) {
            const struct plan_rlimit *p = &plan->rlimits[k];

            if (p->resource == read_back[i].resource &&
                (read_back[i].value > p->value || (p->is_exact && read_back[i].value < p->value)))
                return false;
        }
    }
    return true;
}

/* A tmpfs of this size, in whole pages. */
static bool size_matches(int root_fd, const char *path, const struct plan_size *size)
{
    cleanup_close int fd = openat(root_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct statfs fs;

    return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
           (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize == size->bytes &&
           fs.f_files == size->inodes;
}

static bool tree_matches(int root_fd, const char *path)
{
    cleanup_close int fd = openat(root_fd, path + 1, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const long wanted = ST_RDONLY | ST_NOSUID | ST_NODEV;
    struct statfs fs;

    return fd >= 0 && fstatfs(fd, &fs) == 0 && ((long)fs.f_flags & wanted) == wanted;
}

static bool cpu_time_matches(int proc_fd, const struct plan *plan)
{
    char buf[STATUS_ROOM];
    uint64_t seconds;

    for (uint32_t i = 0; i < plan->rlimit_count; i++) {
        if (plan->rlimits[i].resource != RLIMIT_CPU)
            continue;
        return file_read_text(proc_fd, "limits", buf, sizeof(buf)) == 0 &&
               limit_parse(buf, "Max cpu time", &seconds) == 0 && seconds <= plan->rlimits[i].value;
    }
    return true;
}

const char *receipt_places_fault(pid_t pid, const struct plan *plan)
{
    cleanup_close int proc_fd = proc_open(pid), root_fd = -1;

    if (proc_fd >= 0)
        root_fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        return "root directory";
#define PLACE_CHECK(id, target, key)                                                               \
    if (!size_matches(root_fd, target, &plan->sizes[PLAN_PLACE_##id]))                             \
        return "size of /" target;
    PLAN_PLACES(PLACE_CHECK)
#undef PLACE_CHECK
    for (uint32_t i = 0; i < plan->tree_count; i++) {
        if (!tree_matches(root_fd, plan->trees[i]))
            return "trees";
    }
    for (uint32_t i = 0; i < plan->skill_count; i++) {
        char path[sizeof(PLAN_SKILLS_DIR) + NAME_SIZE], name[NAME_SIZE];

        skill_name(plan->skills[i], name);
        (void)snprintf(path, sizeof(path), PLAN_SKILLS_DIR "/%s", name);
        if (!tree_matches(root_fd, path))
            return "skills";
    }
    return cpu_time_matches(proc_fd, plan) ? NULL : "processor time";
}

static bool is_own(const struct wire_receipt *r, enum wire_ns ns)
{
    return (r->ns_own & (1u << ns)) != 0;
}

int receipt_verify(const struct wire_receipt *r, const struct spawn_request *req,
                   const struct cgroup_leaf *leaf, const char **ret_what)
{
    const struct {
        bool holds;
        const char *what;
    } checks[] = {
        {all_are(r->uid, req->uid), "uid"},
        {all_are(r->gid, req->gid), "gid"},
        {groups_match(r, req), "groups"},
        {(r->cap_inh | r->cap_prm | r->cap_eff | r->cap_bnd | r->cap_amb) == 0, "capabilities"},
        {r->no_new_privs == 1, "no_new_privs"},
        {r->seccomp == 2 && r->seccomp_filters == own_filters + 1, "seccomp"},
        {receipt_limits_match(r, &req->plan), "rlimits"},
        {cgroup_leaf_matches(leaf, r), "control group"},
        {is_own(r, WIRE_NS_MNT), "mount namespace"},
        {is_own(r, WIRE_NS_PID), "pid namespace"},
        {is_own(r, WIRE_NS_IPC), "ipc namespace"},
        {is_own(r, WIRE_NS_UTS), "uts namespace"},
        {is_own(r, WIRE_NS_CGROUP), "cgroup namespace"},
        {is_own(r, WIRE_NS_NET) == (req->net == WIRE_NET_NONE), "network namespace"},
        {!is_own(r, WIRE_NS_USER), "user namespace"},
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (!checks[i].holds) {
            *ret_what = checks[i].what;
            return -EPERM;
        }
    }
    *ret_what = receipt_places_fault((pid_t)r->pid, &req->plan);
    return *ret_what ? -EPERM : 0;
}
