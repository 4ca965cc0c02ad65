/* SPDX-License-Identifier: ISC */
/*
 * config_read.c - the files of the policy.
 *
 * Each is read into memory, looked at (config_text.c), and then parsed from there (config_parse.c):
 * libconfuse is given no file of its own and nothing but text.
 *
 * Owner and mode are those of the opened descriptors, and of the directories, too: whoever can put
 * a file there decides as well.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "policy/config_draft.h"

#include "common/banned.h"

#define FILE_SIZE_MAX (64u * 1024)
#define SUFFIX        ".conf"

const char *const config_dir = ATELIER_SYSCONF_DIR "/atelier";

/* --- errors -------------------------------------------------------------------------------- */

int config_fault(struct config_drafts *d, struct config_place at, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (d->error->text[0])
        return -EINVAL;
    if (at.line > 0)
        (void)snprintf(d->error->text, sizeof(d->error->text), "%s:%u: %s", d->files[at.file],
                       at.line, text);
    else
        (void)snprintf(d->error->text, sizeof(d->error->text), "%s: %s", d->files[at.file], text);
    return -EINVAL;
}

/* --- one file ------------------------------------------------------------------------------ */

static int system_fault(struct config_drafts *d, const char *path, int r, const char *what)
{
    (void)snprintf(d->error->text, sizeof(d->error->text), "%s: %s", path,
                   what ? what : strerrordesc_np(-r));
    return r;
}

/* Whose it is, and who may write to it. */
static int owner_check(struct config_drafts *d, const struct stat *st, uid_t owner,
                       const char *path)
{
    if (owner == CONFIG_ANY_OWNER)
        return 0;
    if (st->st_uid != owner)
        return system_fault(d, path, -EPERM,
                            owner == 0 ? "it must belong to root" : "it belongs to somebody else");
    if ((st->st_mode & 022) != 0)
        return system_fault(d, path, -EPERM, "group or others may write to it");
    return 0;
}

/* Open as the next file, for messages too. Return: descriptor or a negative errno, said. */
static int file_open(struct config_drafts *d, int dir_fd, const char *name, const char *path,
                     uid_t owner)
{
    cleanup_close int fd = -1;
    struct stat st;
    int r;

    if (d->file_count == CONFIG_FILES_MAX)
        return system_fault(d, path, -E2BIG, "there are too many files");
    d->files[d->file_count] = strdup(path);
    if (!d->files[d->file_count])
        return system_fault(d, path, -ENOMEM, NULL);
    d->file_count++;
    fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        r = -errno;
        return system_fault(d, path, r, r == -ELOOP ? "it is a symbolic link" : NULL);
    }
    if (fstat(fd, &st) < 0)
        return system_fault(d, path, -errno, NULL);
    if (!S_ISREG(st.st_mode))
        return system_fault(d, path, -EPERM, "it is no regular file");
    r = owner_check(d, &st, owner, path);
    return r < 0 ? r : fd_take(&fd);
}

static int file_read(struct config_drafts *d, int dir_fd, const char *name, const char *path,
                     uid_t owner)
{
    cleanup_close int fd = file_open(d, dir_fd, name, path, owner);
    cleanup_free char *text = malloc(FILE_SIZE_MAX + 1);
    size_t size;
    int r;

    if (fd < 0)
        return fd;
    if (!text)
        return system_fault(d, path, -ENOMEM, NULL);
    r = fd_read_full(fd, text, FILE_SIZE_MAX + 1, &size);
    if (r < 0)
        return system_fault(d, path, r, NULL);
    if (size > FILE_SIZE_MAX)
        return system_fault(d, path, -EFBIG, "it is longer than 64 KiB");
    r = config_text_check(d, text, size);
    if (r == 0)
        r = config_parse(d, text, size);
    return r == -ENOMEM ? system_fault(d, path, r, NULL) : r;
}

/* --- all of them --------------------------------------------------------------------------- */

