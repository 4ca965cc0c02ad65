/* SPDX-License-Identifier: ISC */
/*
 * session_group.c - the control group of a session.
 *
 * In it are the init, the login's process (sshd's monitor, which stays root and outside of the PID
 * namespace) and, born there, all that the participant starts. To run out of memory ends one
 * process, not the session.
 */
#include <errno.h>
#include <inttypes.h>

#include "sessiond/monitor/session_internal.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

int session_group_make(struct session *s, int ret_fds[CGROUP_TREES_MAX], size_t *ret_n,
                       const char **ret_what)
{
    struct cgroup *cg = s->monitor->cgroup;
    int r = cgroup_leaf_new(cg, CGROUP_SESSION, s->record.uid, s->record.session_id,
                            &s->request.plan, &s->leaf, ret_what);

    if (r == 0)
        r = cgroup_leaf_fds(s->leaf, ret_fds, ret_n);
    if (r < 0)
        return r;
    s->request.cgroup_mode = cgroup_mode(cg);
    s->request.cgroup_fds = (uint32_t)*ret_n;
    return 0;
}

int session_group_enter(struct session *s)
{
    s->terms.leaf = s->leaf;
    s->terms.init = (pid_t)s->record.init_pid;
    return cgroup_leaf_attach(s->leaf, (pid_t)s->record.holder_pid);
}

void session_group_adopt(struct session *s)
{
    int r;

    if (s->record.receipt.cgroup_mode == WIRE_CGROUP_NONE)
        return;
    r = cgroup_leaf_find(s->monitor->cgroup, CGROUP_SESSION, s->record.uid, s->record.session_id,
                         &s->leaf);
    if (r < 0)
        log_warning("the control group of a session was not found session=%s uid=%u errno=%d",
                    s->record.session_id, s->record.uid, -r);
}

static void oom_log(struct session *s, const struct wire_usage *u)
{
    if (u->oom_kills == WIRE_NOT_KNOWN || u->oom_kills <= s->oom_kills)
        return;
    log_notice("a session ran out of memory session=%s uid=%u killed=%" PRIu64,
               s->record.session_id, s->record.uid, u->oom_kills - s->oom_kills);
    s->oom_kills = u->oom_kills;
}

void session_group_look(struct session *s)
{
    struct wire_usage u;

    cgroup_leaf_usage(s->leaf, &u);
    oom_log(s, &u);
}

void session_group_leave(struct session *s, struct wire_usage *ret_usage)
{
    cgroup_leaf_usage(s->leaf, ret_usage);
    oom_log(s, ret_usage);
    if (s->proc_watch.of) /* killed by us */
        ret_usage->oom_kills = s->oom_kills;
    cgroup_leaf_drop(s->leaf);
    s->leaf = NULL;
}
