/* SPDX-License-Identifier: ISC */
/* pam.h - what files of pam.d(5) say, and what pam-auth-update(8) does. */
#ifndef ATELIER_CTL_SETUP_PAM_H
#define ATELIER_CTL_SETUP_PAM_H

#include <stdbool.h>

#include "ctl/setup/text.h"

/**
 * pam_has_profile() - Whether common-account has the account lines of a profile, one after the
 * other
 * @profile: File of /usr/share/pam-configs, with a section "Account:"
 *
 * Controls that depend on the place ("success=N") are not compared.
 */
bool pam_has_profile(const struct text *account, const struct text *profile);

/**
 * pam_lets_in_unasked() - Whether a service authenticates people, but does not come to
 * common-account
 * @directory: "/etc/pam.d", or one like it
 * @service:   Name of a file in it
 *
 * What is included is followed, as far as it counts for the type that it is included for. A service
 * that cannot be read lets nobody in.
 */
bool pam_lets_in_unasked(const char *directory, const char *service);

/* Whether this host's common-account has our profile. */
bool pam_profile_is_in_force(void);

/* The services of this host that authenticate people without common-account, one by one. Return: 0
 * or a negative errno. */
int pam_services_unasked(void (*one)(void *arg, const char *service), void *arg);

/* Whether pam-auth-update's memory (/var/lib/pam/account) has our profile. */
bool pam_is_enabled(const struct text *memory);

/* Services that only root can use: those of runuser(1). */
bool pam_is_root_only(const char *service);

/* The sentence of pam-auth-update's output that says why. Heap. */
char *pam_update_complaint(const struct text *output);

#endif
