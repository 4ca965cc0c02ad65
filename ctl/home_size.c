/* SPDX-License-Identifier: ISC */
/* home_size.c - what a home that is a directory would take of an image. */
#include "ctl/home_size.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/cleanup.h"
#include "ctl/disk_text.h"
#include "ctl/say.h"
#include "ctl/tree.h"

#include "common/banned.h"

#define BLOCK 4096u
/* What an empty image takes: 1.2 MiB of 2 GiB (decision 23), and a journal that fills. */
#define IMAGE_OWN_BYTES ((uint64_t)8 << 20)
/* One file, in parts: one with several names is met as often. */
#define WHOLE ((uint64_t)1 << 24)

struct measure {
    struct home_size size;
    uint64_t parts; /* of files that have several names */
    int error;
    char *what; /* path, heap */
};

static void entry_add(struct measure *m, const struct stat *st)
{
    uint64_t blocks = (uint64_t)st->st_blocks * 512;
    uint64_t bytes = ((uint64_t)st->st_size + BLOCK - 1) / BLOCK * BLOCK;
    uint64_t names = S_ISDIR(st->st_mode) || st->st_nlink == 0 ? 1 : st->st_nlink;
    uint64_t holes = S_ISREG(st->st_mode) && bytes > blocks ? (bytes - blocks) / names : 0;

    /* A few files can have more than a sum has. */
    m->size.holes = holes < UINT64_MAX - m->size.holes ? m->size.holes + holes : UINT64_MAX;
    m->size.bytes += (blocks < bytes ? blocks : bytes) / names;
    if (names == 1)
        m->size.files++;
    else
        m->parts += WHOLE / names;
}

static int on_entry(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    struct measure *m = arg;
    int error = errno;

    switch (visit) {
    case TREE_FILE:
    case TREE_ENTER:
        entry_add(m, &e->st);
        return 0;
    case TREE_LEAVE:
        return 0;
    case TREE_BARRIER:
        m->what = tree_path(e);
        return -EBUSY;
    case TREE_UNREADABLE:
        m->what = tree_path(e);
        return -error;
    }
    return 0;
}

int home_size(const char *path, struct home_size *ret, char **ret_why)
{
    cleanup_close int fd = tree_open_absolute(path);
    struct measure m = {0};
    struct stat st;
    int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;

    if (r == 0) {
        entry_add(&m, &st);
        r = tree_walk(fd, path, on_entry, &m);
    }
    if (r == -EBUSY && m.what)
        *ret_why = text_format("%s: a file system is mounted there: unmount it first", m.what);
    else if (r < 0)
        *ret_why = text_format("%s: %s", m.what ? m.what : path, strerror(-r));
    free(m.what);
    if (r < 0)
        return r;
    *ret = m.size;
    ret->files += (m.parts + WHOLE / 2) / WHOLE;
    return 0;
}

int home_size_fits(const struct home_size *have, uint64_t bytes, uint64_t files, char **ret_why)
{
    char is[SIZE_TEXT_SIZE], may[SIZE_TEXT_SIZE];

    if (have->bytes >= bytes) {
        size_text(have->bytes, is, sizeof(is));
        size_text(bytes, may, sizeof(may));
        *ret_why = text_format("%s are in the home, and the policy gives %s (disk)", is, may);
        return -ENOSPC;
    }
    if (have->holes > HOME_HOLES_MAX) {
        size_text(have->holes, is, sizeof(is));
        size_text(HOME_HOLES_MAX, may, sizeof(may));
        *ret_why = text_format("%s of the files in the home are holes, and with more than %s it is "
                               "not known when the copy would be done",
                               is, may);
        return -EFBIG;
    }
    if (have->files > files) {
        *ret_why = text_format("%" PRIu64 " files are in the home, and the policy gives %" PRIu64
                               " (disk_files)",
                               have->files, files);
        return -ENOSPC;
    }
    return 0;
}

/* Of the directory, or of the one above if it is still to be made. */
static int room_of(const char *path, struct statvfs *ret_fs)
{
    cleanup_free char *parent = NULL;
    const char *end = strrchr(path, '/');

    if (statvfs(path, ret_fs) == 0)
        return 0;
    if (errno != ENOENT || !end)
        return -errno;
    parent = strndup(path, (size_t)(end - path));
    if (!parent)
        say_no_memory();
    return statvfs(parent, ret_fs) < 0 ? -errno : 0;
}

int home_size_has_room(const struct home_size *have, const char *path, char **ret_why)
{
    char need[SIZE_TEXT_SIZE], left[SIZE_TEXT_SIZE];
    struct statvfs fs = {0};
    uint64_t wanted = have->bytes + IMAGE_OWN_BYTES;
    int r = room_of(path, &fs);

    if (r < 0) {
        *ret_why = text_format("%s: %s", path, strerror(-r));
        return r;
    }
    if ((uint64_t)fs.f_bavail * fs.f_frsize >= wanted)
        return 0;
    size_text(wanted, need, sizeof(need));
    size_text((uint64_t)fs.f_bavail * fs.f_frsize, left, sizeof(left));
    *ret_why =
        text_format("%s has room for %s, and %s are needed while both are there", path, left, need);
    return -ENOSPC;
}
