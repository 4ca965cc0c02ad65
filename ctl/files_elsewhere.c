/* SPDX-License-Identifier: ISC */
/*
 * files_elsewhere.c - files of some UIDs, anywhere on the local file systems of the host.
 *
 * Each file system is walked from its own mount point and no further, so that none is seen twice
 * and no remote one is entered by the way. Directories are known by device and inode: a path is
 * made for what is found alone, as it costs as much as the directory is deep, and participants
 * choose how deep that is.
 */
#include "ctl/files_elsewhere.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/tree.h"

#include "common/banned.h"

enum mount_kind mount_kind(const char *type)
{
    /* Source: Documentation/filesystems, and the types that findmnt(8) calls pseudo. */
    static const char *const pseudo[] = {
        "autofs",     "binfmt_misc", "bpf",     "cgroup", "cgroup2", "configfs", "debugfs",
        "devpts",     "efivarfs",    "fusectl", "nsfs",   "proc",    "pstore",   "rpc_pipefs",
        "securityfs", "selinuxfs",   "smackfs", "sysfs",  "tracefs", "resctrl",  "binder",
    };
    static const char *const remote[] = {
        "9p",   "afs",    "ceph",   "cifs",     "coda", "gfs2",  "glusterfs",
        "gpfs", "lustre", "ncpfs",  "nfs",      "nfs4", "ocfs2", "orangefs",
        "smb3", "smbfs",  "vboxsf", "virtiofs", "fuse",
    };

    for (size_t i = 0; i < sizeof(pseudo) / sizeof(pseudo[0]); i++) {
        if (strcmp(type, pseudo[i]) == 0)
            return MOUNT_PSEUDO;
    }
    for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
        if (strcmp(type, remote[i]) == 0)
            return MOUNT_REMOTE;
    }
    return strncmp(type, "fuse.", 5) == 0 ? MOUNT_REMOTE : MOUNT_LOCAL;
}

/* "\040" and the like; in place. */
static void octal_decode(char *text)
{
    char *to = text;

    for (const char *s = text; *s; to++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
            s[3] >= '0' && s[3] <= '7') {
            *to = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 4;
        } else {
            *to = *s++;
        }
    }
    *to = '\0';
}

/* Whether @path is @top or below it. */
static bool is_below(const char *path, const char *top)
{
    size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);

    return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static void mount_done(struct mount *m)
{
    free(m->device);
    free(m->root);
    free(m->point);
    free(m->type);
}

void mounts_done(struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->used; i++)
        mount_done(&mounts->all[i]);
    free(mounts->all);
    *mounts = (struct mounts){0};
}

