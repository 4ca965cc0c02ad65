/* SPDX-License-Identifier: ISC */
/* session_internal.h - what session.c, its door and its taking over after a restart share. */
#ifndef ATELIER_SESSION_INTERNAL_H
#define ATELIER_SESSION_INTERNAL_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/session_wire.h"
#include "sessiond/monitor/canary.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/disk.h"
#include "sessiond/monitor/lease.h"
#include "sessiond/monitor/monitor.h"
#include "sessiond/monitor/proc_watch.h"
#include "sessiond/monitor/session.h"
#include "sessiond/monitor/session_store.h"
#include "sessiond/monitor/spawned.h"
#include "sessiond/monitor/utmp.h"

/* Connections that are no session yet count, too. */
#define DOOR_MAX (WIRE_SESSIONS_MAX + 64)

enum session_state {
    STATE_GREETING,
    STATE_ASKING,
    STATE_CANARY,
    STATE_SPAWNING,
    STATE_OPENED,
    STATE_LIVE,
    STATE_ENDING, /* killed; waits for the init to be reaped */
};

struct session {
    struct session *next;
    struct monitor *monitor;
    enum session_state state;
    bool was_live;
    bool is_doctors;        /* nobody is told of it, and no record of it is kept (doctor.h) */
    unsigned stopped_looks; /* one after the other, at which a part of the login was stopped */
    bool is_allowed;        /* the api said so and has to hear how it went */
    uint32_t tag;           /* of the question; 0 once its connection to the api is gone */
    enum wire_session_end end;
    bool has_end;

    int conn; /* to the login; -1 if it is gone, or was not ours */
    struct event *conn_event;
    int holder_pidfd;
    struct event *holder_event;
    int init_pidfd; /* while LIVE and after; before, spawned has it */
    struct event *init_event;
    struct event *timer;
    struct canary_waiter waiter;
    struct disk_user disk_user;
    struct spawned spawned;
    struct spawn_request request;
    struct cgroup_leaf *leaf;     /* NULL: not made yet, or no control groups */
    uint64_t oom_kills;           /* as many were logged */
    struct proc_watch proc_watch; /* of its memory, where no control group limits that */
    pid_t oom_pid;                /* the last process that was killed for it */
    struct hosttree_id mounts[PLAN_MOUNTS_MAX];
    struct lease_terms terms;
    struct filter_proof *proof; /* of the login's filter, after LEASE, or NULL */
    bool is_leasing;            /* LEASE came */
    char tty[WIRE_TTY_SIZE];
    struct session_record record;
};

/* In the list, in state GREETING, with a timer and nothing else. Return: NULL if out of memory. */
struct session *session_new(struct monitor *m);

/* Unlink and release. Nothing of the session is left when this is called. */
void session_free(struct session *s);

/* Watch a descriptor for reading, for good. Return: 0 or -ENOMEM. */
int session_watch(struct session *s, int fd, event_callback_fn fn, struct event **ret_event);
void session_unwatch(struct event **event, int *fd);

/* A stopped login is given up after three looks. */
#define SESSION_LOOK_MS   30000
#define SESSION_LOOKS_MAX 3u

/* How long the present state may last; while LIVE: until the next look. Return: 0 or -ENOMEM. */
int session_timer(struct session *s, int64_t ms);

/* Connections of the door, sessions, and those that end. */
uint32_t session_count_all(const struct monitor *m);
/* Of this user, from the question on. */
uint32_t session_count_of(const struct monitor *m, uint32_t uid);

/* It may be: check what was said, and go on. May free it. */
void session_allow(struct session *s, const struct wire_session_answer *msg);

/* There will be no session: tell the login, and the api if it allowed one. May free it. */
void session_deny(struct session *s, enum wire_step step, int error, const char *what);

/* Kill what there is. The first reason counts. May free the session. */
void session_end(struct session *s, enum wire_session_end end);

/* The init is reaped, and with it every process of the session: records, api, memory. */
void session_over(struct session *s);

/* Say so to the login; nothing if it is gone. */
void session_say(struct session *s, enum session_type type);

/* The api hears of a session that lives. */
void session_tell_started(const struct session *s);

/* What utmp and wtmp have of it. */
void session_utmp_entry(const struct session *s, struct utmp_entry *ret);

/* --- session_lease.c */

/* LEASE came in state OPENED. May free the session. */
void session_lease(struct session *s, const struct session_lease *msg);

/* Look at its memory from now on, if nothing else does. Its plan is set. Return: 0 or -errno. */
int session_memory_watch(struct session *s);
/* The limit that is kept so; 0: none. */
uint64_t session_memory_watched(const struct session *s);

/* --- session_group.c */

/* Make the leaf. Descriptors for the spawner go to @ret_fds. Return: 0 or -errno, @ret_what set. */
int session_group_make(struct session *s, int ret_fds[CGROUP_TREES_MAX], size_t *ret_n,
                       const char **ret_what);

/*
 * Move the login's process in, before it is answered: what sshd forks for the participant is born
 * there. Return: 0 or a negative errno.
 */
int session_group_enter(struct session *s);

/* The leaf that a record tells of. */
void session_group_adopt(struct session *s);

/* Log it if processes were killed for want of memory. */
void session_group_look(struct session *s);

/* Nothing of the session is left but the login's process: say what it used, let the leaf go. */
void session_group_leave(struct session *s, struct wire_usage *ret_usage);

/* Events of the pidfds; arg is the session. */
void session_on_init(evutil_socket_t fd, short what, void *arg);
void session_on_holder(evutil_socket_t fd, short what, void *arg);

/* Take over the sessions of the store. Return: as session_store_each(). */
int session_adopt(struct monitor *m);

/* Listen on session.sock. Return: 0 or -ENOMEM. */
int session_door_open(struct monitor *m, int listen_fd);

#endif
