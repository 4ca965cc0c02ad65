/* SPDX-License-Identifier: ISC */
/* options.h - the arguments on the module's line in a PAM service. */
#ifndef ATELIER_PAM_OPTIONS_H
#define ATELIER_PAM_OPTIONS_H

#include <security/pam_modules.h>
#include <stdbool.h>

struct options {
    bool is_only;     /* this service is for our users alone */
    unsigned skipped; /* bit n: enum join_step n is left out. Always 0 but in the module that is
                       * built for tests/sabotage with -DATELIER_SABOTAGE and never installed */
};

/**
 * options_read() - Read the arguments of one call
 *
 * One that is not known is logged and has no effect: to fail would lock out whoever else uses the
 * service, and without "only" the module does the same for our users.
 */
void options_read(pam_handle_t *pamh, int argc, const char **argv, struct options *ret_options);

#ifdef ATELIER_SABOTAGE
#define SKIPPED(options, id) (((options)->skipped >> JOIN_STEP_##id & 1u) != 0)
#else
#define SKIPPED(options, id) ((void)(options), false)
#endif

#endif
