/* SPDX-License-Identifier: ISC */
/* confirm.c - ask before something that cannot be taken back. */
#include "ctl/confirm.h"

#include <stdio.h>
#include <unistd.h>

#include "ctl/say.h"

#include "common/banned.h"

bool confirm(bool is_yes, const char *question)
{
    char answer[16];

    if (is_yes)
        return true;
    if (isatty(STDIN_FILENO) != 1) {
        say_error("nobody can be asked here: -y goes on without; nothing is done");
        return false;
    }
    (void)fprintf(stderr, "%s [y/N] ", question);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    say_error("nothing is done");
    return false;
}
