/* SPDX-License-Identifier: ISC */
/*
 * home_archive.c - what becomes of the home of a user who is removed.
 *
 * Order: the archive is whole and on the disk before the first file of the home is removed. tar
 * opens nothing by name below the home that the user could have made a link (it uses O_NOFOLLOW),
 * and writes to a descriptor that we opened.
 */
#include "ctl/home_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/tar.h"
#include "ctl/backup_file.h"
#include "ctl/say.h"
#include "ctl/setup/program.h"
#include "ctl/tree.h"

#include "common/banned.h"

int home_stat(const char *homes, const char *name, struct stat *ret_st)
{
    cleanup_close int fd = tree_open_absolute(homes);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    *ret_st = st;
    return 0;
}

int home_owner(const char *homes, const char *name, uid_t *ret_uid)
{
    struct stat st;
    int r = home_stat(homes, name, &st);

    if (r == 0)
        *ret_uid = st.st_uid;
    return r;
}

static int owner_check(const char *homes, const char *name, uid_t uid, char **ret_why)
{
    uid_t owner = 0;
    int r = home_owner(homes, name, &owner);

    if (r == 0 && owner != uid) {
        *ret_why = text_format("%s/%s belongs to UID %u, not %u", homes, name, owner, uid);
        return -EPERM;
    }
    if (r < 0)
        *ret_why = text_format("%s/%s: %s", homes, name, strerror(-r));
    return r;
}

char *home_archive_path(const char *name, uid_t uid)
{
    time_t now = time(NULL);
    struct stat st = {0};
    char moment[32];
    struct tm tm;
    char *path;

    if ((mkdir(HOME_ARCHIVES, 0700) < 0 && errno != EEXIST) || lstat(HOME_ARCHIVES, &st) < 0) {
        say_error("%s: %s", HOME_ARCHIVES, strerror(errno));
        return NULL;
    }
    if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || (st.st_mode & 077) != 0) {
        say_error("%s is not a directory of root's alone (chown root: and chmod 0700)",
                  HOME_ARCHIVES);
        return NULL;
    }
    if (!gmtime_r(&now, &tm) || strftime(moment, sizeof(moment), "%Y%m%dT%H%M%SZ", &tm) == 0 ||
        asprintf(&path, HOME_ARCHIVES "/%s-%u-%s.tar.gz", name, uid, moment) < 0)
        say_no_memory();
    return path;
}

/* Return: tar's exit code, 128 + signal, or a negative errno. */
static int tar_run(const char *homes, const char *name, int out, int messages)
{
    const char *const argv[] = {
        TAR,  "--create", "--gzip", "--numeric-owner", "--sparse", "--one-file-system", "-C", homes,
        "--", name,       NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int r;

    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO) != 0 ||
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1) != 0)
        say_no_memory();
    r = tar_start(argv, &actions, &pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r < 0 ? r : tar_wait(pid);
}

static void tar_why(int messages, int code, char **ret_why)
{
    cleanup_text struct text text = {0};
    cleanup_free char *why = NULL;
    char bytes[4096];
    bool is_deep;
    size_t n = 0;

    if (lseek(messages, 0, SEEK_SET) < 0 ||
        fd_read_full(messages, bytes, sizeof(bytes) - 1, &n) < 0)
        n = 0;
    /* The first line: the last one says that it ends. */
    bytes[n] = '\0';
    text = text_of(bytes, strcspn(bytes, "\n"));
    why = program_why(code, &text);
    is_deep = code == 128 + SIGSEGV || strstr(why, "memory exhausted");
    *ret_why =
        text_format("%s%s", why, is_deep ? "; directories in it are nested too deep for tar" : "");
}

int home_archive(const char *homes, const char *name, uid_t uid, const char *file, char **ret_why)
{
    cleanup_close int messages = memfd_create("messages", MFD_CLOEXEC);
    cleanup_close int out = -1;
    int r = owner_check(homes, name, uid, ret_why);

    if (r < 0)
        return r;
    *ret_why = NULL;
    out = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || messages < 0) {
        r = -errno;
        *ret_why = text_format("%s: %s", file, strerror(-r));
        return r;
    }
    r = tar_run(homes, name, out, messages);
    if (r < 0) {
        *ret_why = text_format("%s: %s", TAR, strerror(-r));
    } else if (r > 0) {
        tar_why(messages, r, ret_why);
        r = -EIO;
    } else {
        r = fsync(out) < 0 ? -errno : parent_sync(file);
    }
    if (r < 0 && !*ret_why)
        *ret_why = text_format("%s: %s", file, strerror(-r));
    if (r < 0)
        (void)unlink(file);
    return r;
}

struct removing {
    int error;  /* the first one, negative */
    char *what; /* heap */
};

static void failure_keep(struct removing *x, const struct tree_entry *e, int error)
{
    if (x->error != 0)
        return;
    x->error = -error;
    x->what = tree_path(e);
}

static int on_entry(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    struct removing *x = arg;
    int error = errno;

    switch (visit) {
    case TREE_FILE:
        if (unlinkat(e->dir_fd, e->name, 0) < 0 && errno != ENOENT)
            failure_keep(x, e, errno);
        return 0;
    case TREE_LEAVE:
        if (unlinkat(e->dir_fd, e->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            failure_keep(x, e, errno);
        return 0;
    case TREE_BARRIER:
        failure_keep(x, e, EBUSY);
        return 0;
    case TREE_UNREADABLE:
        failure_keep(x, e, error);
        return 0;
    case TREE_ENTER:
        return 0;
    }
    return 0;
}

int home_remove(const char *homes, const char *name, uid_t uid, char **ret_why)
{
    cleanup_close int parent = tree_open_absolute(homes);
    cleanup_free char *path = NULL;
    cleanup_close int fd = -1;
    struct removing x = {0};
    struct stat st;
    int r = owner_check(homes, name, uid, ret_why);

    if (r < 0)
        return r;
    if (asprintf(&path, "%s/%s", homes, name) < 0)
        say_no_memory();
    fd = tree_open_absolute(path);
    r = parent < 0 ? parent : fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && st.st_uid != uid)
        r = -EPERM;
    if (r == 0)
        r = tree_walk(fd, path, on_entry, &x);
    if (r == 0 && x.error == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
        r = -errno;
    if (r == 0 && x.error != 0) {
        r = x.error;
        *ret_why = text_format("%s: %s", x.what, strerror(-r));
    } else if (r < 0) {
        *ret_why = text_format("%s: %s", path, strerror(-r));
    }
    free(x.what);
    return r;
}
