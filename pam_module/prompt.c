/* SPDX-License-Identifier: ISC */
/* prompt.c - what a person is asked and told. */
#include "pam_module/prompt.h"

#include <security/pam_ext.h>
#include <stdlib.h>
#include <string.h>

#include "common/banned.h"

bool prompt_secret(pam_handle_t *pamh, char ret_secret[PAM_SECRET_SIZE])
{
    char *typed = NULL;
    int r = pam_prompt(pamh, PAM_PROMPT_ECHO_OFF, &typed, "%s", PROMPT_TEXT);
    size_t len = typed ? strlen(typed) : 0;

    memset(ret_secret, 0, PAM_SECRET_SIZE);
    /* A conversation may fail and leave something all the same: it is wiped, not used. */
    if (r == PAM_SUCCESS && len < PAM_SECRET_SIZE && typed)
        memcpy(ret_secret, typed, len);
    if (typed)
        explicit_bzero(typed, len);
    free(typed);
    return r == PAM_SUCCESS;
}

void prompt_tell(pam_handle_t *pamh, int flags, const char *sentence)
{
    /* Nobody hears it if this fails, and nothing depends on it. */
    if (((unsigned)flags & PAM_SILENT) == 0)
        (void)pam_error(pamh, "%s", sentence);
}
