/* SPDX-License-Identifier: ISC */
/* copy.h - all of a tree into another one, and whether it is the same, by tar(1). */
#ifndef ATELIER_DISK_COPY_H
#define ATELIER_DISK_COPY_H

#include <stddef.h>

enum copy_what {
    COPY_MAKE,    /* extract what is in the first into the second */
    COPY_COMPARE, /* read both again, and say what of the first is not in the second */
};

/**
 * copy_tree() - Copy a tree, or compare a copy with it
 * @from_fd:  Directory; nothing of it is opened through a link, and no other file system is entered
 * @to_fd:    Directory that nobody else can reach
 * @ret_said: The first line of what tar said, without more than visible ASCII, and without its
 * middle if it is longer; of @size bytes
 *
 * Owner and group by number, modes with all bits, times, links of both kinds, holes, access control
 * lists and the attributes of users (user.*). Sockets are left out: they are nobody's any more.
 *
 * Return: 0: tar said nothing; -EIO (it was said why, unless @ret_said is empty), or another
 * negative errno.
 */
int copy_tree(int from_fd, int to_fd, enum copy_what what, char *ret_said, size_t size);

#endif
