/* SPDX-License-Identifier: ISC */
/* ask.c - one question to sessiond-api on pam.sock. */
#include "pam_module/ask.h"

#include <errno.h>
#include <security/pam_ext.h>
#include <string.h>
#include <syslog.h>

#include "pam_module/field.h"
#include "pam_module/talk.h"

#include "common/banned.h"

_Static_assert(sizeof(struct pam_ask) ==
                   16 + NAME_SIZE + WIRE_SERVICE_SIZE + WIRE_RHOST_SIZE + PAM_SECRET_SIZE,
               "no padding: every byte that is sent was written");
_Static_assert(sizeof(struct pam_answer) == 16, "no padding");

void ask_init(pam_handle_t *pamh, enum pam_question question, const struct who *who,
              struct pam_ask *ret_ask)
{
    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->version = PAM_WIRE_VERSION;
    ret_ask->question = question;
    ret_ask->size_bytes = sizeof(*ret_ask);
    memcpy(ret_ask->name, who->name, sizeof(ret_ask->name));
    field_item(pamh, PAM_SERVICE, ret_ask->service, sizeof(ret_ask->service));
    field_item(pamh, PAM_RHOST, ret_ask->rhost, sizeof(ret_ask->rhost));
}

int ask_check(const struct pam_ask *ask, const struct pam_answer *answer, size_t n,
              enum pam_verdict *ret_verdict)
{
    if (n != sizeof(*answer) || answer->size_bytes != sizeof(*answer) ||
        answer->version != PAM_WIRE_VERSION || answer->question != ask->question)
        return -EPROTO;
    switch (answer->verdict) {
    case PAM_VERDICT_EXPIRED:
    case PAM_VERDICT_BUSY:
        if (ask->question != PAM_ASK_ACCOUNT)
            return -EPROTO;
        break;
    case PAM_VERDICT_DENIED:
    case PAM_VERDICT_ALLOWED:
    case PAM_VERDICT_UNAVAILABLE:
        break;
    default: /* a number of the other side, not an enum */
        return -EPROTO;
    }
    *ret_verdict = (enum pam_verdict)answer->verdict;
    return 0;
}

int ask_at(const char *path, int timeout_ms, const struct pam_ask *ask,
           enum pam_verdict *ret_verdict)
{
    struct talk talk = TALK_CLOSED;
    struct pam_answer answer = {0};
    size_t n = 0;
    int r;

    r = talk_open(path, timeout_ms, &talk);
    if (r == 0)
        r = talk_send(&talk, ask, sizeof(*ask));
    if (r == 0) {
        struct msg_extra extra;

        r = talk_recv(&talk, &answer, sizeof(answer), &n, &extra);
        if (r == 0)
            msg_extra_done(&extra);
    }
    talk_close(&talk);
    return r == 0 ? ask_check(ask, &answer, n, ret_verdict) : r;
}

enum pam_verdict ask_verdict(pam_handle_t *pamh, const struct pam_ask *ask)
{
    enum pam_verdict verdict = PAM_VERDICT_UNAVAILABLE;
    int r = ask_at(PAM_ASK_PATH, PAM_ASK_MS, ask, &verdict);

    if (r < 0) {
        errno = -r;
        pam_syslog(pamh, LOG_ERR, "cannot ask sessiond-api on %s: %m", PAM_ASK_PATH);
    }
    return verdict;
}
