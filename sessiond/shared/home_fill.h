/* SPDX-License-Identifier: ISC */
/* home_fill.h - what is in a new home. */
#ifndef ATELIER_HOME_FILL_H
#define ATELIER_HOME_FILL_H

#include <sys/types.h>

/**
 * home_fill() - Fill a directory of our own making and give it away, itself last
 * @home: Still root's; nobody else can reach it
 *
 * Gets the regular files of the host's skeleton, and work.
 *
 * Return: 0 or a negative errno.
 */
int home_fill(int home, uid_t uid, gid_t gid);

#endif
