/* SPDX-License-Identifier: ISC */
/* prompt.h - what a person is asked and told. */
#ifndef ATELIER_PAM_PROMPT_H
#define ATELIER_PAM_PROMPT_H

#include <security/pam_modules.h>
#include <stdbool.h>

#include "common/pam_wire.h"

/* atelier-sshd-start looks for exactly this text before it opens the door. */
#define PROMPT_TEXT "Code or link: "

#define SAY_UNAVAILABLE "atelier: logins are not possible right now; try again in a minute."
#define SAY_BUSY        "atelier: you have as many sessions as one may have."
#define SAY_NO_SESSION  "atelier: the session could not be started; try again in a minute."

#define SAY_NO_LIMIT                                                                               \
    "atelier: no session can start: a limit that has to hold here cannot be kept; tell whoever "   \
    "runs this host."

/**
 * prompt_secret() - Ask for the code, once and without echo
 * @ret_secret: PAM_SECRET_SIZE bytes: what was typed, as it is, and NULs; all NULs if it was
 *              nothing or too long. The caller wipes it
 *
 * Everything that libpam holds of the answer is wiped.
 *
 * Return: false if there is nobody to ask any more: the conversation failed.
 */
bool prompt_secret(pam_handle_t *pamh, char ret_secret[PAM_SECRET_SIZE]);

/* Say one sentence, unless the caller wants silence (PAM_SILENT in @flags). */
void prompt_tell(pam_handle_t *pamh, int flags, const char *sentence);

#endif
