/* SPDX-License-Identifier: ISC */
/* login.c - what a login asks, checked, and who may log in. */
#include "sessiond/api/login.h"

#include <errno.h>
#include <string.h>

#include "common/banned.h"

/* Foreign text becomes one word of the log, where a blank would begin another key. */
static void make_word(char *field)
{
    if (!field[0]) {
        field[0] = '-';
        field[1] = '\0';
    }
    for (; *field; field++) {
        if (*field <= 0x20 || *field > 0x7e)
            *field = '?';
    }
}

static bool has_end(const char *field, size_t size)
{
    return memchr(field, '\0', size) != NULL;
}

bool login_ask_read(struct pam_ask *ask, size_t size)
{
    if (size != sizeof(*ask) || ask->version != PAM_WIRE_VERSION ||
        ask->size_bytes != sizeof(*ask) || ask->reserved != 0)
        return false;
    if (ask->question != PAM_ASK_AUTHENTICATE && ask->question != PAM_ASK_ACCOUNT)
        return false;
    if (!has_end(ask->name, sizeof(ask->name)) || !has_end(ask->service, sizeof(ask->service)) ||
        !has_end(ask->rhost, sizeof(ask->rhost)) || !has_end(ask->secret, sizeof(ask->secret)))
        return false;
    make_word(ask->service);
    make_word(ask->rhost);
    if (!name_is_valid(ask->name))
        memset(ask->name, 0, sizeof(ask->name));
    return true;
}

bool login_state_may(enum user_state state)
{
    return state == USER_STATE_RESERVED || state == USER_STATE_ACTIVE;
}

enum pam_verdict login_verdict_of_account(int r, enum user_state state, bool is_up, size_t sessions)
{
    if (r == -ENOENT)
        return PAM_VERDICT_DENIED;
    if (r < 0)
        return PAM_VERDICT_UNAVAILABLE;
    if (state == USER_STATE_EXPIRED)
        return PAM_VERDICT_EXPIRED;
    if (!login_state_may(state))
        return PAM_VERDICT_DENIED;
    if (!is_up)
        return PAM_VERDICT_UNAVAILABLE;
    return sessions < WIRE_SESSIONS_PER_USER_MAX ? PAM_VERDICT_ALLOWED : PAM_VERDICT_BUSY;
}

enum pam_verdict login_verdict_of_redeem(int r, enum magic_link_verdict verdict)
{
    if (r < 0)
        return PAM_VERDICT_UNAVAILABLE;
    switch (verdict) {
    case MAGIC_LINK_ACCEPTED:
        return PAM_VERDICT_ALLOWED;
    case MAGIC_LINK_REFUSED:
    case MAGIC_LINK_THROTTLED:
        break;
    }
    return PAM_VERDICT_DENIED;
}
