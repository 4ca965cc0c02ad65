/* SPDX-License-Identifier: ISC */
/* hosttree.c - directories of the host that a profile shows: trees and skills. */
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
#include "common/fd.h"
#include "common/sabotage.h"
#include "common/skill.h"
#include "sessiond/monitor/mountapi.h"
#include "sessiond/monitor/skills.h"

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

/* The directory itself. Return: descriptor (O_PATH) or as hosttree_open(). */
static int tree_find(const char *path)
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
    return is_kernels((long)fs.f_type) ? -EPERM : fd_take(&fd);
}

static int tree_open(const char *path)
{
    cleanup_close int fd = tree_find(path);

    if (SABOTAGED("trees"))
        return fd < 0 ? fd : mount_clone(fd, "", 0, 0);
    return fd < 0 ? fd : mount_clone(fd, "", 0, ATTR_RO);
}

int hosttree_look(const char *path, mode_t *ret_mode)
{
    cleanup_close int fd = tree_find(path);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    *ret_mode = st.st_mode;
    return 0;
}

static int skill_open(const char *skill)
{
    cleanup_close int fd = skills_open(skill);

    if (SABOTAGED("trees"))
        return fd < 0 ? fd : mount_clone(fd, "", 1, 0);
    return fd < 0 ? fd : mount_clone(fd, "", 1, ATTR_RO);
}

static bool is_tree(const struct plan *plan, uint32_t number)
{
    return number < plan->tree_count;
}

/* Path of a tree, NAME@HASH of a skill. */
static const char *mount_name(const struct plan *plan, uint32_t number)
{
    return is_tree(plan, number) ? plan->trees[number] : plan->skills[number - plan->tree_count];
}

#define PLACE_SIZE (sizeof(PLAN_SKILLS_DIR) + POLICY_TREE_SIZE)

/* Where it is in the tree of the run or session. */
static void mount_place(const struct plan *plan, uint32_t number, char ret_path[PLACE_SIZE])
{
    char name[NAME_SIZE];

    if (is_tree(plan, number)) {
        (void)snprintf(ret_path, PLACE_SIZE, "%s", plan->trees[number]);
        return;
    }
    skill_name(mount_name(plan, number), name);
    (void)snprintf(ret_path, PLACE_SIZE, PLAN_SKILLS_DIR "/%s", name);
}

void hosttree_close(const struct plan *plan, int fds[PLAN_MOUNTS_MAX])
{
    for (uint32_t i = 0; i < plan_mount_count(plan); i++)
        cleanup_close_p(&fds[i]);
}

int hosttree_open(const struct plan *plan, int ret_fds[PLAN_MOUNTS_MAX], const char **ret_what)
{
    for (uint32_t i = 0; i < plan_mount_count(plan); i++)
        ret_fds[i] = -1;
    for (uint32_t i = 0; i < plan_mount_count(plan); i++) {
        const char *name = mount_name(plan, i);

        ret_fds[i] = is_tree(plan, i) ? tree_open(name) : skill_open(name);
        if (ret_fds[i] < 0) {
            int r = ret_fds[i];

            *ret_what = name;
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
                      struct hosttree_id ret_ids[PLAN_MOUNTS_MAX])
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < plan_mount_count(plan); i++)
        r = id_of(fds[i], &ret_ids[i]);
    return r;
}

int hosttree_verify(pid_t pid, const struct plan *plan, const struct hosttree_id ids[])
{
    char path[32 + PLACE_SIZE], place[PLACE_SIZE];

    for (uint32_t i = 0; i < plan_mount_count(plan); i++) {
        cleanup_close int fd = -1;
        struct hosttree_id id = {0};
        int r;

        mount_place(plan, i, place);
        (void)snprintf(path, sizeof(path), "/proc/%d/root%s", pid, place);
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

/* The directories down to a place, in the root of this run or session alone. */
static int place_make(const char *path)
{
    char part[POLICY_TREE_SIZE];

    for (const char *at = path; at; at = strchr(at + 1, '/')) {
        size_t n = strcspn(at + 1, "/") + 1 + (size_t)(at - path);

        (void)snprintf(part, sizeof(part), "%.*s", (int)n, path);
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

int hosttree_attach(const struct plan *plan, const int fds[], const char **ret_what)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < plan->tree_count; i++) {
        *ret_what = plan->trees[i];
        r = place_make(plan->trees[i]);
        if (r == 0)
            r = mount_attach(fds[i], plan->trees[i]);
    }
    return r;
}

int hosttree_attach_skills(const struct plan *plan, const int fds[], const char **ret_what)
{
    char place[PLACE_SIZE];

    /* Directories alone: a page or none each. */
    *ret_what = PLAN_SKILLS_DIR;
    if (mount("tmpfs", PLAN_SKILLS_DIR, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME,
              "size=64k,nr_inodes=32,mode=755") < 0)
        return -errno;
    for (uint32_t i = plan->tree_count; i < plan_mount_count(plan); i++) {
        int r;

        *ret_what = mount_name(plan, i);
        mount_place(plan, i, place);
        if (mkdir(place, 0755) < 0)
            return -errno;
        r = mount_attach(fds[i], place);
        if (r < 0)
            return r;
    }
    return mount_restrict(PLAN_SKILLS_DIR, ATTR_RO);
}
