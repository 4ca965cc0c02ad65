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
#include "sessiond/monitor/pidfd.h"

#include "common/banned.h"

#define STATUS_ROOM 8192
#define MOUNTS_ROOM                                                                                \
    65536 /* a run has 60 lines or so, and a few more for each tree of its profile */

static const char *const ns_names[WIRE_NS__COUNT] = {"mnt", "pid",    "ipc", "uts",
                                                     "net", "cgroup", "user"};

static uint64_t host_ns[WIRE_NS__COUNT];
static uint64_t spawner_mnt; /* its mount namespace is no run's either; 0: there is no spawner */
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
    uint64_t nnp, mask;

    if (four_ids(status, "Uid", r->uid) < 0 || four_ids(status, "Gid", r->gid) < 0 ||
        groups_parse(status, r) < 0 || one_number(status, "CapInh", 16, &r->cap_inh) < 0 ||
        one_number(status, "CapPrm", 16, &r->cap_prm) < 0 ||
        one_number(status, "CapEff", 16, &r->cap_eff) < 0 ||
        one_number(status, "CapBnd", 16, &r->cap_bnd) < 0 ||
        one_number(status, "CapAmb", 16, &r->cap_amb) < 0 ||
        one_number(status, "NoNewPrivs", 10, &nnp) < 0 || seccomp_parse(status, r) < 0 ||
        one_number(status, "Umask", 8, &mask) < 0 ||
        one_number(status, "SigIgn", 16, &r->sig_ignored) < 0 ||
        one_number(status, "SigBlk", 16, &r->sig_blocked) < 0)
        return -EPROTO;
    r->no_new_privs = (uint32_t)nnp;
    r->umask = (uint32_t)mask;
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

/* Both limits of one line of /proc/PID/limits. (prlimit(2) would ask for CAP_SYS_RESOURCE.) */
static int limit_parse(const char *limits, const char *key, uint64_t *ret_soft, uint64_t *ret_hard)
{
    const char *line = strstr(limits, key);

    if (!line)
        return -EPROTO;
    line += strlen(key);
    return limit_word(&line, ret_soft) < 0 || limit_word(&line, ret_hard) < 0 ? -EPROTO : 0;
}

/*
 * The hard limit says how far the soft one can be raised. Of core files a soft limit of 0 counts:
 * at it a pattern that is a pipe gets the dump (core(5), do_coredump() of the kernel). Of processor
 * time the hard one is a second behind (child.c).
 */
static uint64_t limit_of(int resource, uint64_t soft, uint64_t hard)
{
    if (resource == RLIMIT_CORE && soft == 0)
        return 0;
    if (resource == RLIMIT_CPU && hard != UINT64_MAX)
        return hard - 1 > soft ? hard - 1 : soft;
    return hard;
}

static int limits_parse(const char *limits, struct wire_receipt *r)
{
    uint64_t soft, hard;

#define LIMIT_PARSE(field, key, resource)                                                          \
    if (limit_parse(limits, key, &soft, &hard) < 0)                                                \
        return -EPROTO;                                                                            \
    r->rlimit_##field = limit_of(resource, soft, hard);
    WIRE_RLIMITS(LIMIT_PARSE)
#undef LIMIT_PARSE
    return 0;
}

/* One of the words between commas up to the next space. */
static bool has_option(const char *options, const char *word)
{
    size_t len = strlen(word);

    for (;;) {
        size_t n = strcspn(options, ", \n");

        if (n == len && strncmp(options, word, len) == 0)
            return true;
        if (options[n] != ',')
            return false;
        options += n + 1;
    }
}

/* Where devices are meant to be. */
static bool has_devices(const char *place)
{
    return strncmp(place, "/dev ", 5) == 0 || strncmp(place, "/dev/pts ", 9) == 0;
}

/* Fields of a line: id, parent, device, root, place, options. Source: proc(5), mountinfo. */
static int mounts_parse(const char *text, struct wire_receipt *r)
{
    for (; *text; text += strcspn(text, "\n") + 1) {
        const char *place = text, *options;
        bool is_nosuid, is_nodev;

        for (int field = 1; field < 5; field++) {
            place += strcspn(place, " \n");
            if (*place++ != ' ')
                return -EPROTO;
        }
        options = place + strcspn(place, " \n");
        if (*options++ != ' ' || !strchr(options, '\n'))
            return -EPROTO;
        is_nosuid = has_option(options, "nosuid");
        is_nodev = has_option(options, "nodev");
        r->mount_count++;
        r->mount_nosuid += is_nosuid;
        r->mount_nodev += is_nodev;
        r->mount_loose += !is_nosuid || (!is_nodev && !has_devices(place));
    }
    return 0;
}

