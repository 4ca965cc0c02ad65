/* SPDX-License-Identifier: ISC */
/*
 * pam_wire.h - what a login's process (pam_atelier, root) asks sessiond-api on pam.sock.
 *
 * AF_UNIX SOCK_SEQPACKET, peer UID 0 only. One question, one answer, then the login closes; the
 * api closes a connection that asks nothing within PAM_ASK_MS.
 */
#ifndef ATELIER_PAM_WIRE_H
#define ATELIER_PAM_WIRE_H

#include <stdint.h>

#include "common/str.h"
#include "common/wire.h"

#define PAM_WIRE_VERSION 1u
#define PAM_SOCKET_PATH  ATELIER_RUN_DIR "/pam.sock"
#define PAM_ASK_MS       3000 /* the login waits this long for an answer: then "could not find out" */
#define PAM_SECRET_SIZE  512u /* PAM_MAX_RESP_SIZE of libpam */

enum pam_question {
    PAM_ASK_AUTHENTICATE = 1, /* is this secret good for this name? If so it is used up */
    PAM_ASK_ACCOUNT = 2,      /* may this user log in now? */
};

struct pam_ask {
    uint32_t version;    /* PAM_WIRE_VERSION */
    uint32_t question;   /* enum pam_question */
    uint32_t size_bytes; /* sizeof(struct pam_ask) */
    uint32_t reserved;
    char name[NAME_SIZE]; /* PAM_USER; "" if it cannot be a name of ours */
    char service[WIRE_SERVICE_SIZE];
    char rhost[WIRE_RHOST_SIZE];
    char secret[PAM_SECRET_SIZE]; /* what was typed, NUL-terminated; "" for ACCOUNT and if longer */
};

enum pam_verdict {
    PAM_VERDICT_DENIED = 0,
    PAM_VERDICT_ALLOWED = 1,
    PAM_VERDICT_EXPIRED = 2,     /* of ACCOUNT: the user's time is over */
    PAM_VERDICT_BUSY = 3,        /* of ACCOUNT: as many sessions as a user may have */
    PAM_VERDICT_UNAVAILABLE = 4, /* could not find out; nothing was used up */
};

struct pam_answer {
    uint32_t version;
    uint32_t question;   /* as asked */
    uint32_t size_bytes; /* sizeof(struct pam_answer) */
    uint32_t verdict;    /* enum pam_verdict */
};

#endif