/* Return: 0, 1 for a mount that is left out, -EINVAL. */
static int mount_read(char *line, struct mount *ret)
{
    char *words[5], *save = NULL, *type = strstr(line, " - ");
    struct mount m;

    if (!type)
        return -EINVAL;
    type += 3;
    type[strcspn(type, " \n")] = '\0';
    if (mount_kind(type) == MOUNT_PSEUDO)
        return 1;
    for (size_t i = 0; i < 5; i++) {
        words[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (!words[i])
            return -EINVAL;
    }
    octal_decode(words[3]);
    octal_decode(words[4]);
    if (words[4][0] != '/')
        return 1; /* outside of our root */
    m = (struct mount){.device = strdup(words[2]),
                       .root = strdup(words[3]),
                       .point = strdup(words[4]),
                       .type = strdup(type)};
    if (!m.device || !m.root || !m.point || !m.type)
        say_no_memory();
    *ret = m;
    return 0;
}

static void mounts_remove(struct mounts *mounts, size_t i)
{
    mount_done(&mounts->all[i]);
    memmove(&mounts->all[i], &mounts->all[i + 1], (--mounts->used - i) * sizeof(*mounts->all));
}

static void mounts_add(struct mounts *mounts, const struct mount *m)
{
    if (mounts->used == mounts->room) {
        mounts->room = mounts->room ? mounts->room * 2 : 32;
        mounts->all = reallocarray(mounts->all, mounts->room, sizeof(*mounts->all));
        if (!mounts->all)
            say_no_memory();
    }
    mounts->all[mounts->used++] = *m;
}

/* Whether another one shows all of what @i shows; of two that show the same the first stays. */
static bool is_shown_by_another(const struct mounts *mounts, size_t i)
{
    const struct mount *m = &mounts->all[i];

    for (size_t k = 0; k < mounts->used; k++) {
        const struct mount *other = &mounts->all[k];

        if (k == i || strcmp(m->device, other->device) != 0 || !is_below(m->root, other->root))
            continue;
        if (strcmp(m->root, other->root) != 0 || k < i)
            return true;
    }
    return false;
}

int mounts_read(FILE *mountinfo, struct mounts *ret_mounts)
{
    struct mounts mounts = {0};
    cleanup_free char *line = NULL;
    size_t size = 0;
    int r = 0;

    while (r >= 0 && getline(&line, &size, mountinfo) > 0) {
        struct mount m;

        r = mount_read(line, &m);
        if (r != 0)
            continue;
        /* The later one is what a path leads to. */
        for (size_t i = mounts.used; i-- > 0;) {
            if (strcmp(mounts.all[i].point, m.point) == 0)
                mounts_remove(&mounts, i);
        }
        mounts_add(&mounts, &m);
    }
    if (r < 0) {
        mounts_done(&mounts);
        return r;
    }
    for (size_t i = mounts.used; i-- > 0;) {
        if (is_shown_by_another(&mounts, i))
            mounts_remove(&mounts, i);
    }
    *ret_mounts = mounts;
    return 0;
}

struct directory {
    dev_t dev;
    ino_t ino;
};

struct search {
    const struct elsewhere *w;
    size_t *counts;          /* of files found, for each UID */
    struct directory *skips; /* as they were at the beginning; a name could be moved away */
    size_t skip_count;
};

/* @e: NULL for the mount point itself. */
static void owner_check(const struct search *x, uid_t owner, const struct tree_entry *e,
                        const char *point)
{
    const struct elsewhere *w = x->w;

    for (size_t i = 0; i < w->uid_count; i++) {
        cleanup_free char *path = NULL;

        if (owner != w->uids[i])
            continue;
        if (x->counts[i]++ >= w->paths_max) {
            w->found(w->arg, i, NULL);
            continue;
        }
        if (e)
            path = tree_path(e);
        w->found(w->arg, i, e ? path : point);
    }
}

static bool is_skipped(const struct search *x, const struct stat *st)
{
    for (size_t i = 0; i < x->skip_count; i++) {
        if (st->st_dev == x->skips[i].dev && st->st_ino == x->skips[i].ino)
            return true;
    }
    return false;
}

static int on_entry(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    const struct search *x = arg;
    int error = errno;

    switch (visit) {
    case TREE_ENTER:
        if (is_skipped(x, &e->st))
            return TREE_SKIP;
        owner_check(x, e->st.st_uid, e, NULL);
        return 0;
    case TREE_FILE:
        owner_check(x, e->st.st_uid, e, NULL);
        return 0;
    case TREE_UNREADABLE: {
        cleanup_free char *path = tree_path(e);

        x->w->unseen(x->w->arg, path, strerror(error));
        return 0;
    }
    case TREE_LEAVE:
    case TREE_BARRIER:
        return 0;
    }
    return 0;
}

static void mount_search(struct search *x, const struct mount *m)
{
    cleanup_close int fd = -1;
    struct stat st;
    int r;

    if (mount_kind(m->type) == MOUNT_REMOTE) {
        x->w->unseen(x->w->arg, m->point, m->type);
        return;
    }
    fd = tree_open_absolute(m->point);
    if (fd == -ENOTDIR || fd == -ENOENT)
        return; /* a single file, bound over another; or something that is mounted over */
    r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && is_skipped(x, &st))
        return;
    if (r == 0) {
        owner_check(x, st.st_uid, NULL, m->point);
        r = tree_walk(fd, m->point, on_entry, x);
    }
    if (r < 0)
        x->w->unseen(x->w->arg, m->point, strerror(-r));
}

/* What is not there has nothing to skip. */
static void skips_look(struct search *x)
{
    size_t n = 0;

    while (x->w->skips[n])
        n++;
    x->skips = calloc(n + 1, sizeof(*x->skips));
    if (!x->skips)
        say_no_memory();
    for (size_t i = 0; i < n; i++) {
        cleanup_close int fd = tree_open_absolute(x->w->skips[i]);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0)
            x->skips[x->skip_count++] = (struct directory){.dev = st.st_dev, .ino = st.st_ino};
    }
}

int files_elsewhere(const struct elsewhere *w)
{
    FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
    struct search x = {.w = w};
    struct mounts mounts;
    int r;

    if (!mountinfo)
        return -errno;
    r = mounts_read(mountinfo, &mounts);
    (void)fclose(mountinfo);
    if (r < 0)
        return r;
    x.counts = calloc(w->uid_count + 1, sizeof(*x.counts));
    if (!x.counts)
        say_no_memory();
    skips_look(&x);
    for (size_t i = 0; i < mounts.used; i++)
        mount_search(&x, &mounts.all[i]);
    free(x.counts);
    free(x.skips);
    mounts_done(&mounts);
    return 0;
}
