/* SPDX-License-Identifier: ISC */
/*
 * adopt_home.c - the home of an adopted account: where it goes, and whose it becomes.
 *
 * The account could put anything there: a link to /etc/shadow, a hard link to a file of another
 * user, a device that root left. So nothing is followed, each inode is held by a descriptor while
 * its owner is looked at and changed, and only what the account owned already changes hands:
 * whoever could place a link to it could not make it theirs.
 *
 * The old UID is anybody's as soon as the account is gone: useradd(8) may give it to the next one
 * at once. So the home is closed before that, and opened when its last file has changed hands.
 */
#include "ctl/adopt_home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"
#include "ctl/tree.h"

#include "common/banned.h"

#define WORK "work" /* the part of a home that runs see; sessiond makes it in homes of its own */

/* A directory whose entries root alone can change. Return: a descriptor or a negative errno. */
static int trusted_open(const char *path)
{
    cleanup_close int fd = tree_open_absolute(path);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return -EPERM;
    return fd_take(&fd);
}

static bool is_of_either(const struct stat *st, const struct adopt_ids *ids)
{
    return st->st_uid == ids->old_uid || st->st_uid == ids->uid;
}

static bool is_closed(const struct stat *st, const struct home_mark *mark)
{
    return st->st_uid == 0 && mark->ino != 0 && st->st_ino == mark->ino;
}

/* Return: a descriptor, or as adopt_home_look(). */
static int home_open(const char *path, const struct adopt_ids *ids, const struct home_mark *mark,
                     struct stat *ret_st)
{
    cleanup_close int fd = tree_open_absolute(path);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!is_of_either(&st, ids) && !is_closed(&st, mark))
        return -EPERM;
    *ret_st = st;
    return fd_take(&fd);
}

int adopt_home_look(const char *path, const struct adopt_ids *ids, struct home_mark *ret_mark)
{
    const struct home_mark none = {0};
    struct stat st;
    cleanup_close int fd = home_open(path, ids, &none, &st);

    if (fd < 0)
        return fd;
    *ret_mark = (struct home_mark){.ino = st.st_ino, .mode = st.st_mode & 07777};
    return 0;
}

bool adopt_home_is(const char *path, const struct home_mark *mark)
{
    cleanup_close int fd = tree_open_absolute(path);
    struct stat st;

    return mark->ino != 0 && fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == mark->ino;
}

int adopt_home_close(const char *path, const struct adopt_ids *ids, const struct home_mark *mark)
{
    struct stat st;
    cleanup_close int fd = home_open(path, ids, mark, &st);

    if (fd < 0)
        return fd;
    return fchown(fd, 0, (gid_t)-1) < 0 || fchmod(fd, 0700) < 0 ? -errno : 0;
}

/* Return: 0 with the home's own descriptor, or a negative errno and a sentence but for -ENOENT. */
static int home_check(int parent, const char *base, const char *home, const struct adopt_ids *ids,
                      const struct home_mark *mark, int *ret_fd, char **ret_why)
{
    cleanup_close int fd = openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int r = fd < 0 ? -errno : fstat(fd, &st) < 0 ? -errno : 0;

    if (r == -ENOENT)
        return r;
    if (r < 0) {
        *ret_why = text_format("%s stays: it is no directory, or a link to one", home);
        return r;
    }
    if (!is_of_either(&st, ids) && !is_closed(&st, mark)) {
        *ret_why =
            text_format("%s stays: it belongs to UID %u, not to the account", home, st.st_uid);
        return -EPERM;
    }
    *ret_fd = fd_take(&fd);
    return 0;
}

static void move_explain(int error, const char *home, const char *target, char **ret_why)
{
    switch (error) {
    case -EEXIST:
        *ret_why = text_format("%s stays, since there is a %s already: put into it what is needed",
                               home, target);
        break;
    case -EXDEV:
        *ret_why = text_format(
            "%s stays, since it is on another file system: 'mv %s %s && chmod 0700 %s' copies it",
            home, home, target, target);
        break;
    case -EBUSY:
        *ret_why = text_format(
            "%s stays, since a file system is mounted there: mount it at %s instead", home, target);
        break;
    default:
        *ret_why = text_format("%s stays: %s", home, strerror(-error));
        break;
    }
}

