/* SPDX-License-Identifier: ISC */
/*
 * holder.c - atelier-holder: keeps the control group that all groups of users live in.
 *
 * The groups of users cannot be sessiond's own: the service manager does not start a service again
 * whose group has children with controllers, and sessions outlive sessiond. So they are below the
 * group of a service that does nothing, and lives for as long as they do. Order:
 *   1. find the own group                   (cgroup v2 alone; else say what is missing, and stay)
 *   2. move into a leaf of it, `holder`     (a group with processes can have no controllers)
 *   3. controllers for the groups to come   (only now; one that is refused ends the start)
 *   4. give up every right
 *   5. READY, and sleep
 * It stays uid 0: a participant may not be able to signal it, and its end is the end of all. The
 * files that it writes to are root's, so that it needs no capability even before step 4.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/shared/log.h"
#include "sessiond/shared/notify.h"

#include "common/banned.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define LEAF        "holder"
#define TEXT_SIZE   4096

/**
 * own_group() - The unified group in a text as of /proc/self/cgroup (cgroups(7))
 * @text:     Text; is cut up
 * @ret_path: Absolute below the mount, inside of @text
 *
 * Return: 0; -ENOENT: there is none; -ENOTUNIQ: controllers are in hierarchies of version 1;
 * -EPERM: it is the root of all.
 */
static int own_group(char *text, const char **ret_path)
{
    const char *path = NULL;
    char *line, *rest = text;
    bool has_v1 = false;

    while ((line = strsep(&rest, "\n"))) {
        if (strncmp(line, "0::/", 4) == 0)
            path = line + 3;
        /* "N:name=X:" is a hierarchy without controllers. */
        else if (*line && !strstr(line, ":name="))
            has_v1 = true;
    }
    if (!path)
        return -ENOENT;
    if (has_v1)
        return -ENOTUNIQ;
    if (strcmp(path, "/") == 0)
        return -EPERM;
    *ret_path = path;
    return 0;
}

static int word_write(int dir, const char *name, const char *word)
{
    cleanup_close int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    return fd < 0 ? -errno : fd_write_full(fd, word, strlen(word));
}

/* Steps 2 and 3. Return: 0 or a negative errno, and what it is about. */
static int group_set_up(const char *path, const char **ret_what)
{
    static const char *const controllers[] = {"+memory", "+pids", "+cpu"};
    char full[sizeof(CGROUP_ROOT) + TEXT_SIZE];
    cleanup_close int dir = -1;
    int r;

    (void)snprintf(full, sizeof(full), CGROUP_ROOT "%s", path);
    *ret_what = "the own group";
    dir = open(full, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    *ret_what = LEAF;
    if (mkdirat(dir, LEAF, 0755) < 0 && errno != EEXIST)
        return -errno;
    r = word_write(dir, LEAF "/cgroup.procs", "0");
    for (size_t i = 0; r == 0 && i < sizeof(controllers) / sizeof(controllers[0]); i++) {
        *ret_what = controllers[i] + 1;
        r = word_write(dir, "cgroup.subtree_control", controllers[i]);
    }
    return r;
}

/* Steps 1 to 3. What there is to say goes to @ret_status, static. Return: 0 or -errno. */
static int groups_prepare(const char **ret_status)
{
    char text[TEXT_SIZE];
    cleanup_close int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    const char *path, *what = "/proc/self/cgroup";
    struct statfs fs;
    size_t n;
    int r;

    r = fd < 0 ? -errno : fd_read_full(fd, text, sizeof(text) - 1, &n);
    if (r == 0) {
        text[n] = '\0';
        r = own_group(text, &path);
        if (r == -EPERM)
            what = "a group of its own, as a service has it";
    }
    if (r == -ENOENT || r == -ENOTUNIQ || statfs(CGROUP_ROOT, &fs) < 0 ||
        fs.f_type != CGROUP2_SUPER_MAGIC) {
        *ret_status = "no groups: the host has no unified hierarchy (cgroup v2) at " CGROUP_ROOT;
        log_warning("%s; see systemd.unified_cgroup_hierarchy in systemd(1)", *ret_status);
        return 0;
    }
    if (r == 0)
        r = group_set_up(path, &what);
    if (r < 0)
        log_error("cannot start: %s: %s", what, strerror(-r));
    *ret_status = "memory, pids and cpu of participants are held below this service";
    return r;
}

static int rights_drop(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {0};

    /* Ends with EINVAL behind the last one that the kernel knows; without CAP_SETPCAP there was
     * nothing in the set before us. */
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap) == 1 || cap <= CAP_LAST_CAP; cap++) {
        if (prctl(PR_CAPBSET_READ, cap) == 1 && prctl(PR_CAPBSET_DROP, cap) < 0)
            return -errno;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
        return -errno;
    return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int main(void)
{
    const char *status = "";
    char state[256];
    int r;

    notify_init();
    log_init("atelier-holder");
    (void)umask(077);
    if (geteuid() != 0) {
        log_error("cannot start: only root may keep the groups of others");
        return EX_NOPERM;
    }
    if (chdir("/") < 0 || groups_prepare(&status) < 0)
        return EX_UNAVAILABLE;
    r = rights_drop();
    if (r < 0) {
        log_error("cannot start: giving up rights: %s", strerror(-r));
        return EX_OSERR;
    }
    (void)snprintf(state, sizeof(state), "READY=1\nSTATUS=%s", status);
    notify_send(state);
    if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0)
        return EX_OSERR;
    for (;;)
        (void)pause();
}
