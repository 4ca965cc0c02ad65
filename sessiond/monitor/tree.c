/* SPDX-License-Identifier: ISC */
/*
 * tree.c - build the file trees of policy/plan.h.
 *
 * The base is built once, on a tmpfs mounted over /tmp in the spawner's own mount namespace:
 *   1. new mount namespace, everything private      (else our mounts would appear on the host)
 *   2. tmpfs, and the entries of plan_base in order (sources are still the host's paths)
 *   3. generated files
 *   4. pivot_root, detach the host's tree           (before this nothing may refuse to be found)
 *   5. the root becomes read-only                   (last: step 4 and 2 write to it)
 * Each run starts from the kernel's copy of this short mount table, so the number of mounts on the
 * host costs nothing.
 */
#include "sessiond/monitor/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/sabotage.h"
#include "policy/plan.h"
#include "sessiond/monitor/hosttree.h"
#include "sessiond/monitor/mountapi.h"
#include "sessiond/monitor/ownroot.h"
#include "sessiond/monitor/procfs.h"

#include "common/banned.h"

#define BUILD_DIR  "/tmp"
#define PATH_ROOM  256
#define COPY_LIMIT (4u << 20) /* largest host file that is copied into the tree */

static const uint64_t ATTR_RO = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

static int file_write(const char *target, mode_t mode, const void *bytes, size_t size)
{
    cleanup_close int fd = -1;

    fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    return fd_write_full(fd, bytes, size);
}

static int file_copy(const char *source, const char *target)
{
    static char buf[COPY_LIMIT];
    cleanup_close int fd = -1;
    struct stat st;
    size_t n;
    int r;

    fd = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if (st.st_size > (off_t)sizeof(buf))
        return -EFBIG;
    r = fd_read_full(fd, buf, sizeof(buf), &n);
    return r < 0 ? r : file_write(target, 0444, buf, n);
}

static int tmpfs_mount(const char *target, const struct plan_entry *e)
{
    unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOATIME;
    char options[96];

    /* The one tree with device nodes; nobody inside can make more, and it is sealed. */
    if (strcmp(e->target, "dev") == 0)
        flags = MS_NOSUID | MS_NOEXEC | MS_NOATIME;
    if (SABOTAGED("mountflags"))
        flags = MS_NOATIME;
    (void)snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=%o",
                   (unsigned long long)e->bytes, (unsigned long long)e->inodes, e->mode);
    return mount("tmpfs", target, "tmpfs", flags, options) < 0 ? -errno : 0;
}

static int bind_ro(const char *source, const char *target)
{
    cleanup_close int tree = mount_clone(AT_FDCWD, source, 1, ATTR_RO);

    return tree < 0 ? tree : mount_attach(tree, target);
}

