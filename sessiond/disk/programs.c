/* SPDX-License-Identifier: ISC */
/* programs.c - the programs of e2fsprogs, with arguments of ours and no environment. */
#include "sessiond/disk/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

/* e2fsck(8), EXIT CODE: 1 is "errors corrected". */
#define FSCK_MENDED 1

/* Standard output is of no use; what goes wrong is said on standard error. Return: exit code or
 * -errno. */
static int program_run(const char *const argv[])
{
    const char *const envp[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
    posix_spawn_file_actions_t actions;
    int status, r;
    pid_t pid;

    r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
                        (char *const *)(uintptr_t)envp);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        return -r;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

/* The same in both places of a host that is not merged. */
static const char *program_find(const char *usr, const char *other)
{
    return access(usr, X_OK) == 0 ? usr : other;
}

int programs_make(const char *path, uint32_t uid, uint64_t files)
{
    const char *program = program_find("/usr/sbin/mke2fs", "/sbin/mke2fs");
    char owner[96], count[24];
    /* -m 0: nothing is kept for root. 4096: the kernel can read and write such blocks of any page
     * at once; mke2fs takes 1024 for a small file system. nodiscard: the file is empty. */
    const char *const argv[] = {program, "-q", "-F",           "-t", "ext4", "-m",
                                "0",     "-b", "4096",         "-E", owner,  "-N",
                                count,   "-L", "atelier-home", path, NULL};
    int r;

    (void)snprintf(owner, sizeof(owner), "root_owner=%u:%u,nodiscard,lazy_itable_init=1", uid, uid);
    (void)snprintf(count, sizeof(count), "%" PRIu64, files);
    r = program_run(argv);
    return r > 0 ? -EIO : r;
}

int programs_check(const char *path, bool is_forced)
{
    const char *program = program_find("/usr/sbin/e2fsck", "/sbin/e2fsck");
    const char *const argv[] = {program, "-p", is_forced ? "-f" : path, is_forced ? path : NULL,
                                NULL};
    int r = program_run(argv);

    return r > FSCK_MENDED ? -EUCLEAN : r < 0 ? r : 0;
}

int programs_grow(const char *path)
{
    const char *program = program_find("/usr/sbin/resize2fs", "/sbin/resize2fs");
    const char *const argv[] = {program, path, NULL};
    int r = program_run(argv);

    return r > 0 ? -EIO : r;
}
