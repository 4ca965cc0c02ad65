/* SPDX-License-Identifier: ISC */
/*
 * pam_service.h - PAM services of the test's own, with the built module, and users that only this
 * program knows: getpwnam_r is answered here, for the module as well.
 *
 *   alice, ben, late, busy: 10001-10004    system: 990    root: 0    the rest: nobody
 *
 * Services: "only" (with the option), "shared" (without it, pam_permit behind it).
 */
#ifndef ATELIER_TESTS_PAM_SERVICE_H
#define ATELIER_TESTS_PAM_SERVICE_H

#include <security/pam_appl.h>

/* Make the services in the working directory. Return: 0 or -1. */
int services_make(void **state);
void services_remove(void);

/* The delay that libpam was asked for, instead of the wait. */
extern unsigned service_delay_us;

/* A transaction with PAM_RHOST 192.0.2.1 and PAM_TTY "ssh". NULL if libpam does not want to. */
pam_handle_t *service_start(const char *service, const char *user, const struct pam_conv *conv);

#endif
