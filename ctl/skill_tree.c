/* SPDX-License-Identifier: ISC */
/* skill_tree.c - a directory of scripts: copied, hashed, removed. */
#include "ctl/skill_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/say.h"
#include "ctl/tree.h"

#include "common/banned.h"

#define HASH_BYTES (SKILL_HASH_HEX / 2)
#define CHUNK      65536u
#define MODE_DIR   0755u
#define MODE_FILE  0444u
#define MODE_RUN   0555u

static const char magic[] = "atelier skill 1\n";

struct work {
    crypto_generichash_state hash;
    const char *title;
    char path[PATH_MAX]; /* below the directory */
    dev_t dev;
    uint32_t entries;
    struct skill_tree sum;
};

static int refuse(const struct work *w, const char *why)
{
    say_error("%s/%s: %s", w->title, w->path, why);
    return -EINVAL;
}

static int failed(const struct work *w, int error)
{
    say_error("%s/%s: %s", w->title, w->path, strerror(error));
    return -error;
}

static void feed(struct work *w, const void *bytes, size_t size)
{
    (void)crypto_generichash_update(&w->hash, bytes, size);
}

static void feed_head(struct work *w, char kind)
{
    feed(w, &kind, 1);
    feed(w, w->path, strlen(w->path) + 1);
}

static void feed_size(struct work *w, uint64_t size)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(size >> (8 * i));
    feed(w, bytes, sizeof(bytes));
}

/* Return: NULL, or why an entry of this kind is in no skill. */
static const char *kind_fault(const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return "a symbolic link: copy what it leads to";
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return "no regular file and no directory";
    if (S_ISREG(st->st_mode) && (st->st_mode & (S_ISUID | S_ISGID)) != 0)
        return "it has a set-user-ID or set-group-ID bit";
    return NULL;
}

static mode_t mode_of(const struct stat *st)
{
    if (S_ISDIR(st->st_mode))
        return MODE_DIR;
    return (st->st_mode & 0111) != 0 ? MODE_RUN : MODE_FILE;
}

static bool is_copy(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & 07777) == mode_of(st);
}

static int file_carry(struct work *w, int from, int to, uint64_t size)
{
    static char buf[CHUNK];

    for (uint64_t left = size; left > 0;) {
        size_t want = left < sizeof(buf) ? (size_t)left : sizeof(buf), n = 0;
        int r = fd_read_full(from, buf, want, &n);

        if (r == 0 && n != want)
            return refuse(w, "it became shorter while it was read");
        if (r == 0 && to >= 0)
            r = fd_write_full(to, buf, n);
        if (r < 0)
            return failed(w, -r);
        feed(w, buf, n);
        left -= n;
    }
    return 0;
}

static int file_take(struct work *w, int from_dir, int to_dir, const char *name)
{
    cleanup_close int from = -1, to = -1;
    struct stat st;
    int r;

    from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) < 0)
        return failed(w, errno);
    if (!S_ISREG(st.st_mode) || kind_fault(&st))
        return refuse(w, "it became something else while it was read");
    w->sum.files++;
    w->sum.bytes += (uint64_t)st.st_size;
    if (w->sum.bytes > SKILL_BYTES_MAX)
        return refuse(w, "more than 64 MiB altogether");
    if (to_dir >= 0) {
        to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (to < 0)
            return failed(w, errno);
    }
    feed_head(w, mode_of(&st) == MODE_RUN ? 'x' : 'f');
    feed_size(w, (uint64_t)st.st_size);
    r = file_carry(w, from, to, (uint64_t)st.st_size);
    if (r == 0 && to >= 0 && (fchmod(to, mode_of(&st)) < 0 || fsync(to) < 0))
        r = failed(w, errno);
    return r;
}
_Static_assert(SKILL_BYTES_MAX == 64ull << 20, "the text above says so");

