/* SPDX-License-Identifier: ISC */
/* local_groups.h - groups of /etc/group that name somebody. Text only, no NSS. */
#ifndef ATELIER_CTL_LOCAL_GROUPS_H
#define ATELIER_CTL_LOCAL_GROUPS_H

#include <jansson.h>

#include "ctl/setup/text.h"

/* The names of the groups that have @name as a member, an array of strings. New reference. */
json_t *local_groups_of(const struct text *group, const char *name);

#endif
