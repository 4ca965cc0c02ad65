/* SPDX-License-Identifier: ISC */
/* tar.c - start tar(1) on trees that others may have filled. */
#include "common/tar.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/banned.h"

#define STACK  ((rlim_t)1 << 30) /* what is not used is not there */
#define MEMORY ((rlim_t)2 << 30)

int tar_start(const char *const *argv, const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
    const struct rlimit memory = {.rlim_cur = MEMORY, .rlim_max = MEMORY};
    const char *const envp[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
    struct rlimit before, own;
    bool is_known = getrlimit(RLIMIT_STACK, &before) == 0;
    int r;

    /* The stack's limit counts from exec(2) on, so ours is changed for that moment. */
    own = before;
    own.rlim_cur = own.rlim_max < STACK ? own.rlim_max : STACK;
    if (is_known)
        (void)setrlimit(RLIMIT_STACK, &own);
    /* posix_spawn(3) wants the words without const, and changes nothing. */
    r = posix_spawn(ret_pid, TAR, actions, NULL, (char *const *)(uintptr_t)argv,
                    (char *const *)(uintptr_t)envp);
    if (is_known)
        (void)setrlimit(RLIMIT_STACK, &before);
    if (r == 0)
        (void)prlimit(*ret_pid, RLIMIT_AS, &memory, NULL);
    return -r;
}

int tar_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
