/* SPDX-License-Identifier: ISC */
/*
 * account.c - may this user log in now? Asked for every way in, with a key too, where authenticate
 * is never called: a lock or an expiry in the registry refuses them all.
 */
#include <security/pam_ext.h>
#include <security/pam_modules.h>

#include "pam_module/ask.h"
#include "pam_module/options.h"
#include "pam_module/prompt.h"
#include "pam_module/who.h"

#include "common/banned.h"

static int verdict_answer(pam_handle_t *pamh, int flags, enum pam_verdict verdict)
{
    switch (verdict) {
    case PAM_VERDICT_ALLOWED:
        return PAM_SUCCESS;
    case PAM_VERDICT_EXPIRED:
        return PAM_ACCT_EXPIRED;
    case PAM_VERDICT_BUSY:
        prompt_tell(pamh, flags, SAY_BUSY);
        return PAM_PERM_DENIED;
    case PAM_VERDICT_UNAVAILABLE:
        prompt_tell(pamh, flags, SAY_UNAVAILABLE);
        return PAM_AUTHINFO_UNAVAIL;
    case PAM_VERDICT_DENIED:
        break;
    }
    return PAM_PERM_DENIED;
}

int pam_sm_acct_mgmt(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
    struct options options;
    struct pam_ask ask;
    struct who who;

    options_read(pamh, argc, argv, &options);
    who_get(pamh, &who);
    if (!who.is_ours)
        return options.is_only ? PAM_PERM_DENIED : PAM_IGNORE;
    ask_init(pamh, PAM_ASK_ACCOUNT, &who, &ask);
    return verdict_answer(pamh, flags, ask_verdict(pamh, &ask));
}
