/* SPDX-License-Identifier: ISC */
/*
 * home_fleeting.h - a home that nobody has to remove.
 *
 * A file system in memory that is mounted nowhere on the host: it goes with the last mount
 * namespace and the last descriptor that has it, whoever is killed.
 */
#ifndef ATELIER_HOME_FLEETING_H
#define ATELIER_HOME_FLEETING_H

#include <sys/types.h>

#include "sessiond/monitor/home.h"

/**
 * home_fleeting() - As home_tree(), for the doctor's throw-away participants
 *
 * Empty but for `work` in a HOME_WHOLE; not the skeleton.
 *
 * Return: 0 or a negative errno.
 */
int home_fleeting(uid_t uid, gid_t gid, enum home_part part, int *ret_tree, const char **ret_what);

#endif
