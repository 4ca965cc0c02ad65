/* SPDX-License-Identifier: ISC */
/* probe_join.c - this process joins a session, by the code of pam_atelier. */
#include "ctl/doctor/probe_join.h"

#include "common/session_wire.h"
#include "pam_module/join.h"
#include "pam_module/open.h"

#include "common/banned.h"

int probe_join(uint32_t uid, int *ret_conn, const char **ret_step)
{
    static struct session_opened opened;
    struct session_open request = {.uid = uid, .service = "atelier-doctor"};
    const struct options nothing = {0};
    struct open_fds fds = OPEN_FDS_NONE;
    struct talk talk = TALK_CLOSED;
    enum join_step step = JOIN_STEP_LEASE;
    bool is_joined, is_scoped = false;
    int r;

    *ret_step = "open";
    r = open_at(SESSION_SOCKET_PATH, SESSION_OPEN_MS, &request, &talk, &opened, &fds);
    if (r < 0)
        return r;
    r = join_enter(&nothing, &opened, &fds, &step, &is_joined, &is_scoped);
    if (r == 0)
        r = open_lease(&talk, SESSION_OPEN_MS, is_scoped);
    *ret_step = join_step_key(step);
    *ret_conn = talk.sock;
    return r;
}

void probe_leave(int conn)
{
    open_farewell(conn);
}
