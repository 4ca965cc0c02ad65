/* SPDX-License-Identifier: ISC */
/*
 * procfs.c - the /proc of a run or session.
 *
 * A mask is a mount of something of mode 0000: to open it is EACCES, not an empty file that a
 * program would take for an answer. Each costs a mount in each run, so what root alone can open is
 * left to the kernel, and proc.def masks what is worth it. subset=pid of procfs(5) costs nothing,
 * but there is no mount point left in it then: without meminfo, stat, cpuinfo and sys there is no
 * top, free or java, and node counts no processors.
 */
#include "sessiond/monitor/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/sabotage.h"
#include "common/str.h"
#include "policy/plan.h"
#include "sessiond/monitor/mountapi.h"

#include "common/banned.h"

#define MASKS_MAX 64u
#define MASK_SIZE 48u

struct mask {
    char path[MASK_SIZE];
    bool is_dir;
};

static struct mask masks[MASKS_MAX];
static unsigned mask_count;

/* Return: -1 for a name that is not in the table. */
static int row_of(const char *name)
{
    for (size_t i = 0; i < plan_proc_count; i++) {
        if (strcmp(plan_proc[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

static bool is_pid(const char *name)
{
    return name[0] >= '0' && name[0] <= '9';
}

/* Root's alone by its mode: no process of a run or session is root's. */
static bool is_for_others(const struct stat *st)
{
    return (st->st_mode & 07) != 0;
}

static int mask_add(const char *name, bool is_dir)
{
    struct mask *m = &masks[mask_count];

    if (mask_count == MASKS_MAX || strlen(name) + sizeof("/proc/") > MASK_SIZE)
        return -E2BIG;
    (void)snprintf(m->path, sizeof(m->path), "/proc/%s", name);
    m->is_dir = is_dir;
    mask_count++;
    return 0;
}

static int name_learn(int dir, const char *name)
{
    int row = row_of(name);
    struct stat st;

    if (row >= 0 && plan_proc[row].is_open)
        return 0;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    /* A link leads to something that has a name of its own. */
    if (S_ISLNK(st.st_mode) || !is_for_others(&st))
        return 0;
    return mask_add(name, S_ISDIR(st.st_mode));
}

/* What is in the table and comes with a module that is loaded later. */
static int absent_learn(int dir)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < plan_proc_count; i++) {
        if (!plan_proc[i].is_open &&
            faccessat(dir, plan_proc[i].name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
            r = mask_add(plan_proc[i].name, false);
    }
    return r;
}

int procfs_learn(void)
{
    DIR *proc = opendir("/proc");
    int r = 0;

    if (!proc)
        return -errno;
    mask_count = 0;
    if (SABOTAGED("masks")) {
        (void)closedir(proc);
        return 0;
    }
    for (struct dirent *e; r == 0 && (e = readdir(proc));) {
        if (e->d_name[0] != '.' && !is_pid(e->d_name))
            r = name_learn(dirfd(proc), e->d_name);
    }
    if (r == 0)
        r = absent_learn(dirfd(proc));
    (void)closedir(proc);
    return r;
}

static int mask_put(const struct mask *m)
{
    const char *const nothing[] = {"/" PLAN_NO_FILE, "/" PLAN_NO_DIR};

    if (mount(nothing[m->is_dir], m->path, NULL, MS_BIND, NULL) == 0 || errno == ENOENT)
        return 0;
    /* Not there when it was learned: a directory after all. */
    if (errno != ENOTDIR || m->is_dir)
        return -errno;
    return mount(nothing[1], m->path, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

int procfs_mount(const char **ret_what)
{
    *ret_what = "proc";
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") < 0)
        return -errno;
    for (unsigned i = 0; i < mask_count; i++) {
        int r = mask_put(&masks[i]);

        if (r < 0) {
            *ret_what = masks[i].path;
            return r;
        }
    }
    return 0;
}

int procfs_close(void)
{
    if (SABOTAGED("procro"))
        return 0;
    return mount_restrict("/proc", MOUNT_ATTR_RDONLY);
}

int procfs_close_sys(void)
{
    cleanup_close int tree = -1;

    if (SABOTAGED("procro"))
        return 0;
    tree = mount_clone(AT_FDCWD, "/proc/sys", 0, MOUNT_ATTR_RDONLY);
    return tree < 0 ? tree : mount_attach(tree, "/proc/sys");
}
