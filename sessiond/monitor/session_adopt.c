/* SPDX-License-Identifier: ISC */
/*
 * session_adopt.c - sessions that outlived a sessiond are taken over by the next.
 *
 * Unless the network rules were gone meanwhile: then nobody knows what they have reached, and to
 * where their connections are open. They end as if somebody had watched.
 */
#include <errno.h>

#include "common/cleanup.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/monitor/session_internal.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* The process of a record, if it is still the same one. Return: pidfd or a negative errno. */
static int process_find(uint32_t pid, uint64_t start)
{
    cleanup_close int fd = pidfd_of((pid_t)pid);
    uint64_t now;
    int r;

    if (fd < 0)
        return fd;
    r = process_start(pid, &now);
    if (r < 0)
        return r;
    return now == start && !pidfd_has_exited(fd) ? fd_take(&fd) : -ESRCH;
}

/* The policy may be another one by now; a record has no plan. */
static void plan_find(struct session *s)
{
    const struct wire_receipt *r = &s->record.receipt;
    const struct plan_ask nothing = {0};
    const char *field;

    (void)policy_plan(s->monitor->policy, POLICY_LOGIN, s->record.uid, r->groups,
                      r->group_count < WIRE_GROUPS_MAX ? r->group_count : WIRE_GROUPS_MAX, &nothing,
                      &s->request.plan, &field);
}

/* A session without a login's process ends; one without an init is over, but for its records. */
static void adopt(void *arg, const struct session_record *record)
{
    struct monitor *m = arg;
    struct session *s = session_new(m);
    int r;

    if (!s) {
        log_error("no memory to take over a session uid=%u", record->uid);
        return;
    }
    s->record = *record;
    s->was_live = s->is_allowed = true;
    s->state = STATE_LIVE;
    s->disk_user.uid = record->uid;
    disk_adopt(m->disk, &s->disk_user);
    session_group_adopt(s);
    s->init_pidfd = process_find(record->init_pid, record->init_start);
    s->holder_pidfd = process_find(record->holder_pid, record->holder_start);
    if (s->init_pidfd < 0) {
        s->end = s->holder_pidfd < 0 ? WIRE_SESSION_END_LEFT : WIRE_SESSION_END_LOST;
        session_over(s);
        return;
    }
    r = session_watch(s, s->init_pidfd, session_on_init, &s->init_event);
    if (r == 0 && s->holder_pidfd >= 0)
        r = session_watch(s, s->holder_pidfd, session_on_holder, &s->holder_event);
    if (r == 0)
        r = session_timer(s, SESSION_LOOK_MS);
    plan_find(s);
    if (r == 0)
        r = session_memory_watch(s);
    if (r < 0 || s->holder_pidfd < 0) {
        session_end(s, WIRE_SESSION_END_LEFT);
    } else if (!m->had_net_rules) {
        log_warning("the network rules were gone: a session is ended session=%s uid=%u",
                    record->session_id, record->uid);
        session_end(s, WIRE_SESSION_END_UNSAFE);
    } else {
        log_info("a session is taken over session=%s uid=%u", record->session_id, record->uid);
    }
}

int session_adopt(struct monitor *m)
{
    return session_store_each(adopt, m);
}
