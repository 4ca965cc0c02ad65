/* SPDX-License-Identifier: ISC */
/* options.c - the arguments on the module's line in a PAM service. */
#include "pam_module/options.h"

#include <security/pam_ext.h>
#include <string.h>
#include <syslog.h>

#include "pam_module/join.h"

#include "common/banned.h"

/* Return: true if the argument leaves out a step, which only the tests' build knows. */
static bool option_skips(const char *option, struct options *o)
{
#ifdef ATELIER_SABOTAGE
    static const char key[] = "sabotage=";

    if (strncmp(option, key, sizeof(key) - 1) != 0)
        return false;
    for (unsigned i = 0; i < JOIN_STEP__COUNT; i++) {
        if (strcmp(option + sizeof(key) - 1, join_step_key(i)) == 0) {
            o->skipped |= 1u << i;
            return true;
        }
    }
#else
    (void)option;
    (void)o;
#endif
    return false;
}

void options_read(pam_handle_t *pamh, int argc, const char **argv, struct options *ret_options)
{
    struct options o = {0};

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "only") == 0)
            o.is_only = true;
        else if (!option_skips(argv[i], &o))
            pam_syslog(pamh, LOG_ERR, "unknown argument %d of pam_atelier.so in this service",
                       i + 1);
    }
    *ret_options = o;
}
