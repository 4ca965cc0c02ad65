/* SPDX-License-Identifier: ISC */
/*
 * adopt_record.h - an adoption that is under way, so that it can be finished after a crash.
 *
 * A file of root's for each name, there from before the api is asked until the last file has
 * changed hands. It alone says that a user and an account of the same name are the same person.
 */
#ifndef ATELIER_CTL_ADOPT_RECORD_H
#define ATELIER_CTL_ADOPT_RECORD_H

#include <stdint.h>

#include "ctl/adopt_home.h"

#define ADOPT_RECORDS ATELIER_STATE_DIR "/adopt"

struct adopt_record {
    uint32_t old_uid, old_gid;
    uint32_t uid;          /* 0: the api has not answered yet */
    int64_t created_s;     /* of the record, Unix seconds */
    char *home;            /* of the account; heap */
    struct home_mark mark; /* of the home; from before it is touched */
};

void adopt_record_done(struct adopt_record *r);
#define cleanup_record __attribute__((cleanup(adopt_record_done)))

/**
 * adopt_record_lock() - Only one adoption at a time
 * @directory: ADOPT_RECORDS; made if need be
 *
 * Return: a descriptor that holds the lock, -EBUSY, -EPERM if the directory is not root's alone, or
 * another errno.
 */
int adopt_record_lock(const char *directory);

/* Return: 0, -ENOENT if there is none, -EBADMSG if it makes no sense, or another errno. */
int adopt_record_read(const char *directory, const char *name, struct adopt_record *ret);

/* Durably. Return: 0 or a negative errno. */
int adopt_record_write(const char *directory, const char *name, const struct adopt_record *r);
int adopt_record_remove(const char *directory, const char *name);

#endif
