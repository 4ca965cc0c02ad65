/* SPDX-License-Identifier: ISC */
/* del_args.c - arguments of `atelier user del`. */
#include "ctl/del_args.h"

#include <errno.h>

#include "common/banned.h"

enum {
    OPTION_ARCHIVE = OPTION_OWN,
    OPTION_NO_SCAN,
};

static error_t del_check(struct argp_state *state, const struct del_args *args, bool is_both)
{
    if (args->count == 0) {
        argp_error(state, "NAME is missing");
        return EINVAL;
    }
    if (is_both) {
        argp_error(state, "--archive keeps the home in an archive, --remove keeps nothing: one of "
                          "the two");
        return EINVAL;
    }
    if (args->archive && args->count > 1) {
        argp_error(state, "--archive=FILE is for one user; without FILE each gets a file");
        return EINVAL;
    }
    return 0;
}

struct del_state {
    struct del_args args;
    bool is_archive, is_remove;
};

static error_t del_option_parse(int key, char *arg, struct argp_state *state)
{
    struct del_state *s = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = s->args.opt;
        return 0;
    case OPTION_ARCHIVE:
        s->args.archive = arg;
        s->is_archive = true;
        return 0;
    case 'r':
        s->is_remove = true;
        return 0;
    case OPTION_NO_SCAN:
        s->args.is_no_scan = true;
        return 0;
    case ARGP_KEY_ARGS:
        s->args.names = state->argv + state->next;
        s->args.count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        return del_check(state, &s->args, s->is_archive && s->is_remove);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option del_options[] = {
    {"archive", OPTION_ARCHIVE, "FILE", OPTION_ARG_OPTIONAL,
     "Put the home into a tar file, then remove it [" ATELIER_STATE_DIR
     "/archive/NAME-UID-MOMENT.tar.gz]",
     0},
    {"remove", 'r', NULL, 0, "Remove the home", 0},
    {"no-scan", OPTION_NO_SCAN, NULL, 0, "Do not look for files elsewhere", 0},
    {0},
};

static const struct argp del_argp = {
    .options = del_options,
    .parser = del_option_parse,
    .args_doc = "NAME...",
    .doc = "Remove users for ever: their sessions and runs end, their links are taken back, and "
           "name and UID are never used again. The home stays unless told otherwise.\vAfterwards "
           "says what is left of them: processes, groups of /etc/group that name them, and files "
           "elsewhere on the local file systems.",
    .children = options_child};

int del_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                   struct del_args *ret_args)
{
    struct del_state s = {.args = {.opt = opt}};

    if (argp_parse(&del_argp, argc, argv, flags, NULL, &s) != 0)
        return -EINVAL;
    s.args.home = s.is_archive ? DEL_HOME_ARCHIVE : s.is_remove ? DEL_HOME_REMOVE : DEL_HOME_KEEP;
    *ret_args = s.args;
    return 0;
}
