/* SPDX-License-Identifier: ISC */
/* home_convert.c - have atelier-image make an image of a home that is a directory. */
#include "ctl/home_convert.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/image.h"
#include "ctl/home_image.h"
#include "ctl/say.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

/* A process group of its own: Ctrl-C ends us, and what was begun goes on.
 * @talk: its standard input and output. Return: 0 or a negative errno. */
static int convert_start(const struct home_convert *c, int talk, int messages, pid_t *ret_pid)
{
    const char *const envp[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
    char uid[12], bytes[24], files[24];
    const char *const argv[] = {IMAGE_PROGRAM, "convert", uid, c->name, bytes, files, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int r;

    (void)snprintf(uid, sizeof(uid), "%u", c->uid);
    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, c->bytes);
    (void)snprintf(files, sizeof(files), "%" PRIu64, c->files);
    if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
        say_no_memory();
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    if (posix_spawn_file_actions_adddup2(&actions, talk, STDIN_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, talk, STDOUT_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO) != 0 ||
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1) != 0 ||
        posix_spawnattr_setsigmask(&attributes, &none) != 0 ||
        posix_spawnattr_setsigdefault(&attributes, &all) != 0 ||
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP) != 0)
        say_no_memory();
    r = posix_spawn(ret_pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                    (char *const *)(uintptr_t)envp);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

/* Return: whether the program holds the home; else it has ended, or is about to. */
static bool is_held(int talk)
{
    char word[sizeof(IMAGE_HELD)] = "";
    size_t n;

    return fd_read_full(talk, word, sizeof(word) - 1, &n) == 0 && strcmp(word, IMAGE_HELD) == 0;
}

static char *convert_why(int result, int messages)
{
    struct text said;
    char bytes[4096];
    size_t n = 0;
    char *why;

    if (lseek(messages, 0, SEEK_SET) < 0 || fd_read_full(messages, bytes, sizeof(bytes), &n) < 0)
        n = 0;
    said = text_of(bytes, n);
    why = program_why(result, &said);
    text_done(&said);
    return why;
}

/* Return: exit code, 128 + signal, or a negative errno. */
static int convert_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int home_convert(const struct home_convert *c, char **ret_why)
{
    cleanup_close int messages = memfd_create("messages", MFD_CLOEXEC);
    cleanup_close int ours = -1, theirs = -1;
    int pair[2], r, code, refused = 0;
    pid_t pid;

    *ret_why = NULL;
    r = messages < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
    if (r == 0) {
        ours = pair[0];
        theirs = pair[1];
        r = convert_start(c, theirs, messages, &pid);
        (void)close(fd_take(&theirs));
    }
    if (r < 0) {
        *ret_why = text_format("%s: %s", IMAGE_PROGRAM, strerror(-r));
        return r;
    }
    if (is_held(ours)) {
        refused = c->held(c->arg);
        /* If it is not there any more, its exit code says so. */
        if (refused == 0)
            (void)send(ours, IMAGE_GO, sizeof(IMAGE_GO) - 1, MSG_NOSIGNAL);
    }
    (void)shutdown(ours, SHUT_WR);
    code = convert_wait(pid);
    if (refused != 0)
        return refused;
    if (code == IMAGE_NONE)
        return -ENODATA;
    if (code != IMAGE_DONE) {
        *ret_why = convert_why(code, messages);
        return -EIO;
    }
    return home_image_old_remove(c->uid, c->name, ret_why);
}
