/* SPDX-License-Identifier: ISC */
/* cmd_restore.c - atelier restore: arguments, and the copy that the api is offered. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/backup_file.h"
#include "ctl/cmd.h"
#include "ctl/restore.h"
#include "ctl/say.h"

#include "common/banned.h"

#define RESTORE_NAME "restore.db"

enum {
    OPTION_DRY_RUN = OPTION_OWN,
};

static error_t restore_option_parse(int key, char *arg, struct argp_state *state)
{
    struct restore_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_DRY_RUN:
        args->is_dry_run = true;
        return 0;
    case 'y':
        args->is_yes = true;
        return 0;
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->file);
    case ARGP_KEY_END:
        if (!args->file) {
            argp_error(state, "FILE is missing");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option restore_options[] = {
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Say what would be, change nothing", 0},
    {"yes", 'y', NULL, 0, "Do not ask", 0},
    {0},
};

static const struct argp restore_argp = {
    .options = restore_options,
    .parser = restore_option_parse,
    .args_doc = "FILE|-",
    .doc =
        "Take the users, groups, callers and links from a backup.\vWho came after the backup is "
        "gone then; their names and UIDs are not used again. Who was removed after it comes back "
        "locked, and who is locked stays so; links that were open in it are revoked, and "
        "programs that lost the API do not get it back. The state before is kept beside the "
        "registry.",
    .children = options_child};

static int source_open(const char *file)
{
    int fd;

    if (strcmp(file, "-") != 0)
        fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    else if (isatty(STDIN_FILENO) == 1)
        fd = -1, errno = ENOTSUP; /* a terminal is no backup */
    else
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

int cmd_restore(struct options *opt, int argc, char **argv)
{
    struct restore_args args = {.opt = opt};
    cleanup_close int source = -1, dir = -1;
    enum ctl_exit code;
    int r;

    if (argp_parse(&restore_argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    source = source_open(args.file);
    if (source < 0) {
        say_error("%s: %s", args.file, strerror(-source));
        return CTL_USAGE;
    }
    /* Held while the question is open: what is there is what was looked at. */
    dir = registry_lock(0);
    if (dir < 0)
        return (int)registry_lock_say(dir);
    r = backup_put(dir, RESTORE_NAME, source);
    if (r < 0) {
        say_error("cannot copy %s into %s: %s", args.file, REGISTRY, strerror(-r));
        return CTL_NO;
    }
    code = restore_do(&args);
    (void)unlinkat(dir, RESTORE_NAME, 0);
    return (int)code;
}
