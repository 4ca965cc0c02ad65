/* SPDX-License-Identifier: ISC */
/*
 * authenticate.c - the code of a magic link opens a login; and the two hooks that do nothing.
 *
 * Theory of operation. Nobody must learn from outside which names there are, so with "only" every
 * name goes the same way: the delay is asked for, one prompt without echo, one question to
 * sessiond-api. For a name that is not ours the question has an empty name, which nothing is good
 * for. The order: the delay first, so that whatever happens afterwards is slow; the prompt before
 * the question, for there is nothing to ask without it; the question before any verdict, for the
 * api alone knows, and uses the code up in the same step.
 *
 * The secret lives in one struct on the stack from the prompt to the answer and is wiped there. It
 * goes nowhere else: no PAM item, no module data (the process of authenticate is not that of
 * open_session), no environment (which becomes the shell's), no log.
 */
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <string.h>

#include "pam_module/ask.h"
#include "pam_module/options.h"
#include "pam_module/prompt.h"
#include "pam_module/session.h"
#include "pam_module/who.h"

#include "common/banned.h"

/* libpam varies it, and waits before a denial is told (pam_fail_delay(3)). */
#define DENIAL_DELAY_US 2000000u

static int verdict_answer(pam_handle_t *pamh, int flags, enum pam_verdict verdict)
{
    switch (verdict) {
    case PAM_VERDICT_ALLOWED:
        return PAM_SUCCESS;
    case PAM_VERDICT_UNAVAILABLE:
        prompt_tell(pamh, flags, SAY_UNAVAILABLE);
        return PAM_AUTHINFO_UNAVAIL;
    case PAM_VERDICT_DENIED:
    case PAM_VERDICT_EXPIRED:
    case PAM_VERDICT_BUSY:
        break;
    }
    return PAM_AUTH_ERR;
}

int pam_sm_authenticate(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
    enum pam_verdict verdict = PAM_VERDICT_DENIED;
    struct options options;
    struct pam_ask ask;
    struct who who;

    options_read(pamh, argc, argv, &options);
    who_get(pamh, &who);
    if (!who.is_ours && !options.is_only)
        return PAM_IGNORE;
    (void)pam_fail_delay(pamh, DENIAL_DELAY_US);
    ask_init(pamh, PAM_ASK_AUTHENTICATE, &who, &ask);
    if (prompt_secret(pamh, ask.secret))
        verdict = ask_verdict(pamh, &ask);
    explicit_bzero(&ask, sizeof(ask));
    /* Whatever the api says about a name that it was not told. */
    if (!who.is_ours && verdict == PAM_VERDICT_ALLOWED)
        verdict = PAM_VERDICT_DENIED;
    return verdict_answer(pamh, flags, verdict);
}

/*
 * Called up to three times for one login, once of them in the process that becomes the user. There
 * are no credentials, but a login without a session must not stay.
 */
int pam_sm_setcred(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
    struct options options;
    struct who who;

    options_read(pamh, argc, argv, &options);
    if ((flags & (int)PAM_DELETE_CRED) == 0)
        session_limit_refused(pamh);
    if (options.is_only)
        return PAM_SUCCESS;
    who_get(pamh, &who);
    return who.is_ours ? PAM_SUCCESS : PAM_IGNORE;
}

/* There is no password to change. */
int pam_sm_chauthtok(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
    struct options options;
    struct who who;

    (void)flags;
    options_read(pamh, argc, argv, &options);
    who_get(pamh, &who);
    return who.is_ours || options.is_only ? PAM_PERM_DENIED : PAM_IGNORE;
}