/* /bin and friends are links into /usr on a merged host, directories on an old one. */
static int root_name(const char *source, const char *target)
{
    char link[PATH_ROOM];
    struct stat st;
    ssize_t n;

    if (lstat(source, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISLNK(st.st_mode)) {
        n = readlink(source, link, sizeof(link) - 1);
        if (n < 0)
            return -errno;
        link[n] = '\0';
        return symlink(link, target) < 0 ? -errno : 0;
    }
    if (mkdir(target, 0755) < 0)
        return -errno;
    return bind_ro(source, target);
}

static int node_make(const char *target, const struct plan_entry *e)
{
    dev_t dev = makedev((unsigned)e->bytes, (unsigned)e->inodes);

    if (mknod(target, S_IFCHR | e->mode, dev) < 0)
        return -errno;
    return chmod(target, e->mode) < 0 ? -errno : 0;
}

/* A socket is no file to copy: the mount leads to whoever listens on it. */
static int socket_bind(const char *source, const char *target)
{
    cleanup_free char *real = realpath(source, NULL);
    struct stat st;
    int r;

    /* With systemd it is a link, and a link would be mounted as such. */
    if (!real || lstat(real, &st) < 0)
        return -errno;
    if (!S_ISSOCK(st.st_mode))
        return -ENOENT;
    r = file_write(target, 0600, "", 0);
    return r < 0 ? r : bind_ro(real, target);
}

static int entry_apply(const struct plan_entry *e, const char *target)
{
    switch (e->op) {
    case PLAN_DIR:
        return mkdir(target, e->mode) < 0 ? -errno : 0;
    case PLAN_TMPFS:
        return tmpfs_mount(target, e);
    case PLAN_BIND:
        return bind_ro(e->source, target);
    case PLAN_ROOT:
        return root_name(e->source, target);
    case PLAN_COPY:
        return file_copy(e->source, target);
    case PLAN_TEXT:
        return file_write(target, e->mode, e->source, strlen(e->source));
    case PLAN_SOCKET:
        return socket_bind(e->source, target);
    case PLAN_LINK:
        return symlink(e->source, target) < 0 ? -errno : 0;
    case PLAN_NODE:
        return node_make(target, e);
    case PLAN_SEAL:
        return mount_restrict(target, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    }
    return -EINVAL;
}

static int entries_apply(const struct plan_entry *entries, size_t count, const char *prefix,
                         const char **ret_what)
{
    for (size_t i = 0; i < count; i++) {
        const struct plan_entry *e = &entries[i];
        char target[PATH_ROOM];
        int r;

        (void)snprintf(target, sizeof(target), "%s/%s", prefix, e->target);
        r = entry_apply(e, target);
        if (r == -ENOENT && e->optional)
            continue;
        if (r < 0) {
            *ret_what = e->source && e->op != PLAN_TEXT ? e->source : e->target;
            return r;
        }
    }
    return 0;
}

int tree_enter_base(const struct tree_texts *texts, const char **ret_what)
{
    int r;

    *ret_what = "proc";
    r = procfs_learn();
    if (r < 0)
        return r;
    *ret_what = "mount namespace";
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -errno;
    *ret_what = BUILD_DIR;
    if (mount("tmpfs", BUILD_DIR, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOATIME,
              "size=32m,nr_inodes=4096,mode=755") < 0)
        return -errno;
    r = entries_apply(plan_base, plan_base_count, BUILD_DIR, ret_what);
    if (r < 0)
        return r;
    *ret_what = "etc/resolv.conf";
    r = file_write(BUILD_DIR "/etc/resolv.conf", 0444, texts->resolv_conf,
                   strlen(texts->resolv_conf));
    if (r < 0)
        return r;
    *ret_what = "pivot_root";
    r = root_turn(BUILD_DIR);
    if (r < 0)
        return r;
    *ret_what = "/";
    return mount_restrict("/", ATTR_RO);
}

/* passwd or group of one run: the system's lines, then the user's own. */
static int identity_write(const char *target, const char *host_lines, const char *own,
                          size_t own_size)
{
    cleanup_close int fd = -1;
    int r;

    fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0)
        return -errno;
    r = fd_write_full(fd, host_lines, strlen(host_lines));
    return r < 0 ? r : fd_write_full(fd, own, own_size);
}

static const char *shell_of(const struct spawn_request *req)
{
    return req->shell[0] ? req->shell : PLAN_SESSION_SHELL;
}

static int identity_files(const struct spawn_request *req, const struct tree_texts *texts)
{
    char own[(WIRE_GROUPS_MAX + 1) * (2 * NAME_SIZE + 16) + 256];
    int n, r;

    n = snprintf(own, sizeof(own), "%s:*:%u:%u::" ATELIER_HOMES_DIR "/%s:%s\n", req->name, req->uid,
                 req->gid, req->name, shell_of(req));
    r = identity_write("/etc/atelier/passwd", texts->passwd, own, (size_t)n);
    if (r < 0)
        return r;
    n = snprintf(own, sizeof(own), "%s:*:%u:\n", req->name, req->gid);
    /* As a member by name: initgroups(3) of sshd looks here. */
    for (uint32_t i = 0; i < req->group_count; i++)
        n += snprintf(own + n, sizeof(own) - (size_t)n, "%s:*:%u:%s\n", req->groups[i].name,
                      req->groups[i].gid, req->name);
    return identity_write("/etc/atelier/group", texts->group, own, (size_t)n);
}

/* The place of HOME, empty and root's. Parents are made as needed. */
static int home_place(const struct spawn_request *req, char path[PATH_ROOM])
{
    for (const char *p = strchr(ATELIER_HOMES_DIR + 1, '/'); p; p = strchr(p + 1, '/')) {
        (void)snprintf(path, PATH_ROOM, "%.*s", (int)(p - ATELIER_HOMES_DIR), ATELIER_HOMES_DIR);
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    if (mkdir(ATELIER_HOMES_DIR, 0755) < 0)
        return -errno;
    (void)snprintf(path, PATH_ROOM, "%s/%s", ATELIER_HOMES_DIR, req->name);
    return mkdir(path, 0700) < 0 ? -errno : 0;
}

/* HOME of a run: fresh, the user's own; only `work` is kept. */
static int home_make(const struct spawn_request *req, int work_fd)
{
    char path[PATH_ROOM];
    int r = home_place(req, path);

    if (r < 0)
        return r;
    if (chown(path, req->uid, req->gid) < 0)
        return -errno;
    if (work_fd < 0)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/%s/work", ATELIER_HOMES_DIR, req->name);
    if (mkdir(path, 0700) < 0)
        return -errno;
    return mount_attach(work_fd, path);
}

/* HOME of a session: the user's own, as it is on the host. */
static int home_bind(const struct spawn_request *req, int home_fd)
{
    char path[PATH_ROOM];
    int r = home_place(req, path);

    return r < 0 ? r : mount_attach(home_fd, path);
}

/* A root of its own, with the places of the trees, for who has any: for others there are none. */
static int trees_add(const struct spawn_request *req, const int *tree_fds, const char **ret_what)
{
    int r;

    if (req->plan.tree_count == 0)
        return 0;
    r = ownroot_enter(ret_what);
    if (r == 0)
        r = hosttree_attach(&req->plan, tree_fds, ret_what);
    return r < 0 ? r : ownroot_seal();
}

static int skills_add(const struct spawn_request *req, const int *tree_fds, const char **ret_what)
{
    return req->plan.skill_count > 0 ? hosttree_attach_skills(&req->plan, tree_fds, ret_what) : 0;
}

/*
 * What runs and sessions have in common; /etc/atelier is still writable afterwards. The root first:
 * what is mounted before would be mounted a second time in it.
 */
static int own_add(const struct spawn_request *req, const struct tree_texts *texts,
                   const int *tree_fds, const char **ret_what)
{
    struct plan_entry own[PLAN_OWN_MAX];
    size_t count;
    int r = trees_add(req, tree_fds, ret_what);

    if (r == 0)
        r = procfs_mount(ret_what);
    if (r < 0)
        return r;
    count = plan_own(&req->plan, own);
    if (SABOTAGED("sizes"))
        own[PLAN_PLACE_TMP].bytes *= 2;
    r = entries_apply(own, count, "", ret_what);
    if (r == 0)
        r = skills_add(req, tree_fds, ret_what);
    if (r < 0)
        return r;
    *ret_what = "etc/atelier";
    return identity_files(req, texts);
}

int tree_add_run(const struct spawn_request *req, const struct tree_texts *texts, int work_fd,
                 const int *tree_fds, const char **ret_what)
{
    int r = own_add(req, texts, tree_fds, ret_what);

    if (r == 0)
        r = mount_restrict("/etc/atelier", MOUNT_ATTR_RDONLY);
    if (r < 0)
        return r;
    *ret_what = PLAN_LOG_DIR "/log";
    if (umount2("/" PLAN_LOG_DIR "/log", MNT_DETACH) < 0 && errno != EINVAL && errno != ENOENT)
        return -errno;
    *ret_what = "home";
    return home_make(req, work_fd);
}

int tree_add_session(const struct spawn_request *req, const struct tree_texts *texts, int home_fd,
                     const int *tree_fds, const char **ret_what)
{
    char line[32 + WIRE_PATH_SIZE];
    int r = own_add(req, texts, tree_fds, ret_what);

    if (r < 0)
        return r;
    (void)snprintf(line, sizeof(line), "%u %s\n", req->uid, shell_of(req));
    r = file_write(PLAN_SESSION_FILE, 0444, line, strlen(line));
    if (r == 0)
        r = mount_restrict("/etc/atelier", MOUNT_ATTR_RDONLY);
    if (r < 0)
        return r;
    *ret_what = "proc/sys";
    r = procfs_close_sys();
    if (r < 0)
        return r;
    *ret_what = "dev/pts";
    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, PLAN_DEVPTS_OPTIONS) < 0)
        return -errno;
    *ret_what = "home";
    return home_bind(req, home_fd);
}
