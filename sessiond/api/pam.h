/* SPDX-License-Identifier: ISC */
/*
 * pam.h - pam.sock: what the process of a login asks, the server side of common/pam_wire.h.
 *
 * One question, one answer, and the connection is closed. Who is not root is closed before they
 * can ask; who is silent, after PAM_ASK_MS; who asks what is no question, without an answer. To the
 * login all of that is "could not find out".
 */
#ifndef ATELIER_API_PAM_H
#define ATELIER_API_PAM_H

struct app;
struct pam_door;

/* @fd: listening SOCK_SEQPACKET socket, borrowed. Return: 0 or a negative errno. */
int pam_door_open(struct app *app, int fd, struct pam_door **ret_door);

/* Stop to accept; what is open is answered. */
void pam_door_quiesce(struct pam_door *door);

/* Closes every connection. */
void pam_door_close(struct pam_door *door);

#endif
