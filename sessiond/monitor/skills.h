/* SPDX-License-Identifier: ISC */
/* skills.h - the skills of this host, as a policy means them. */
#ifndef ATELIER_SKILLS_H
#define ATELIER_SKILLS_H

#include "policy/policy.h"

/**
 * skills_pin() - A config_skill_fn: NAME is the version that was added last
 *
 * From then on the policy says which one it is: a version that is added later is for the next time
 * that it is read.
 *
 * Return: 0; -ENOENT; -EPERM (the store or the skill is not root's, or others may write to it);
 * -EBADMSG (the link NAME says no NAME@HASH); or another negative errno.
 */
int skills_pin(const char *text, char ret_pinned[SKILL_SIZE]);

/* Open a version, as a directory to mount. Return: descriptor (O_PATH) or a negative errno. */
int skills_open(const char *pinned);

#endif
