/* SPDX-License-Identifier: ISC */
/* open.h - the login's side of session.sock: OPEN, LEASE, CLOSE. */
#ifndef ATELIER_PAM_OPEN_H
#define ATELIER_PAM_OPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/fd.h"
#include "common/session_wire.h"
#include "pam_module/talk.h"

/* Compiled in; only the copy of this module that the tests load has another one. */
#ifndef SESSION_OPEN_PATH
#define SESSION_OPEN_PATH SESSION_SOCKET_PATH
#endif

/* The descriptors of OPENED, owned by whoever has the struct; -1: none (any more). */
struct open_fds {
    int init;     /* pidfd */
    int landlock; /* ruleset */
};

#define OPEN_FDS_NONE ((struct open_fds){.init = -1, .landlock = -1})

/**
 * open_check() - Is this an OPENED that can be used?
 * @opened: What came, @n bytes of it
 * @extra:  The descriptors that came with it, borrowed
 *
 * sessiond is root and trusted; this finds another version of it, a cut message, and a bug that
 * would leave a login half confined. An OPENED without mount and PID namespaces, without a filter,
 * or with a user namespace is not one.
 *
 * Return: 0, -EACCES for DENIED (-ENOTSUP if it is for a limit), -EPROTO for anything else that is
 * not an OPENED, -ESRCH if the session's init is gone already.
 */
int open_check(const struct session_opened *opened, size_t n, const struct msg_extra *extra);

/**
 * open_at() - Ask for a session
 * @path:       Of the socket
 * @timeout_ms: For connection, request and answer together
 * @request:    The head is filled in here
 * @ret_talk:   The connection, to be kept as long as the session lives; talk_close() it
 * @ret_opened: The answer, checked
 * @ret_fds:    Its descriptors; open_fds_close() them
 *
 * Return: 0, what open_check() returns, -ETIMEDOUT, or a negative errno; nothing is open then.
 */
int open_at(const char *path, int timeout_ms, struct session_open *request, struct talk *ret_talk,
            struct session_opened *ret_opened, struct open_fds *ret_fds);

/**
 * open_lease() - Say that the login is confined, and wait until sessiond has seen it
 * @timeout_ms: For both
 * @is_scoped:  The probe was refused after the ruleset, and worked before
 *
 * Return: 0, -EACCES if sessiond sees something else, -EPROTO, -ETIMEDOUT, or a negative errno.
 */
int open_lease(struct talk *t, int timeout_ms, bool is_scoped);

/* Say that the login is over. Whether anybody hears it does not matter: the end of the process
 * tells the same. */
void open_farewell(int sock);

void open_fds_close(struct open_fds *fds);

#endif
