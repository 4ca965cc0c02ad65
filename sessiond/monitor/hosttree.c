/* SPDX-License-Identifier: ISC */
/* hosttree.c - directories of the host that a profile shows. */
#include "sessiond/monitor/hosttree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sessiond/monitor/mountapi.h"

#include "common/banned.h"

static const uint64_t ATTR_RO = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

/* --- in the monitor ------------------------------------------------------------------------ */

/* File systems that show the kernel or other processes, wherever somebody has mounted them. */
static bool is_kernels(long type)
{
    static const long types[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
        TRACEFS_MAGIC,    SECURITYFS_MAGIC, BPF_FS_MAGIC,       DEVPTS_SUPER_MAGIC,  EFIVARFS_MAGIC,
        PSTOREFS_MAGIC,   NSFS_MAGIC,       SELINUX_MAGIC,      BINFMTFS_MAGIC,
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i] == type)
            return true;
    }
    return false;
}

/* File systems whose files are with a server: of the network, of the hypervisor, or a process. */
static bool is_of_server(const char *type)
{
    static const char *const types[] = {"fuse",   "nfs",  "cifs", "smb",  "9p",    "virtiofs",
                                        "autofs", "ceph", "afs",  "coda", "lustre"};

    /* "nfs4", "smb3", "fuse.sshfs", "fuseblk". */
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strncmp(type, types[i], strlen(types[i])) == 0)
            return true;
    }
    return false;
}

/* Is this mount point on the way? A path of a plan has no character that mountinfo would quote. */
static bool is_on_way(const char *path, const char *point)
{
    size_t n = strlen(point);

    return n > 1 && strncmp(path, point, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* "36 35 98:0 /root /point options [fields] - type source options" */
static int line_check(char *line, const char *path)
{
    char *save = NULL, *point = strtok_r(line, " ", &save), *type;

    for (int i = 0; point && i < 4; i++)
        point = strtok_r(NULL, " ", &save);
    do {
        type = strtok_r(NULL, " ", &save);
    } while (type && strcmp(type, "-") != 0);
    type = strtok_r(NULL, " ", &save);
    if (!point || !type)
        return -EBADMSG;
    return is_on_way(path, point) && is_of_server(type) ? -EREMOTE : 0;
}

int hosttree_check(FILE *mountinfo, const char *path)
{
    cleanup_free char *line = NULL;
    size_t size = 0;
    int r = 0;

    while (r == 0 && getline(&line, &size, mountinfo) > 0)
        r = line_check(line, path);
    return r < 0 || !ferror(mountinfo) ? r : -EBADMSG;
}

static int servers_refuse(const char *path)
{
    FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
    int r;

    if (!mountinfo)
        return -errno;
    r = hosttree_check(mountinfo, path);
    (void)fclose(mountinfo);
    return r;
}

static int tree_open(const char *path)
{
    cleanup_close int fd = -1;
    int r = servers_refuse(path);
    struct statfs fs;

    if (r < 0)
        return r;
    fd = open_plain(path, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return fd;
    if (fstatfs(fd, &fs) < 0)
        return -errno;
    if (is_kernels((long)fs.f_type))
        return -EPERM;
    return mount_clone(fd, "", 0, ATTR_RO);
}

void hosttree_close(const struct plan *plan, int fds[POLICY_TREES_MAX])
{
    for (uint32_t i = 0; i < plan->tree_count; i++)
        cleanup_close_p(&fds[i]);
}

int hosttree_open(const struct plan *plan, int ret_fds[POLICY_TREES_MAX], const char **ret_what)
{
    for (uint32_t i = 0; i < plan->tree_count; i++)
        ret_fds[i] = -1;
    for (uint32_t i = 0; i < plan->tree_count; i++) {
        ret_fds[i] = tree_open(plan->trees[i]);
        if (ret_fds[i] < 0) {
            int r = ret_fds[i];

            *ret_what = plan->trees[i];
            hosttree_close(plan, ret_fds);
            return r;
        }
    }
    return 0;
}

static int id_of(int fd, struct hosttree_id *ret_id)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    *ret_id = (struct hosttree_id){.dev = st.st_dev, .ino = st.st_ino};
    return 0;
}

int hosttree_identify(const struct plan *plan, const int fds[],
                      struct hosttree_id ret_ids[POLICY_TREES_MAX])
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < plan->tree_count; i++)
        r = id_of(fds[i], &ret_ids[i]);
    return r;
}

int hosttree_verify(pid_t pid, const struct plan *plan, const struct hosttree_id ids[])
{
    char path[32 + POLICY_TREE_SIZE];

    for (uint32_t i = 0; i < plan->tree_count; i++) {
        cleanup_close int fd = -1;
        struct hosttree_id id = {0};
        int r;

        (void)snprintf(path, sizeof(path), "/proc/%d/root%s", pid, plan->trees[i]);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        r = fd < 0 ? -errno : id_of(fd, &id);
        if (r < 0)
            return r;
        if (id.dev != ids[i].dev || id.ino != ids[i].ino)
            return -EPERM;
    }
    return 0;
}

/* --- in the init --------------------------------------------------------------------------- */

/* "/opt" of "/opt/course/data". */
static void top_of(const char *path, char ret_top[POLICY_TREE_SIZE])
{
    (void)snprintf(ret_top, POLICY_TREE_SIZE, "/%.*s", (int)strcspn(path + 1, "/"), path + 1);
}

/*
 * The directory in the root, which is the same for all runs and is read-only for everybody: not for
 * this mount of it, while nothing but us is in the namespace.
 */
static int top_make(const char *top)
{
    int r = mount_loosen("/", MOUNT_ATTR_RDONLY);

    if (r < 0)
        return r;
    if (mkdir(top, 0755) < 0 && errno != EEXIST)
        r = -errno;
    return r < 0 ? r : mount_restrict("/", ATTR_RO);
}

/* The first tree below a name of the root brings what the others hang on. */
static bool is_first(const struct plan *plan, uint32_t number, const char *top)
{
    char other[POLICY_TREE_SIZE];

    for (uint32_t i = 0; i < number; i++) {
        top_of(plan->trees[i], other);
        if (strcmp(other, top) == 0)
            return false;
    }
    return true;
}

/* Directories only: they need no memory that counts. */
static int place_make(const char *path, const char *top, bool is_new)
{
    char part[POLICY_TREE_SIZE];
    int r = is_new ? top_make(top) : 0;

    if (r < 0 || strcmp(path, top) == 0)
        return r;
    if (is_new && mount("tmpfs", top, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME,
                        "size=64k,nr_inodes=1024,mode=755") < 0)
        return -errno;
    for (const char *at = strchr(path + strlen(top), '/'); at; at = strchr(at + 1, '/')) {
        size_t n = strcspn(at + 1, "/") + 1 + (size_t)(at - path);

        (void)snprintf(part, sizeof(part), "%.*s", (int)n, path);
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

int hosttree_attach(const struct plan *plan, const int fds[], const char **ret_what)
{
    char top[POLICY_TREE_SIZE];
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < plan->tree_count; i++) {
        *ret_what = plan->trees[i];
        top_of(plan->trees[i], top);
        r = place_make(plan->trees[i], top, is_first(plan, i, top));
        if (r == 0)
            r = mount_attach(fds[i], plan->trees[i]);
    }
    /* When all hang: the file systems that hold them. A tree itself is read-only from the start. */
    for (uint32_t i = 0; r == 0 && i < plan->tree_count; i++) {
        top_of(plan->trees[i], top);
        r = mount_restrict(top, ATTR_RO);
    }
    return r;
}
