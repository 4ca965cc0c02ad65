/* SPDX-License-Identifier: ISC */
/* policy_disk.h - what the policy says of a user: sessiond is the program that knows it. */
#ifndef ATELIER_CTL_POLICY_DISK_H
#define ATELIER_CTL_POLICY_DISK_H

#include <pwd.h>
#include <stdint.h>

#include "ctl/setup/text.h"

#define POLICY_PROGRAM  ATELIER_PROGRAMS_DIR "/sessiond"
#define POLICY_IN_FORCE ATELIER_RUN_DIR "/policy"

/* "UID:GID,GID": the private group is the uid. Heap, or NULL. */
char *policy_who(const struct passwd *user);

/* Limits of a home on disk. */
struct policy_disk {
    uint64_t bytes, files;
};

/**
 * policy_disk_read() - Find them in what `sessiond --explain-policy` prints
 *
 * Return: 0 or -EBADMSG.
 */
int policy_disk_read(const struct text *explained, struct policy_disk *ret);

/**
 * policy_disk_of() - What the policy in force gives to a user
 * @name:    Of a user of the host's database
 * @ret_why: On failure a sentence, heap
 *
 * Return: 0 or a negative errno.
 */
int policy_disk_of(const char *name, struct policy_disk *ret, char **ret_why);

#endif
