/* SPDX-License-Identifier: ISC */
/* home_convert.h - have atelier-image make an image of a home that is a directory. */
#ifndef ATELIER_CTL_HOME_CONVERT_H
#define ATELIER_CTL_HOME_CONVERT_H

#include <stdint.h>
#include <sys/types.h>

struct home_convert {
    uid_t uid;
    const char *name;      /* borrowed */
    uint64_t bytes, files; /* of the image */
    /* Nothing of the user's starts any more: is there anything that lives, or another reason not to
     * go on? Return: 0 to go on, or anything else, which home_convert() returns. */
    int (*held)(void *arg);
    void *arg;
};

/**
 * home_convert() - Convert it, and remove the directory when the image is the home
 * @ret_why: On failure a sentence, heap; NULL if @held said no
 *
 * The home is held by the program, not by us: whoever of the two dies, it is the directory or the
 * image, and no lock is left. When @held was not called the home was an image already; what an
 * interrupted call has left beside it is removed.
 *
 * Return: 0, -ENODATA (there is no home), what @held returned, or another negative errno.
 */
int home_convert(const struct home_convert *c, char **ret_why);

#endif
