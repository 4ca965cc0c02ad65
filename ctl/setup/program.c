/* SPDX-License-Identifier: ISC */
/* program.c - programs of the host: by path, without a shell, with an environment of our own. */
#include "ctl/setup/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/say.h"

#include "common/banned.h"

/* More than that is not read: messages, not data. */
#define OUTPUT_MAX (4u << 20)

static const char *const environment[] = {
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL=C",
    "HOME=/root",
    "DEBIAN_FRONTEND=noninteractive",
    "SYSTEMD_PAGER=",
    "SYSTEMD_COLORS=0",
    NULL,
};

/* posix_spawn(3) wants them without const, and changes nothing. */
static char *const *words_plain(const char *const *words)
{
    return (char *const *)(uintptr_t)words;
}

int program_start(const char *const *argv, int talk, int output, pid_t *ret_pid)
{
    /* A process group of its own: Ctrl-C is for us, who stop between two steps. */
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int r;

    if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
        say_no_memory();
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    r = talk >= 0
            ? posix_spawn_file_actions_adddup2(&actions, talk, STDIN_FILENO)
            : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r != 0 ||
        posix_spawn_file_actions_adddup2(&actions, talk >= 0 ? talk : output, STDOUT_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO) != 0 ||
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1) != 0 ||
        posix_spawnattr_setsigmask(&attributes, &none) != 0 ||
        posix_spawnattr_setsigdefault(&attributes, &all) != 0 ||
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP) != 0)
        say_no_memory();
    r = posix_spawn(ret_pid, argv[0], &actions, &attributes, words_plain(argv),
                    words_plain(environment));
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

int program_wait(pid_t pid, unsigned timeout_s)
{
    cleanup_close int pidfd = pidfd_open(pid, 0);
    struct pollfd ready = {.fd = pidfd, .events = POLLIN};
    bool is_late = false;
    int status;

    if (timeout_s > 0 && pidfd >= 0 && poll(&ready, 1, (int)(timeout_s * 1000)) == 0) {
        (void)kill(pid, SIGKILL);
        is_late = true;
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    if (is_late)
        return -ETIMEDOUT;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct text program_output(int fd)
{
    struct text t = {0};
    struct stat st;
    size_t size = 0;

    if (fstat(fd, &st) == 0 && st.st_size > 0)
        size = st.st_size < OUTPUT_MAX ? (size_t)st.st_size : OUTPUT_MAX;
    t = text_of("", 0);
    if (size == 0 || lseek(fd, 0, SEEK_SET) < 0)
        return t;
    text_done(&t);
    t.bytes = calloc(1, size + 1);
    if (!t.bytes)
        say_no_memory();
    (void)fd_read_full(fd, t.bytes, size, &t.size);
    return t;
}

int program_run(const char *const *argv, unsigned timeout_s, struct text *ret_output)
{
    /* Not a pipe: nobody has to read while it runs, and what it leaves behind holds nothing open.
     */
    cleanup_close int output = memfd_create("output", MFD_CLOEXEC);
    pid_t pid;
    int r;

    if (output < 0)
        return -errno;
    r = program_start(argv, -1, output, &pid);
    if (r == 0)
        r = program_wait(pid, timeout_s);
    if (ret_output)
        *ret_output = program_output(output);
    return r;
}

char *program_why(int result, const struct text *output)
{
    char *last = output ? output_last_line(output) : NULL, *why = NULL;
    const char *before = last && *last ? last : "", *between = *before ? "; " : "";
    int n;

    if (result == -ETIMEDOUT)
        n = asprintf(&why, "%s%sit did not end in time, and was killed", before, between);
    else if (result < 0)
        n = asprintf(&why, "%s", strerror(-result));
    else if (result > 128 && result < 128 + NSIG)
        n = asprintf(&why, "%s%sit was killed by signal %d (%s)", before, between, result - 128,
                     strsignal(result - 128));
    else
        n = asprintf(&why, "%s%s(exit code %d)", before, *before ? " " : "", result);
    free(last);
    if (n < 0)
        say_no_memory();
    return why;
}

char *output_last_line(const struct text *output)
{
    struct line line = {0}, last = {.start = ""};
    char *text;

    while (line_next(output, &line)) {
        struct word word = {.end = line.start};

        if (word_next(&word, line.start + line.size))
            last = line;
    }
    text = strndup(last.start, last.size);
    if (!text)
        say_no_memory();
    return text;
}

char *argv_text(const char *const *argv)
{
    struct text t;
    FILE *out = text_begin(&t);

    for (size_t i = 0; argv[i]; i++)
        (void)fprintf(out, "%s%s", i > 0 ? " " : "", argv[i]);
    text_end(&t, out);
    return t.bytes;
}
