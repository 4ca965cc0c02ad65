/* SPDX-License-Identifier: ISC */
/*
 * cmd_su.c - atelier su
 *
 * Root could become the user by setuid, and would then be outside of every namespace, filter and
 * limit. So root logs in instead, with a link of its own that lives for a minute, through the sshd
 * that everybody uses. ssh asks askpass for the code, which prints it from the environment.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/minted.h"
#include "ctl/say.h"
#include "ctl/su_args.h"

#include "common/banned.h"

#define LINK_VALID_S 60

int cmd_su(struct options *opt, int argc, char **argv)
{
    cleanup_minted struct minted m = {0};
    cleanup_json json_t *body = NULL;
    struct options quiet;
    struct su_args args;
    struct su_exec exec;
    int code;

    if (su_args_parse(opt, argc, argv, 0, &args) < 0)
        return CTL_USAGE;
    if (geteuid() != 0) {
        say_error("only root can log in as somebody else");
        return CTL_NOPERM;
    }
    quiet = *opt;
    quiet.json = false; /* standard output is the session's */
    body =
        json_pack("{s:s, s:s, s:i}", "user", args.name, "purpose", "ssh", "valid_s", LINK_VALID_S);
    if (!body)
        say_no_memory();
    code = minted_get(&quiet, body, "", &m);
    if (code != CTL_OK)
        return code;
    su_exec_make(&args, m.code, isatty(STDIN_FILENO) == 1, environ, &exec);
    (void)execve(SU_SSH, exec.argv, exec.envp);
    say_error("cannot start %s: %s", SU_SSH, strerror(errno));
    su_exec_done(&exec);
    return CTL_SU_FAILED;
}