static int mounts_read(int proc_fd, struct wire_receipt *r)
{
    static char text[MOUNTS_ROOM];
    int e = file_read_text(proc_fd, "mountinfo", text, sizeof(text));

    if (e < 0)
        return e;
    /* Cut: more than can be looked at is more than can be promised. */
    return strlen(text) == sizeof(text) - 1 ? -E2BIG : mounts_parse(text, r);
}

static int oom_score_read(int proc_fd, struct wire_receipt *r)
{
    char text[16], *end;
    int e = file_read_text(proc_fd, "oom_score_adj", text, sizeof(text));
    long v;

    if (e < 0)
        return e;
    errno = 0;
    v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\n')
        return -EPROTO;
    r->oom_score_adj = (int32_t)v;
    return 0;
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

int receipt_learn_spawner(pid_t pid)
{
    uint64_t inodes[WIRE_NS__COUNT];
    int r = receipt_namespaces(pid, inodes);

    if (r == 0)
        spawner_mnt = inodes[WIRE_NS_MNT];
    return r;
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
    if (e == 0)
        e = mounts_read(proc_fd, &r);
    if (e == 0)
        e = oom_score_read(proc_fd, &r);
    if (e < 0)
        return e;
    for (unsigned i = 0; i < WIRE_NS__COUNT; i++) {
        if (r.ns_inode[i] != host_ns[i])
            r.ns_own |= 1u << i;
    }
    if (r.ns_inode[WIRE_NS_MNT] == spawner_mnt)
        r.ns_own &= ~(1u << WIRE_NS_MNT);
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

/* What a receipt shows of a resource. Return: false if it does not tell of that one. */
static bool limit_seen(const struct wire_receipt *r, int resource, uint64_t *ret_v)
{
#define LIMIT_SEEN(field, key, number)                                                             \
    if (resource == (number)) {                                                                    \
        *ret_v = r->rlimit_##field;                                                                \
        return true;                                                                               \
    }
    WIRE_RLIMITS(LIMIT_SEEN)
#undef LIMIT_SEEN
    return false;
}

/* At most what the plan says; less where sessiond itself was given less, and less is stronger. */
bool receipt_limits_match(const struct wire_receipt *r, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->rlimit_count; i++) {
        const struct plan_rlimit *p = &plan->rlimits[i];
        uint64_t seen;

        if (!limit_seen(r, p->resource, &seen) || seen > p->value ||
            (p->is_exact && seen < p->value))
            return false;
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

/* The switches of the kernel are read-only, and what is masked can be opened by nobody. */
static bool proc_matches(int root_fd)
{
    cleanup_close int fd = openat(root_fd, "proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct statfs fs;

    if (fd < 0 || fstatfs(fd, &fs) < 0 || ((long)fs.f_flags & ST_RDONLY) == 0)
        return false;
    for (size_t i = 0; i < plan_proc_count; i++) {
        char path[64];
        struct stat st;

        if (plan_proc[i].is_open)
            continue;
        (void)snprintf(path, sizeof(path), "proc/%s", plan_proc[i].name);
        if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno != ENOENT)
                return false;
        } else if ((st.st_mode & 07) != 0) {
            return false;
        }
    }
    return true;
}

_Static_assert(POLICY_SKILLS_MAX <= WIRE_SKILLS_MAX, "all skills of a plan fit");

void receipt_note_skills(struct wire_receipt *r, const struct plan *plan)
{
    r->skill_count = plan->skill_count;
    for (uint32_t i = 0; i < plan->skill_count; i++)
        (void)str_copy(r->skills[i], SKILL_SIZE, plan->skills[i]);
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
    if (!proc_matches(root_fd))
        return "/proc";
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
    return NULL;
}

static bool is_own(const struct wire_receipt *r, enum wire_ns ns)
{
    return (r->ns_own & (1u << ns)) != 0;
}

const char *receipt_fault(const struct wire_receipt *r, const struct spawn_request *req,
                          const struct cgroup_leaf *leaf)
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
        {r->mount_count > 0 && r->mount_loose == 0, "mount flags"},
        {r->umask == PLAN_RUN_UMASK, "umask"},
        {(r->sig_ignored | r->sig_blocked) == 0, "signals"},
        {r->oom_score_adj == PLAN_RUN_OOM_SCORE, "oom_score_adj"},
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (!checks[i].holds)
            return checks[i].what;
    }
    return NULL;
}

int receipt_verify(const struct wire_receipt *r, const struct spawn_request *req,
                   const struct cgroup_leaf *leaf, const char **ret_what)
{
    *ret_what = receipt_fault(r, req, leaf);
    if (!*ret_what)
        *ret_what = receipt_places_fault((pid_t)r->pid, &req->plan);
    return *ret_what ? -EPERM : 0;
}
