/* SPDX-License-Identifier: ISC */
/*
 * session_lease.c - a login says that it has joined its session: asked of the kernel, and granted.
 *
 * Order: the filter is asked for first, which holds the login for a moment, all else is read
 * meanwhile; then the record is stored, then the init is let go, then utmp, then the answer. Nobody
 * runs a shell before the answer.
 */
#include <errno.h>

#include "common/sabotage.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/filter_proof.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/session_internal.h"
#include "sessiond/monitor/utmp.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* The lowest that no session has. There are always more slots than sessions. */
static uint32_t slot_free(const struct monitor *m)
{
    for (uint32_t slot = 0;; slot++) {
        bool is_taken = false;

        for (const struct session *s = m->sessions; s && !is_taken; s = s->next)
            is_taken = s->was_live && s->record.slot == slot;
        if (!is_taken)
            return slot;
    }
}
_Static_assert(DOOR_MAX < UTMP_SLOTS_MAX, "a slot for everybody");

/* Return: 0, -EPERM with *@ret_what if the login is not what it was told to be, or -errno. */
static int lease_check(const struct session *s, const struct session_lease *msg,
                       struct wire_receipt *ret_r, const char **ret_what)
{
    pid_t holder = (pid_t)s->record.holder_pid;

    if (SABOTAGED("verify"))
        return receipt_read_login(holder, s->leaf, ret_r);
    /* /proc does not tell of Landlock: the login has tried it, and its word is all there is. */
    if (s->monitor->scope.ruleset_fd >= 0 && !msg->is_scoped) {
        *ret_what = "abstract scope";
        return -EPERM;
    }
    return lease_verify(holder, &s->terms, ret_r, ret_what);
}

static void lease_refuse(struct session *s, int error, const char *what)
{
    filter_proof_cancel(s->proof);
    s->proof = NULL;
    log_error("a login is not confined: %s differs errno=%d", what, error);
    session_deny(s, WIRE_STEP_VERIFY, error, what);
}

static void login_record(const struct session *s)
{
    struct utmp_entry entry;
    int r;

    session_utmp_entry(s, &entry);
    r = utmp_login(&entry);
    if (r < 0)
        log_warning("no record of a login in utmp or wtmp errno=%d", -r);
}

/*
 * The kernel says that it is so. Then, in this order: the file (a crash after it leaves a session
 * that is found again), "go" to the init (from here on it outlives us), the records, the answer.
 */
static void lease_grant(struct session *s)
{
    struct monitor *m = s->monitor;
    int r;

    filter_proof_fill(FILTER_LOGIN, &s->record.receipt);
    monitor_rules_say(m, &s->record.receipt);
    s->record.receipt.canary_age_ms = canary_age_ms(m->canary);
    s->record.started_us = clock_wall_us();
    s->record.slot = slot_free(m);
    r = s->is_doctors ? 0 : session_store_put(&s->record);
    if (r == 0)
        r = spawned_go(&s->spawned);
    if (r < 0) {
        session_store_drop(s->record.session_id);
        session_deny(s, WIRE_STEP_LEASE, -r, "");
        return;
    }
    s->init_pidfd = spawned_release(&s->spawned);
    r = session_watch(s, s->init_pidfd, session_on_init, &s->init_event);
    if (r < 0) {
        /* Nobody would see its end. */
        session_store_drop(s->record.session_id);
        pidfd_kill(s->init_pidfd);
        s->state = STATE_GREETING;
        session_deny(s, WIRE_STEP_LEASE, -r, "");
        return;
    }
    s->was_live = true;
    s->state = STATE_LIVE;
    if (session_timer(s, SESSION_LOOK_MS) < 0)
        log_warning("no memory to look after a session uid=%u", s->record.uid);
    (void)session_memory_watch(s);
    if (!s->is_doctors)
        login_record(s);
    session_say(s, SESSION_LEASED);
    if (!s->is_doctors)
        session_tell_started(s);
}

static void on_filter(void *arg, int result)
{
    struct session *s = arg;

    s->proof = NULL;
    if (s->state != STATE_OPENED)
        return;
    if (result < 0)
        lease_refuse(s, result == -EBADMSG ? EPERM : -result, "filter");
    else
        lease_grant(s);
}

/*
 * The login says that it has joined. The kernel is asked whether that is so: for the filter first,
 * which takes a moment, and for all else meanwhile.
 */
void session_lease(struct session *s, const struct session_lease *msg)
{
    const char *what = "the login's process";
    int r = filter_proof_begin((pid_t)s->record.holder_pid, FILTER_LOGIN, &s->proof);

    s->is_leasing = true;
    s->record.is_scoped = msg->is_scoped;
    /* Is it the process that asked? Its pidfd says that it lives, so the number is its own. */
    if (r == 0 && pidfd_has_exited(s->holder_pidfd))
        r = -ESRCH;
    if (r == 0)
        r = lease_check(s, msg, &s->record.receipt, &what);
    if (r == 0) {
        what = "disk";
        r = s->is_doctors ? 0
                          : disk_read(s->monitor->disk, &s->disk_user, (pid_t)s->record.holder_pid,
                                      &s->record.receipt);
        if (SABOTAGED("verify"))
            r = 0;
    }
    if (r < 0)
        lease_refuse(s, -r, what);
    else
        filter_proof_finish(s->proof, on_filter, s);
}
