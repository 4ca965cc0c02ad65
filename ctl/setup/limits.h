/* SPDX-License-Identifier: ISC */
/* limits.h - the settings that keep useradd(8), adduser(8) and sub-ids off the ids of participants.
 */
#ifndef ATELIER_CTL_SETUP_LIMITS_H
#define ATELIER_CTL_SETUP_LIMITS_H

#include "ctl/setup/keys.h"

#define ID_LIMITS_COUNT 2u

struct id_limits {
    const char *path;
    enum keys_format format;
    const struct key_rule *rules; /* have to be there, in their bounds */
    size_t rule_count;
    const struct key_rule *limits; /* where they are there */
    size_t limit_count;
};

/* login.defs, which is always there, and adduser.conf, where the package is. */
extern const struct id_limits id_limits[ID_LIMITS_COUNT];

#endif
