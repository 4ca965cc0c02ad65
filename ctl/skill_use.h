/* SPDX-License-Identifier: ISC */
/* skill_use.h - which profiles of the policy that is in force name a skill. */
#ifndef ATELIER_CTL_SKILL_USE_H
#define ATELIER_CTL_SKILL_USE_H

#include <jansson.h>
#include <stdio.h>

/**
 * skill_use() - Profiles that name a version
 * @policy:    As sessiond shows it (atelier.conf(5), "What is in force"), where each is pinned
 * @pinned:    NAME@HASH
 * @ret_names: Array of strings, owned
 *
 * Return: 0, or -EIO if it cannot be read.
 */
int skill_use(FILE *policy, const char *pinned, json_t **ret_names);

#endif
