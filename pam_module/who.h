/* SPDX-License-Identifier: ISC */
/* who.h - whether a login is one of ours. */
#ifndef ATELIER_PAM_WHO_H
#define ATELIER_PAM_WHO_H

#include <security/pam_modules.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/str.h"

struct who {
    bool is_ours;
    uint32_t uid;         /* 0 if not ours */
    char name[NAME_SIZE]; /* "" if not ours */
};

/**
 * who_get() - Find out whose login this is
 * @pamh:    The transaction; never asked for a name, never given one
 * @ret_who: Ours if PAM_USER has the form of our names, and the name service knows exactly this
 *           name with a uid that we allocate. In every other case, an outage of the name service
 *           too, it is not
 *
 * PAM_USER is never changed: sshd would start the shell of the other name (measured), or abort.
 */
void who_get(pam_handle_t *pamh, struct who *ret_who);

#endif
