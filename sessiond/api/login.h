/* SPDX-License-Identifier: ISC */
/* login.h - what a login asks, checked, and who may log in: decisions without registry or socket.
 */
#ifndef ATELIER_API_LOGIN_H
#define ATELIER_API_LOGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/pam_wire.h"
#include "magic-link/magic_link.h"
#include "registry/registry.h"

/**
 * login_ask_read() - Check a question, and make it fit for the log
 * @ask:  @size bytes of it were received. Service and remote host become printable words without
 *        blanks, "-" if empty; a name that cannot be one of ours becomes "": people type their
 *        code there, and nothing of what was typed may be logged
 *
 * Return: false if it does not keep to common/pam_wire.h.
 */
bool login_ask_read(struct pam_ask *ask, size_t size);

/* May a user in this state log in or run? */
bool login_state_may(enum user_state state);

/**
 * login_verdict_of_account() - Answer to PAM_ASK_ACCOUNT
 * @r:        Of the search for the user; -ENOENT: there is none
 * @state:    Of the user, if @r is 0
 * @is_up:    sessiond is there, and we know which sessions live
 * @sessions: Of the user
 */
enum pam_verdict login_verdict_of_account(int r, enum user_state state, bool is_up,
                                          size_t sessions);

/* Answer to PAM_ASK_AUTHENTICATE. @r: of magic_link_redeem(). */
enum pam_verdict login_verdict_of_redeem(int r, enum magic_link_verdict verdict);

#endif
