/* SPDX-License-Identifier: ISC */
/* ask.h - one question to sessiond-api on pam.sock. */
#ifndef ATELIER_PAM_ASK_H
#define ATELIER_PAM_ASK_H

#include <security/pam_modules.h>
#include <stddef.h>

#include "common/pam_wire.h"
#include "pam_module/who.h"

/* Compiled in; only the copy of this module that the tests load has another one. */
#ifndef PAM_ASK_PATH
#define PAM_ASK_PATH PAM_SOCKET_PATH
#endif

/**
 * ask_init() - Fill in a question, without a secret
 * @who:     Whose login; one that is not ours is asked about as ""
 * @ret_ask: The question
 */
void ask_init(pam_handle_t *pamh, enum pam_question question, const struct who *who,
              struct pam_ask *ret_ask);

/**
 * ask_check() - Is this an answer to that question?
 * @answer:      What came, @n bytes of it
 * @ret_verdict: The verdict; untouched on failure
 *
 * Return: 0, or -EPROTO for a wrong size, version, question or verdict.
 */
int ask_check(const struct pam_ask *ask, const struct pam_answer *answer, size_t n,
              enum pam_verdict *ret_verdict);

/**
 * ask_at() - Ask, and wait for the answer
 * @path:        Of the socket
 * @timeout_ms:  For connection, question and answer together
 * @ret_verdict: The verdict; untouched on failure
 *
 * Descriptors that come with the answer are closed.
 *
 * Return: 0, -EPROTO for a wrong answer, -ETIMEDOUT, or a negative errno: could not find out.
 */
int ask_at(const char *path, int timeout_ms, const struct pam_ask *ask,
           enum pam_verdict *ret_verdict);

/**
 * ask_verdict() - Ask sessiond-api
 *
 * Return: its verdict; PAM_VERDICT_UNAVAILABLE, with a line in the log, if there is none.
 */
enum pam_verdict ask_verdict(pam_handle_t *pamh, const struct pam_ask *ask);

#endif
