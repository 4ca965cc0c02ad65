/* SPDX-License-Identifier: ISC */
/* home_convert.c - have atelier-image make an image of a home that is a directory. */
#include "ctl/home_convert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/image.h"
#include "ctl/home_image.h"
#include "ctl/say.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

/* What was begun goes on when Ctrl-C ends us: it has a process group of its own. */
static int convert_start(const struct home_convert *c, int talk, int messages, pid_t *ret_pid)
{
    char uid[12], bytes[24], files[24];

    (void)snprintf(uid, sizeof(uid), "%u", c->uid);
    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, c->bytes);
    (void)snprintf(files, sizeof(files), "%" PRIu64, c->files);
    return program_start(ARGV(IMAGE_PROGRAM, "convert", uid, c->name, bytes, files), talk, messages,
                         ret_pid);
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
    cleanup_text struct text said = program_output(messages);

    return program_why(result, &said);
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
    code = program_wait(pid, 0);
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
