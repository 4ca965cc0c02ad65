/* SPDX-License-Identifier: ISC */
/* file.c - files of the host, read and replaced whole. */
#include "ctl/setup/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/say.h"

#include "common/banned.h"

/* A configuration file that is bigger than this is not one. */
#define FILE_SIZE_MAX (16 << 20)

void file_done(struct file *f)
{
    text_done(&f->text);
}

char *file_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash && slash > path ? strndup(path, (size_t)(slash - path)) : strdup("/");

    if (!directory)
        say_no_memory();
    return directory;
}

int file_read(const char *path, struct file *ret)
{
    cleanup_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct file f = {0};
    struct stat st;
    int r;

    if (fd < 0 && errno == ENOENT) {
        *ret = f;
        return 0;
    }
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if (st.st_size > FILE_SIZE_MAX)
        return -EFBIG;
    f = (struct file){
        .mode = st.st_mode & ALLPERMS, .uid = st.st_uid, .gid = st.st_gid, .mtime = st.st_mtim};
    f.text.bytes = calloc(1, (size_t)st.st_size + 1);
    if (!f.text.bytes)
        say_no_memory();
    r = fd_read_full(fd, f.text.bytes, (size_t)st.st_size, &f.text.size);
    if (r < 0) {
        file_done(&f);
        return r;
    }
    *ret = f;
    return 0;
}

static bool is_frozen(const char *path)
{
    struct statx x;

    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &x) == 0 &&
           (x.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
}

const char *file_obstacle(const char *path)
{
    cleanup_free char *directory = file_directory(path);
    struct statvfs vfs;
    struct stat st;

    if (is_frozen(directory))
        return "is in a directory that is immutable or append-only (chattr)";
    if (statvfs(directory, &vfs) == 0 && (vfs.f_flag & ST_RDONLY))
        return "is on a file system that is mounted read-only";
    if (lstat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? NULL : "cannot be looked at";
    if (S_ISLNK(st.st_mode))
        return "is a symbolic link; whoever put it there has to edit what it leads to";
    if (!S_ISREG(st.st_mode))
        return "is not a regular file";
    if (st.st_nlink > 1)
        return "has further hard links, which would keep the old text";
    if (is_frozen(path))
        return "is immutable or append-only (chattr)";
    if (st.st_uid != geteuid() || (st.st_mode & S_IWOTH))
        return "is not root's alone: it belongs to somebody else, or everybody may write to it";
    return NULL;
}

int file_sync_directory(const char *path)
{
    cleanup_free char *directory = file_directory(path);
    cleanup_close int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Access lists and labels go with the name. Return: 0 or a negative errno. */
static int attributes_copy(const char *path, int fd)
{
    char names[4096], value[4096];
    ssize_t n = llistxattr(path, names, sizeof(names));

    if (n < 0)
        return errno == ENOENT || errno == EOPNOTSUPP ? 0 : -errno;
    for (char *name = names; name < names + n; name += strlen(name) + 1) {
        ssize_t size = lgetxattr(path, name, value, sizeof(value));

        if (size < 0 || fsetxattr(fd, name, value, (size_t)size, 0) < 0)
            return -errno;
    }
    return 0;
}

static int content_write(int fd, const char *path, const struct file *f)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, f->mtime};
    int r = fd_write_full(fd, f->text.bytes, f->text.size);

    if (r == 0 && (fchown(fd, f->uid, f->gid) < 0 || fchmod(fd, f->mode) < 0))
        r = -errno;
    if (r == 0)
        r = attributes_copy(path, fd);
    if (r == 0 && f->mtime.tv_sec != 0 && futimens(fd, times) < 0)
        r = -errno;
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    return r;
}

int file_write(const char *path, const struct file *f)
{
    cleanup_free char *new = NULL;
    cleanup_close int fd = -1;
    int r;

    if (asprintf(&new, "%s" FILE_NEW_SUFFIX, path) < 0)
        say_no_memory();
    (void)unlink(new);
    fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = content_write(fd, path, f);
    if (r == 0 && rename(new, path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(new);
        return r;
    }
    return file_sync_directory(path);
}

int file_remove(const char *path)
{
    if (unlink(path) < 0)
        return errno == ENOENT ? 0 : -errno;
    return file_sync_directory(path);
}

void file_sweep(const char *path)
{
    cleanup_free char *new = NULL;

    if (asprintf(&new, "%s" FILE_NEW_SUFFIX, path) < 0)
        say_no_memory();
    (void)unlink(new);
}
