/* SPDX-License-Identifier: ISC */
/*
 * copy.c - all of a tree into another one, and whether it is the same, by tar(1).
 *
 * One tar writes, another one reads, and what goes from one to the other goes through us: so both
 * end when we do, however that is. The directories are their working directories: neither is named,
 * so neither can become another one on the way. The one that writes opens nothing by name that
 * could be a link (it uses O_NOFOLLOW), as for an archive of a home.
 */
#include "sessiond/disk/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/tar.h"

#include "common/banned.h"

/* A path, each byte of it as four characters, and what is said of it. */
#define LINE_ROOM (4 * PATH_MAX + 256)
#define CUT       "..."
/* A pipe has 64 KiB. */
#define PASS_BYTES ((size_t)1 << 20)

/* --xattrs-include: what a participant can have. Attributes of other kinds are the kernel's or
 * root's, and some would be refused. */
#define KEPT                                                                                       \
    "--numeric-owner", "--format=posix", "--acls", "--xattrs", "--xattrs-include=user.*",          \
        "--no-selinux"

static const char *const writer[] = {
    TAR,  "--create", "--file=-", "--sparse", "--one-file-system", "--warning=no-file-ignored",
    KEPT, "--",       ".",        NULL};
/* --warning: a time that the user has set to the future. All else that it says has to be looked at:
 * of an attribute that cannot be set it warns, and ends as if all were done. */
static const char *const extractor[] = {
    TAR,  "--extract", "--file=-", "--same-owner", "--same-permissions", "--warning=no-timestamp",
    KEPT, NULL};
static const char *const comparer[] = {TAR, "--compare", "--file=-", KEPT, NULL};

/* @in, @out: become standard input and output. Return: 0 or a negative errno. */
static int one_start(const char *const *argv, int dir, int in, int out, int messages,
                     pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_addfchdir_np(&actions, dir);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    r = r != 0 ? -r : tar_start(argv, &actions, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* Names in it are the user's choice, and the reason comes after them: of what is too long the
 * middle is left out. */
static void said_read(int messages, char *ret_said, size_t size)
{
    char line[LINE_ROOM];
    size_t n = 0, half = (size - sizeof(CUT)) / 2;

    if (lseek(messages, 0, SEEK_SET) < 0 || fd_read_full(messages, line, sizeof(line) - 1, &n) < 0)
        n = 0;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    for (char *p = line; *p; p++) {
        if (*p < ' ' || *p > '~')
            *p = '?';
    }
    n = strlen(line);
    if (n < size)
        memcpy(ret_said, line, n + 1);
    else
        (void)snprintf(ret_said, size, "%.*s" CUT "%s", (int)half, line, line + n - half);
}

/* Until one of them has ended: who writes by an error, who reads by an end. */
static void pass_all(int in, int out)
{
    ssize_t n;

    do {
        n = splice(in, NULL, out, NULL, PASS_BYTES, 0);
    } while (n > 0 || (n < 0 && errno == EINTR));
}

/* What a tar has is closed in here at once: each has to see the end of the other, and of us. */
static int pair_run(const char *const *reader, int from_fd, int to_fd, int null, int messages)
{
    cleanup_close int from = -1, to = -1, in = -1, out = -1;
    pid_t first = -1, second = -1;
    int ends[2], r, wrote = 0, read = 0;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    from = ends[0];
    out = ends[1];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    in = ends[0];
    to = ends[1];
    r = one_start(writer, from_fd, null, out, messages, &first);
    (void)close(fd_take(&out));
    if (r == 0)
        r = one_start(reader, to_fd, in, messages, messages, &second); /* differences: on out */
    (void)close(fd_take(&in));
    if (r == 0)
        pass_all(from, to);
    (void)close(fd_take(&from));
    (void)close(fd_take(&to));
    if (first > 0)
        wrote = tar_wait(first);
    if (second > 0)
        read = tar_wait(second);
    if (r < 0)
        return r;
    return wrote == 0 && read == 0 ? 0 : -EIO;
}

/* The first line is read, and no more is kept: each file of the user's could have one. */
static int messages_open(void)
{
    cleanup_close int fd = memfd_create("messages", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, LINE_ROOM) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) < 0)
        return -errno;
    return fd_take(&fd);
}

int copy_tree(int from_fd, int to_fd, enum copy_what what, char *ret_said, size_t size)
{
    cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    cleanup_close int messages = null < 0 ? -errno : messages_open();
    int r;

    ret_said[0] = '\0';
    if (messages < 0)
        return messages;
    r = pair_run(what == COPY_MAKE ? extractor : comparer, from_fd, to_fd, null, messages);
    if (r == 0 || r == -EIO)
        said_read(messages, ret_said, size);
    return r == 0 && ret_said[0] ? -EIO : r;
}
