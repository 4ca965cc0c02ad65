/* SPDX-License-Identifier: ISC */
/*
 * disk.h - what holds a user to `disk` and `disk_files`.
 *
 * quota: the user quota of the file system that the homes are on. The limits are set before each
 *        run or session, if they differ from the policy's, and read back from the kernel.
 * image: the home is a file system of its own, in one sparse file: disk_image.h.
 * none:  nothing. Whoever marked the limits as required gets no run then.
 * Which one it is, is what the kernel answers, at start and after each reload of the policy.
 */
#ifndef ATELIER_DISK_H
#define ATELIER_DISK_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/wire.h"
#include "policy/plan.h"

struct disk;
struct disk_home;
struct monitor;

/* A run or session, for as long as it uses the home; embedded in it. */
struct disk_user {
    uint32_t uid;
    const char *name;             /* borrowed */
    const struct plan_size *size; /* borrowed */
    bool is_run;                  /* which has but ~/work of the home */
    /* The home stands, or does not: @error is 0 or a positive errno, @what static. */
    void (*fn)(void *arg, int error, const char *what);
    void *arg;
    /* disk.c's own */
    struct disk_home *home; /* an image that is used, or waited for */
    struct disk_user *next;
    bool is_waiting;
    bool is_open_only; /* an image is used as it is */
    bool is_strict;    /* the limits are required */
};

/* Return: 0 or a negative errno. */
int disk_new(struct monitor *m, struct disk **ret_disk);

/* Unmount what nothing uses, and forget the rest: it is found again. */
void disk_free(struct disk *disk);

/* The policy is another one: look again what there is. */
void disk_look(struct disk *disk);

enum wire_disk disk_mode(const struct disk *disk);

/* What STATUS says of it. */
void disk_report(const struct disk *disk, struct wire_status *ret_status);

/**
 * disk_require() - Hold somebody to the limits, before the home is opened
 *
 * Calls @user->fn, at once or later, once. disk_release() before that takes it back.
 */
void disk_require(struct disk *disk, struct disk_user *user);

/* The home is used by somebody who lives already. */
void disk_adopt(struct disk *disk, struct disk_user *user);

/* The run or session is over. Also of one that never required anything. */
void disk_release(struct disk *disk, struct disk_user *user);

/**
 * disk_read() - Which limits hold for a process, as the kernel has them
 * @pid:   Stands still; its own home is looked at
 * @ret_r: The three fields of the disk
 *
 * Return: 0; -EPERM: they are not those that were required; or another negative errno.
 */
int disk_read(const struct disk *disk, const struct disk_user *user, pid_t pid,
              struct wire_receipt *ret_r);

/* Is there no room for the user in the home, by the limits or by the disk itself? */
bool disk_is_full(const struct disk *disk, const struct disk_user *user);

#endif