static int is_config(const struct dirent *e)
{
    size_t len = strlen(e->d_name), suffix = sizeof(SUFFIX) - 1;

    return e->d_name[0] != '.' && len > suffix && strcmp(e->d_name + len - suffix, SUFFIX) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Return: descriptor, -ENOENT (not said), or another negative errno, said. */
static int dir_open(struct config_drafts *d, int at, const char *name, const char *path,
                    uid_t owner)
{
    cleanup_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int r;

    if (fd < 0)
        return errno == ENOENT ? -ENOENT : system_fault(d, path, -errno, NULL);
    if (fstat(fd, &st) < 0)
        return system_fault(d, path, -errno, NULL);
    r = owner_check(d, &st, owner, path);
    return r < 0 ? r : fd_take(&fd);
}

static int path_make(const char *dir, const char *name, char **ret_path)
{
    return asprintf(ret_path, "%s/%s", dir, name) < 0 ? -ENOMEM : 0;
}

static int parts_read(struct config_drafts *d, int dir_fd, const char *dir, uid_t owner)
{
    cleanup_close int fd = dir_open(d, dir_fd, "conf.d", dir, owner);
    struct dirent **names = NULL;
    int n, r = 0;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    n = scandirat(fd, ".", &names, is_config, by_name);
    if (n < 0)
        return system_fault(d, dir, -errno, NULL);
    for (int i = 0; i < n; i++) {
        cleanup_free char *path = NULL;

        if (r == 0 && path_make(dir, names[i]->d_name, &path) == 0)
            r = file_read(d, fd, names[i]->d_name, path, owner);
        else if (r == 0)
            r = system_fault(d, dir, -ENOMEM, NULL);
        free(names[i]);
    }
    free(names);
    return r;
}

static int dir_read(struct config_drafts *d, const char *dir, uid_t owner)
{
    cleanup_free char *first = NULL, *parts = NULL;
    cleanup_close int fd = dir_open(d, AT_FDCWD, dir, dir, owner);
    struct stat st;
    int r = 0;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    if (path_make(dir, "atelier" SUFFIX, &first) < 0 || path_make(dir, "conf.d", &parts) < 0)
        return system_fault(d, dir, -ENOMEM, NULL);
    if (fstatat(fd, "atelier" SUFFIX, &st, AT_SYMLINK_NOFOLLOW) == 0)
        r = file_read(d, fd, "atelier" SUFFIX, first, owner);
    else if (errno != ENOENT)
        r = system_fault(d, first, -errno, NULL);
    return r < 0 ? r : parts_read(d, fd, parts, owner);
}

/* Before and after reading. */
static int drafts_begin(struct config_error *e, struct config_drafts **ret_d)
{
    static struct policy shipped;
    struct config_drafts *d = calloc(1, sizeof(*d));

    e->text[0] = '\0';
    if (!d) {
        (void)snprintf(e->text, sizeof(e->text), "%s", strerrordesc_np(ENOMEM));
        return -ENOMEM;
    }
    d->error = e;
    policy_defaults(&shipped);
    d->net.said = shipped.net;
    for (unsigned kind = 0; kind < POLICY_KIND__COUNT; kind++)
        (void)str_copy(d->drafts[kind].name, NAME_SIZE, policy_kind_names[kind]);
    d->count = POLICY_KIND__COUNT;
    *ret_d = d;
    return 0;
}

static int drafts_end(struct config_drafts *d, int r, struct policy *ret_policy)
{
    if (r == 0)
        r = config_join(d, ret_policy);
    for (unsigned i = 0; i < d->file_count; i++)
        free(d->files[i]);
    free(d);
    return r;
}

int config_read(const char *dir, uid_t owner, struct policy *ret_policy, struct config_error *ret_e)
{
    struct config_drafts *d;
    int r = drafts_begin(ret_e, &d);

    return r < 0 ? r : drafts_end(d, dir_read(d, dir, owner), ret_policy);
}

int config_read_file(const char *path, uid_t owner, struct policy *ret_policy,
                     struct config_error *ret_e)
{
    struct config_drafts *d;
    int r = drafts_begin(ret_e, &d);

    return r < 0 ? r : drafts_end(d, file_read(d, AT_FDCWD, path, path, owner), ret_policy);
}
