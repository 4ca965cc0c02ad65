/* SPDX-License-Identifier: ISC */
/* session.h - what becomes of a login whose session was refused. */
#ifndef ATELIER_PAM_SESSION_H
#define ATELIER_PAM_SESSION_H

#include <security/pam_modules.h>

/**
 * session_limit_refused() - Let the process live for some seconds only, if its session was refused
 *
 * sshd goes on without a session: it opens no shell and no forwarding, but it becomes the user, in
 * the host's namespaces, for as long as the client likes. The only hook in that process is the
 * second setcred (Source: OpenSSH 9.2, platform_setusercontext_post_groups); it has the default
 * action for SIGALRM there. Before open_session, and in a session, this does nothing.
 */
void session_limit_refused(const pam_handle_t *pamh);

#endif
