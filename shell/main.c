/* SPDX-License-Identifier: ISC */
/*
 * main.c - the login shell of every user: the real shell inside a session, one sentence elsewhere.
 *
 * It protects nobody from a participant, who can start any program once there is a process of his.
 * It is the last of several reasons why a way in that is not ours (cron, at, su, ftp, the host's
 * own sshd) ends at once, instead of in a shell outside every session. So it trusts nothing that
 * such a way could set: not the environment, not its arguments, but what the kernel says of this
 * process and a file of root's that exists in the trees of sessions alone.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell/shell.h"

#include "common/banned.h"

#define SELF_PATH ATELIER_PROGRAMS_DIR "/shell"

static const char outside[] = "atelier: this account works only in a session: "
                              "ssh -p 2222 NAME@HOST; root uses atelier su NAME.\n";
static const char no_shell[] = "atelier: the shell of this account could not be started; "
                               "tell whoever runs this host.\n";

static int refuse(const char *sentence)
{
    ssize_t n = write(STDERR_FILENO, sentence, strlen(sentence));

    (void)n; /* nobody is left to tell */
    return 1;
}

int main(int argc, char **argv)
{
    static char path[SHELL_PATH_SIZE], name[SHELL_PATH_SIZE + 1];
    char *alone[] = {name, NULL};
    const char *shell;
    uint32_t uid;

    if (!shell_is_confined(&uid) || shell_mark_read(SHELL_MARK_PATH, uid, path) < 0)
        return refuse(outside);
    shell = shell_pick(path, SELF_PATH);
    shell_argv0(argc > 0 ? argv[0] : NULL, shell, name);
    if (setenv("SHELL", shell, 1) < 0)
        return refuse(no_shell);
    if (argc > 0)
        argv[0] = name;
    (void)execv(shell, argc > 0 ? argv : alone);
    return refuse(no_shell);
}
