/* SPDX-License-Identifier: ISC */
/*
 * disk_image.h - which homes are images, mounted, and used by whom.
 *
 * off --require--> going up --mounted--> on --nobody for `idle`--> going down --> off
 * atelier-image does the work, in a process of its own: it may take long, and sessiond waits for
 * nobody. What is mounted at start, of an earlier sessiond, is on. An image is used wherever there
 * is one, whatever the policy says by now: nobody's files go out of sight.
 */
#ifndef ATELIER_DISK_IMAGE_STATE_H
#define ATELIER_DISK_IMAGE_STATE_H

#include <event2/event.h>

#include "policy/policy.h"
#include "sessiond/monitor/disk.h"

struct images;

/* Return: 0 or a negative errno. */
int images_new(struct event_base *base, struct images **ret_images);

/* Unmount, without waiting for it, what no session uses. */
void images_free(struct images *images);

void images_policy(struct images *images, const struct policy_disk *policy);

/* Is there an image for this user, or is one made of the home at this moment? */
bool images_has(const struct images *images, uint32_t uid);

/* As disk_require(). EEXIST: the home is a directory, and nothing but that. */
void images_require(struct images *images, struct disk_user *user);
void images_adopt(struct images *images, struct disk_user *user);
void images_release(struct images *images, struct disk_user *user);

/**
 * images_read() - Is this device the image of the user?
 * @dev: As st_dev
 *
 * Return: 1 with its size, 0, or a negative errno.
 */
int images_read(const struct images *images, uint32_t uid, dev_t dev, uint64_t *ret_bytes);

#endif
