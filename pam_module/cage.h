/* SPDX-License-Identifier: ISC */
/* cage.h - a login that got no session must not become anything else. */
#ifndef ATELIER_PAM_CAGE_H
#define ATELIER_PAM_CAGE_H

/**
 * cage_enter() - After a failed open_session: no program, no terminal, no network any more
 *
 * sshd goes on after it: it starts no shell, but forks its part for the participant all the same,
 * outside of every session, to tell them why. That part inherits the cage, and can do no more than
 * tell. Nothing is left to do if this fails.
 */
void cage_enter(void);

#endif
