/* SPDX-License-Identifier: ISC */
/*
 * attempts.h - everything that is tried at once, by each door, and kept for all checks.
 *
 * One run without network, one with, one session, and the same program unconfined and as root: that
 * is what most checks read their lines from.
 */
#ifndef ATELIER_CTL_DOCTOR_ATTEMPTS_H
#define ATELIER_CTL_DOCTOR_ATTEMPTS_H

#include "ctl/doctor/bait.h"
#include "ctl/doctor/probe.h"
#include "ctl/doctor/said.h"

/* What was tried by this door. Tried now if it was not yet; ->why says if it could not be. */
const struct said *attempts(struct doctor *d, enum probe_door door);

/* Laid out now if it was not yet. Return: borrowed; NULL, and @ret_why is static. */
const struct bait *attempts_bait(struct doctor *d, const char **ret_why);

/* --- targets ---------------------------------------------------------------------------------- */

#define TARGET_SIZE 80
#define TARGETS_MAX 24

struct targets {
    size_t count;
    char text[TARGETS_MAX][TARGET_SIZE];
};

/* Addresses of this host with the bait's ports. */
void targets_loopback(const struct bait *b, struct targets *ret);
void targets_own(const struct bait *b, struct targets *ret);

/*
 * Addresses of other networks, by lo: whatever the rules are, no packet leaves the host. Whoever is
 * let through gets no answer, because nobody there has the address; who is refused hears so at
 * once.
 */
void targets_private(struct targets *ret);
void targets_multicast(const struct bait *b, struct targets *ret);
#define TARGET_MAIL    "lo/192.0.2.77:25"
#define TARGET_NO_MAIL "lo/192.0.2.77:443"

/* Sockets of daemons that a host may have. NULL-terminated. */
extern const char *const attempts_daemons[];

/* Files that nobody but root may read. NULL-terminated. */
extern const char *const attempts_secrets[];

/* What one run leaves and the next must not find. NULL-terminated. */
extern const char *const attempts_left[];

#endif