int adopt_home_move(const char *home, const char *homes, const char *name,
                    const struct adopt_ids *ids, const struct home_mark *mark, char **ret_why)
{
    const char *base = strrchr(home, '/');
    cleanup_free char *parent_path = NULL, *target = NULL;
    cleanup_close int parent = -1, to = -1, fd = -1;
    int r;

    if (asprintf(&target, "%s/%s", homes, name) < 0)
        say_no_memory();
    if (strcmp(home, target) == 0)
        return 0;
    if (home[0] != '/' || !base || base[1] == '\0' || strcmp(base, "/.") == 0 ||
        strcmp(base, "/..") == 0)
        return -ENOENT;
    base++;
    parent_path = file_directory(home);
    parent = trusted_open(parent_path);
    if (parent == -ENOENT)
        return -ENOENT;
    if (parent < 0) {
        struct stat st;

        if (lstat(home, &st) < 0 && errno == ENOENT)
            return -ENOENT; /* moved by hand meanwhile */
        *ret_why = text_format(
            "%s stays: %s is not root's alone, or leads through a link: move it by hand", home,
            parent_path);
        return parent;
    }
    r = home_check(parent, base, home, ids, mark, &fd, ret_why);
    if (r < 0)
        return r;
    to = trusted_open(homes);
    r = to;
    if (to >= 0)
        r = renameat2(parent, base, to, name, RENAME_NOREPLACE) < 0 ? -errno : 0;
    /* Not before: a home that stays keeps its mode. */
    if (r == 0 && fchmod(fd, 0700) < 0)
        r = -errno;
    if (r == 0 && (fsync(to) < 0 || fsync(parent) < 0))
        r = -errno;
    if (r < 0)
        move_explain(r, home, target, ret_why);
    return r;
}

/* --- whose it becomes ---------------------------------------------------------------------- */

struct owning {
    const struct adopt_ids *ids;
    const struct adopt_report *report;
};

static void left_say(const struct owning *x, const struct tree_entry *e, const char *why)
{
    cleanup_free char *path = tree_path(e);

    x->report->left(x->report->arg, path, why);
}

/* The account's own group becomes the user's; another group stays what it is. */
static gid_t gid_wanted(const struct owning *x, const struct stat *st)
{
    return st->st_gid == x->ids->old_gid ? x->ids->uid : (gid_t)-1;
}

/* @fd: of the inode itself. */
static void inode_own(const struct owning *x, const struct tree_entry *e, int fd)
{
    char why[64];
    struct stat st;

    if (fstat(fd, &st) < 0) {
        left_say(x, e, strerror(errno));
    } else if (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode)) {
        left_say(x, e, "a device");
    } else if (!is_of_either(&st, x->ids)) {
        (void)snprintf(why, sizeof(why), "belongs to UID %u%s", st.st_uid,
                       st.st_nlink > 1 && !S_ISDIR(st.st_mode) ? ", with other links" : "");
        left_say(x, e, why);
    } else if (fchownat(fd, "", x->ids->uid, gid_wanted(x, &st), AT_EMPTY_PATH) < 0) {
        left_say(x, e, strerror(errno));
    }
}

static int on_entry(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    const struct owning *x = arg;
    int error = errno;

    switch (visit) {
    case TREE_FILE: {
        cleanup_close int fd = openat(e->dir_fd, e->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0)
            inode_own(x, e, fd);
        else if (errno != ENOENT)
            left_say(x, e, strerror(errno));
        return 0;
    }
    case TREE_ENTER:
        inode_own(x, e, e->fd);
        return 0;
    case TREE_BARRIER:
        left_say(x, e, "a mount point");
        return 0;
    case TREE_UNREADABLE:
        left_say(x, e, strerror(error));
        return 0;
    case TREE_LEAVE:
        return 0;
    }
    return 0;
}

/* Runs need it, and nothing but sessiond makes one elsewhere. */
static int work_make(int home, const struct adopt_ids *ids)
{
    cleanup_close int fd = -1;

    if (mkdirat(home, WORK, 0700) < 0)
        return errno == EEXIST ? 0 : -errno;
    fd = openat(home, WORK, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || fchown(fd, ids->uid, ids->uid) < 0 ? -errno : 0;
}

int adopt_home_own(const char *path, const struct adopt_ids *ids, const struct home_mark *mark,
                   mode_t mode, const struct adopt_report *report)
{
    struct owning x = {.ids = ids, .report = report};
    struct stat st;
    cleanup_close int fd = home_open(path, ids, mark, &st);
    int r;

    if (fd < 0)
        return fd;
    r = tree_walk(fd, path, on_entry, &x);
    if (r == 0)
        r = work_make(fd, ids);
    if (r == 0 && fchown(fd, ids->uid, gid_wanted(&x, &st)) < 0)
        r = -errno;
    if (r == 0 && fchmod(fd, mode) < 0)
        r = -errno;
    return r;
}
