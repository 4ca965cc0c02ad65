/* SPDX-License-Identifier: ISC */
/* del_args.h - arguments of `atelier user del`. */
#ifndef ATELIER_CTL_DEL_ARGS_H
#define ATELIER_CTL_DEL_ARGS_H

#include "ctl/args.h"

struct del_args {
    struct options *opt;
    char **names; /* borrowed from the arguments */
    size_t count;
    const char *archive; /* where to, or NULL: among the others */
    enum {
        DEL_HOME_KEEP,
        DEL_HOME_ARCHIVE, /* and then remove */
        DEL_HOME_REMOVE,
    } home;
    bool is_no_scan;
};

/* Parameters as for user_add_parse(). Return: 0 or -EINVAL. */
int del_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                   struct del_args *ret_args);

#endif
