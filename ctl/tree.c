/* SPDX-License-Identifier: ISC */
/*
 * tree.c - walk a directory tree that others may have filled, as root.
 *
 * Each directory is read whole first: what is no directory is visited at once, the names of
 * directories are kept. So one descriptor suffices, and a tree too deep for descriptors or for
 * PATH_MAX ends nothing. Directories are opened by openat2(2), which refuses links and mount points
 * itself: a check beforehand could be outrun. ".." is compared with the directory that was left, so
 * that a directory moved away meanwhile does not lead out of the tree.
 *
 * A mount point is never asked for its attributes: on a dead network file system that never ends.
 */
#include "ctl/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/say.h"

#include "common/banned.h"

struct level {
    char *name; /* "" for the first one */
    dev_t dev;
    ino_t ino;
    char **subdirs; /* names that are left to enter, last first */
    size_t used, room;
};

struct tree {
    const char *path;
    struct level *levels;
    size_t used, room;
};

static int dir_open(int dir_fd, const char *name, uint64_t resolve)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        .resolve = resolve,
    };
    long fd = syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));

    return fd < 0 ? -errno : (int)fd;
}

int tree_open_absolute(const char *path)
{
    return dir_open(AT_FDCWD, path, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* @name: moved in. */
static void level_push(struct tree *t, char *name, const struct stat *st)
{
    if (t->used == t->room) {
        t->room = t->room ? t->room * 2 : 32;
        t->levels = reallocarray(t->levels, t->room, sizeof(*t->levels));
        if (!t->levels)
            say_no_memory();
    }
    t->levels[t->used++] = (struct level){.name = name, .dev = st->st_dev, .ino = st->st_ino};
}

static void level_done(struct level *l)
{
    for (size_t i = 0; i < l->used; i++)
        free(l->subdirs[i]);
    free(l->subdirs);
    free(l->name);
}

static void level_add(struct level *l, const char *name)
{
    if (l->used == l->room) {
        l->room = l->room ? l->room * 2 : 16;
        l->subdirs = reallocarray(l->subdirs, l->room, sizeof(*l->subdirs));
        if (!l->subdirs)
            say_no_memory();
    }
    l->subdirs[l->used] = strdup(name);
    if (!l->subdirs[l->used++])
        say_no_memory();
}

/* Visit what is no directory, and keep the names of the others. */
static int level_read(struct tree *t, int dir_fd, tree_fn fn, void *arg)
{
    struct level *l = &t->levels[t->used - 1];
    int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), r = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *d;

    if (!dir) {
        r = -errno;
        if (fd >= 0)
            (void)close(fd);
        return r;
    }
    while (r == 0 && (errno = 0, d = readdir(dir))) {
        struct tree_entry e = {.dir_fd = dir_fd, .name = d->d_name, .fd = -1, .tree = t};

        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (d->d_type == DT_DIR) {
            level_add(l, d->d_name);
            continue;
        }
        if (fstatat(dir_fd, d->d_name, &e.st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
            continue; /* gone meanwhile */
        if (S_ISDIR(e.st.st_mode))
            level_add(l, d->d_name);
        else
            r = fn(arg, TREE_FILE, &e);
    }
    if (r == 0 && errno != 0)
        r = -errno;
    (void)closedir(dir);
    return r;
}

/* Go into the next directory of the last level. Return: as tree_walk(); *@fd is of the new one. */
static int level_enter(struct tree *t, int *fd, tree_fn fn, void *arg)
{
    struct level *l = &t->levels[t->used - 1];
    cleanup_free char *name = l->subdirs[--l->used];
    struct tree_entry e = {.dir_fd = *fd, .name = name, .fd = -1, .tree = t};
    cleanup_close int child = dir_open(
        *fd, name, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
    int r;

    if (child == -ENOENT || child == -ENOTDIR || child == -ELOOP)
        return 0; /* something else by now */
    if (child == -EXDEV)
        return fn(arg, TREE_BARRIER, &e);
    if (child < 0) {
        errno = -child;
        return fn(arg, TREE_UNREADABLE, &e);
    }
    if (fstat(child, &e.st) < 0)
        return -errno;
    e.fd = child;
    r = fn(arg, TREE_ENTER, &e);
    if (r != 0)
        return r == TREE_SKIP ? 0 : r;
    level_push(t, name, &e.st);
    name = NULL;
    (void)close(*fd);
    *fd = fd_take(&child);
    return level_read(t, *fd, fn, arg);
}

static int level_leave(struct tree *t, int *fd, tree_fn fn, void *arg)
{
    struct level left = t->levels[t->used - 1];
    const struct level *up = &t->levels[t->used - 2];
    cleanup_close int parent = dir_open(*fd, "..", RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS);
    struct tree_entry e = {.name = left.name, .fd = -1, .tree = t};
    struct stat st;
    int r;

    if (parent < 0)
        return parent;
    if (fstat(parent, &st) < 0)
        return -errno;
    if (st.st_dev != up->dev || st.st_ino != up->ino)
        return -ESTALE;
    (void)close(*fd);
    *fd = fd_take(&parent);
    t->used--;
    e.dir_fd = *fd;
    r = fn(arg, TREE_LEAVE, &e);
    level_done(&left);
    return r;
}

int tree_walk(int dir_fd, const char *path, tree_fn fn, void *arg)
{
    cleanup_close int fd = dir_open(dir_fd, ".", 0);
    struct tree t = {.path = path};
    struct stat st;
    char *name;
    int r;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    name = strdup("");
    if (!name)
        say_no_memory();
    level_push(&t, name, &st);
    r = level_read(&t, fd, fn, arg);
    while (r == 0) {
        if (t.levels[t.used - 1].used > 0)
            r = level_enter(&t, &fd, fn, arg);
        else if (t.used > 1)
            r = level_leave(&t, &fd, fn, arg);
        else
            break;
    }
    while (t.used > 0)
        level_done(&t.levels[--t.used]);
    free(t.levels);
    return r;
}

char *tree_path(const struct tree_entry *e)
{
    const struct tree *t = e->tree;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        say_no_memory();
    /* "/" alone has its slash already. */
    (void)fputs(strcmp(t->path, "/") == 0 ? "" : t->path, out);
    for (size_t i = 1; i < t->used && ftello(out) < PATH_MAX; i++)
        (void)fprintf(out, "/%s", t->levels[i].name);
    (void)fprintf(out, "/%s", ftello(out) < PATH_MAX ? e->name : "...");
    if (fclose(out) != 0 || !text)
        say_no_memory();
    return text;
}