static int is_entry(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_plain(const char *name)
{
    for (const char *at = name; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    }
    return true;
}

static int dir_take(struct work *w, int from, int to, unsigned depth);

static int subdir_take(struct work *w, int from_dir, int to_dir, const char *name, unsigned depth)
{
    cleanup_close int from = -1, to = -1;
    struct stat st;
    int r;

    if (depth == SKILL_DEPTH_MAX)
        return refuse(w, "deeper than 16 directories");
    from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) < 0)
        return failed(w, errno);
    if (st.st_dev != w->dev)
        return refuse(w, "another file system is mounted there");
    if (to_dir >= 0) {
        if (mkdirat(to_dir, name, 0700) < 0)
            return failed(w, errno);
        to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (to < 0)
            return failed(w, errno);
    }
    feed_head(w, 'd');
    r = dir_take(w, from, to, depth + 1);
    if (r == 0 && to >= 0 && (fchmod(to, MODE_DIR) < 0 || fsync(to) < 0))
        r = failed(w, errno);
    return r;
}
_Static_assert(SKILL_DEPTH_MAX == 16, "the text above says so");

static int entry_take(struct work *w, int from, int to, const char *name, unsigned depth)
{
    size_t used = strlen(w->path);
    struct stat st;
    const char *why;
    int r;

    if (used + strlen(name) + 2 > sizeof(w->path))
        return refuse(w, "a path in it is too long");
    (void)snprintf(w->path + used, sizeof(w->path) - used, "%s%s", used > 0 ? "/" : "", name);
    if (!is_plain(name))
        return refuse(w, "a control character in the name");
    if (++w->entries > SKILL_ENTRIES_MAX)
        return refuse(w, "more than 4096 files and directories");
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return failed(w, errno);
    why = kind_fault(&st);
    if (why)
        return refuse(w, why);
    if (to < 0 && !is_copy(&st))
        return refuse(w, "owner or mode are not those that it was stored with");
    r = S_ISDIR(st.st_mode) ? subdir_take(w, from, to, name, depth) : file_take(w, from, to, name);
    w->path[used] = '\0';
    return r;
}
_Static_assert(SKILL_ENTRIES_MAX == 4096, "the text above says so");

static int dir_take(struct work *w, int from, int to, unsigned depth)
{
    struct dirent **names = NULL;
    int n = scandirat(from, ".", &names, is_entry, by_name), r = 0;

    if (n < 0)
        return failed(w, errno);
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = entry_take(w, from, to, names[i]->d_name, depth);
        free(names[i]);
    }
    free(names);
    return r;
}

int skill_tree_take(int from, int to, const char *title, struct skill_tree *ret_tree)
{
    struct work *w = calloc(1, sizeof(*w));
    unsigned char hash[HASH_BYTES];
    struct stat st;
    int r;

    if (!w)
        say_no_memory();
    w->title = title;
    if (sodium_init() < 0 || crypto_generichash_init(&w->hash, NULL, 0, sizeof(hash)) < 0)
        r = failed(w, EIO);
    else if (fstat(from, &st) < 0)
        r = failed(w, errno);
    else if (to < 0 && !is_copy(&st))
        r = refuse(w, "owner or mode are not those that it was stored with");
    else {
        w->dev = st.st_dev;
        feed(w, magic, sizeof(magic) - 1);
        r = dir_take(w, from, to, 0);
    }
    if (r == 0 && w->sum.files == 0)
        r = refuse(w, "there is no file in it");
    if (r == 0 && to >= 0 && (fchmod(to, MODE_DIR) < 0 || fsync(to) < 0))
        r = failed(w, errno);
    if (r == 0) {
        (void)crypto_generichash_final(&w->hash, hash, sizeof(hash));
        (void)sodium_bin2hex(w->sum.hash, sizeof(w->sum.hash), hash, sizeof(hash));
        *ret_tree = w->sum;
    }
    free(w);
    return r;
}

static int entry_remove(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    (void)arg;
    switch (visit) {
    case TREE_FILE:
        return unlinkat(e->dir_fd, e->name, 0) < 0 ? -errno : 0;
    case TREE_ENTER:
        return 0;
    case TREE_LEAVE:
        return unlinkat(e->dir_fd, e->name, AT_REMOVEDIR) < 0 ? -errno : 0;
    case TREE_BARRIER:
        return -EXDEV;
    case TREE_UNREADABLE:
        return -errno;
    }
    return -EINVAL;
}

int skill_tree_remove(int dir, const char *name)
{
    cleanup_close int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 ? -errno : tree_walk(fd, name, entry_remove, NULL);

    if (r < 0)
        return r;
    return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
